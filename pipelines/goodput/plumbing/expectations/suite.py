"""Great Expectations suites, generated from the contracts alone.

What a table must keep is written in schemas/; here each rule finds the expectation that says it. Running a
suite is in run.py. Great Expectations takes seconds and 250 MB to import: nothing here does so before a call.
"""

import re
import warnings
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING

from goodput.contracts import Contract, RowRule, contract

if TYPE_CHECKING:
    from great_expectations import ExpectationSuite
    from great_expectations.expectations.expectation import Expectation

PARTITION = "hour"  # the column that candidates.py adds to the rows under check, as failures call it

COLUMNS = "columns"
TYPES = "types"
KEY = "key"


def great_expectations() -> ModuleType:
    """Import Great Expectations and leave the process's warning filters as they were."""
    with warnings.catch_warnings():
        # GX imports these deprecated modules, and then hides every DeprecationWarning of the process.
        warnings.filterwarnings("ignore", r"module 'sre_(constants|parse)' is deprecated", DeprecationWarning)
        import great_expectations.expectations  # noqa: PLC0415 - takes seconds

    return great_expectations


def suite(table: str) -> "ExpectationSuite":
    """Suite of `table`: its columns in order, their DuckDB types, each row rule of its contract, its key.

    The rows to check have the contract's columns and PARTITION. `meta["check"]` of an expectation is its name:
    that of a row rule, or one of "columns", "types", "key".
    """
    terms = contract(table)
    gx = great_expectations()
    made: ExpectationSuite = gx.ExpectationSuite(
        name=table,
        expectations=[
            *_shape(gx, terms),
            *(_row_expectation(gx, terms, rule) for rule in terms.rules),
            *_unique_key(gx, terms),
        ],
    )
    return made


def _shape(gx: ModuleType, terms: Contract) -> Iterator["Expectation"]:
    yield gx.expectations.ExpectTableColumnsToMatchOrderedList(
        column_list=[*(column.name for column in terms.columns), PARTITION],
        meta=_meta(COLUMNS, "columns are not those of the contract"),
    )
    # typeof() spells a type as DESCRIBE does: TIMESTAMPTZ is TIMESTAMP WITH TIME ZONE.
    wanted = ", ".join(f"('{column.name}', typeof(NULL::{column.duckdb_type}))" for column in terms.columns)
    yield _no_rows(
        gx,
        "SELECT column_name, column_type AS found, wanted "  # noqa: S608 - all from the contract
        f"FROM (DESCRIBE SELECT * FROM {{batch}}) JOIN (VALUES {wanted}) AS terms(name, wanted) "
        "ON column_name = name WHERE column_type <> wanted",
        kept="every column has the type of the contract",
        meta=_meta(TYPES, "columns are not of the contract's types"),
    )


def _row_expectation(gx: ModuleType, terms: Contract, rule: RowRule) -> "Expectation":
    """The expectation that says the same as this rule where GX has one, else the rule's own SQL.

    Ranges stay SQL: GX rounds bounds to double, too coarse for nanoseconds, and takes NaN for a number. So do
    patterns: its regular expressions do not know DuckDB.
    """
    meta = _meta(rule.name, rule.description)
    made: Expectation
    if rule.column and rule.name == f"{rule.column}_missing":
        made = gx.expectations.ExpectColumnValuesToNotBeNull(column=rule.column, meta=meta)
    elif rule.column and rule.name == f"{rule.column}_invalid":
        values = list(terms[rule.column].valid_values)
        made = gx.expectations.ExpectColumnValuesToBeInSet(column=rule.column, value_set=values, meta=meta)
    else:
        words = set(re.findall(r"\w+", rule.holds))
        shown = _listed([c.name for c in terms.columns if c.primary_key or c.name in words])
        query = f"SELECT {shown} FROM {{batch}} WHERE NOT ({_escaped(rule.holds)})"  # noqa: S608 - all from the contract
        made = _no_rows(gx, query, kept=f"every row keeps {rule.holds}", meta=meta)
    return made


def _escaped(sql: str) -> str:
    """GX formats each query with str.format."""
    return sql.replace("{", "{{").replace("}", "}}")


def _unique_key(gx: ModuleType, terms: Contract) -> Iterator["Expectation"]:
    """Unique within a partition. GX's compound key check never sees a repeated key that has a NULL in it."""
    if not terms.primary_key:
        return
    keys = _listed([PARTITION, *terms.primary_key])
    names = ", ".join(terms.primary_key)
    yield _no_rows(
        gx,
        f"SELECT {keys}, count(*) AS copies FROM {{batch}} GROUP BY {keys} HAVING count(*) > 1",  # noqa: S608
        kept=f"no two rows of an hour have the same {names}; NULL equals NULL",
        meta=_meta(KEY, f"rows of one hour have the same {names}"),
    )


def _no_rows(gx: ModuleType, query: str, *, kept: str, meta: dict[str, str]) -> "Expectation":
    made: Expectation = gx.expectations.UnexpectedRowsExpectation(
        unexpected_rows_query=query, description=kept, meta=meta
    )
    return made


def _meta(check: str, broken: str) -> dict[str, str]:
    return {"check": check, "broken": broken}


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
