"""Run a table's suite by Great Expectations, on DuckDB over candidate Parquet files.

What is checked is in suite.py. No row is pulled into Python but the few that a failure names.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goodput.contracts import contract
from goodput.plumbing.audit_scan import Suspect
from goodput.plumbing.expectations.candidates import Candidates, open_candidates
from goodput.plumbing.expectations.failures import failures_of
from goodput.plumbing.expectations.suite import PARTITION, great_expectations, suite
from goodput.plumbing.parquet_layouts import files_by_layout

if TYPE_CHECKING:
    from great_expectations import ExpectationSuite
    from great_expectations.core import ExpectationSuiteValidationResult
    from great_expectations.data_context.data_context.ephemeral_data_context import EphemeralDataContext
    from great_expectations.datasource.fluent.sql_datasource import SQLDatasource


def failures(table: str, suspects: Sequence[Suspect]) -> list[list[str]]:
    """What each suspect fails, as sentences; of the suite of `table` only its own checks are run."""
    with open_validator(
        table, {file: suspect.partition for suspect in suspects for file in suspect.files}
    ) as validator:
        return [_failures(validator, number, suspect) for number, suspect in enumerate(suspects, start=1)]


def _failures(validator: "Validator", number: int, suspect: Suspect) -> list[str]:
    expected = suite(validator.table)
    expected.expectations = [item for item in expected.expectations if (item.meta or {})["check"] in suspect.checks]
    name = f"{validator.table} {suspect.partition} {number}"
    shown = {"result_format": "COMPLETE", "unexpected_index_column_names": list(contract(validator.table).primary_key)}
    result = validator.validate(name, suspect.files, expected, shown)
    return [failure.sentence for failure in failures_of(result)]


def expectations_results(table: str, parts: Mapping[str, Sequence[Path]]) -> list["ExpectationSuiteValidationResult"]:
    """Validate all partitions together against the whole suite of `table`: a result for each layout of their files.

    Files of the contract's columns and types are of one layout. Raises duckdb.Error where a file cannot be read.
    """
    partition_of = {str(path): partition for partition, paths in parts.items() for path in paths}
    if not partition_of:
        return []
    with open_validator(table, partition_of) as validator:
        layouts = files_by_layout(validator.candidates.connection, list(partition_of))
        names = [table, *(f"{table} layout {number}" for number in range(2, len(layouts) + 1))]
        shown = {
            "result_format": "SUMMARY",
            "unexpected_index_column_names": [PARTITION, *contract(table).primary_key],
        }
        return [
            validator.validate(name, files, suite(table), shown) for name, files in zip(names, layouts, strict=True)
        ]


@contextmanager
def open_validator(table: str, partition_of: Mapping[str, str]) -> Iterator["Validator"]:
    """Open a validator of `table` over the files of `partition_of` (file -> partition)."""
    from sqlalchemy.dialects import registry  # noqa: PLC0415 - as slow to import as what needs it

    registry.register("duckdb.checks", "goodput.plumbing.expectations.duckdb_dialect", "CheckDialect")
    context = open_context()
    with open_candidates(partition_of) as candidates:
        address = f"duckdb+checks:///{candidates.database}"
        source = context.data_sources.add_sql("duckdb", connection_string=address)
        yield Validator(table, candidates, context, source)


def open_context() -> "EphemeralDataContext":
    """Context of Great Expectations that is in memory only and reports to nobody."""
    gx = great_expectations()
    types = gx.data_context.types.base
    config = types.DataContextConfig(
        store_backend_defaults=types.InMemoryStoreBackendDefaults(),
        data_docs_sites={},
        progress_bars=types.ProgressBarsConfig(globally=False),
        analytics_enabled=False,
    )
    context: EphemeralDataContext = gx.get_context(project_config=config, mode="ephemeral")
    return context


@dataclass(frozen=True)
class Validator:
    """Great Expectations over the candidates of one table."""

    table: str
    candidates: Candidates
    context: "EphemeralDataContext"
    source: "SQLDatasource"

    def validate(
        self, name: str, files: Sequence[str], expected: "ExpectationSuite", shown: Mapping[str, Any]
    ) -> "ExpectationSuiteValidationResult":
        """Validate the rows of `files`, all of one layout; `shown` is GX's result format."""
        self.candidates.create_view(name, files)
        expected.name = name
        rows = self.source.add_table_asset(name, table_name=f'"{name}"')
        validation = great_expectations().ValidationDefinition(
            name=name,
            data=rows.add_batch_definition_whole_table("rows"),
            suite=self.context.suites.add(expected),
        )
        result: ExpectationSuiteValidationResult = self.context.validation_definitions.add(validation).run(
            result_format=dict(shown)
        )
        return result
