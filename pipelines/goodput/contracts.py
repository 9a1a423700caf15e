"""Data contracts: schemas/*.yaml read once, and everything that follows from a contract.

A contract has the shape of the Open Data Contract Standard v3.1. Arrow schema, row rules, comments and check
suites are derived from it here; nothing keeps a second list of columns.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import yaml

from goodput.project_files import project_folder

if TYPE_CHECKING:
    import duckdb
    import polars as pl
    import pyarrow as pa  # a sixth of a second that reading settings need not wait for

UNITS = {
    "_s": "s",
    "_ns": "ns",
    "_usd": "USD",
    "_tokens": "tokens",
    "_ratio": "0..1",
    "_rps": "requests/s",
    "_tps": "output tokens/s",
    "_at": "UTC",
    "_bytes": "bytes",
}


@dataclass(frozen=True)
class Column:
    """One column of a contract; `unit` comes from the suffix of its name, or from its being a time.

    For alarms: `worse` says which way is bad (up or down), `of` names the column that counts what the value is of,
    `negligible` is what is small beside any value that matters, where values come near 0.
    """

    name: str
    duckdb_type: str
    description: str
    required: bool = False
    primary_key: bool = False
    minimum: float | None = None
    maximum: float | None = None
    pattern: str | None = None
    valid_values: tuple[str, ...] = ()
    worse: str | None = None
    of: str | None = None
    negligible: float = 0.0

    @property
    def unit(self) -> str | None:
        """Unit by the suffix of the name (`usd` is all suffix), UTC of a time, None for a count or a word."""
        by_suffix = next((unit for suffix, unit in UNITS.items() if f"_{self.name}".endswith(suffix)), None)
        return by_suffix or ("UTC" if self.duckdb_type == "TIMESTAMPTZ" else None)


@dataclass(frozen=True)
class RowRule:
    """One rule that each row must keep: `holds` is DuckDB SQL, kept where it is TRUE or NULL."""

    name: str
    holds: str
    description: str
    column: str | None = None


@dataclass(frozen=True)
class Contract:
    """The contract of one table, and how the lake stores it: `layer` is empty where it is not stored.

    `partition` is none, hour, day or windows (hours for windows of at most an hour, days for longer ones);
    `partitioned_by` is DuckDB SQL for the hour of a row, counted from the Unix epoch; `order` is that of the rows in a
    part. `published` is table (inside the database), view (over the lake), inside (in the database, for other relations
    only), no, or the relation whose rows it adds to.
    """

    name: str
    description: str
    columns: tuple[Column, ...]
    rules: tuple[RowRule, ...]
    layer: str = ""
    partition: str = "none"
    partitioned_by: str = ""
    order: str = ""
    published: str = "no"

    @property
    def primary_key(self) -> tuple[str, ...]:
        """Names of the key columns, in order."""
        return tuple(column.name for column in self.columns if column.primary_key)

    def in_order(self, rows: "pl.DataFrame") -> "pl.DataFrame":
        """Rows in the order of a part, NULL last, for a table whose `order` is columns alone."""
        return rows.sort([name.strip() for name in self.order.split(",")], nulls_last=True)

    @property
    def meaning(self) -> list[object]:
        """What decides the rows of the table: its columns and rules, whatever their descriptions say."""
        columns = [(column.name, column.duckdb_type, column.primary_key) for column in self.columns]
        return [columns, [(rule.name, rule.holds) for rule in self.rules], self.partitioned_by, self.order]

    def __getitem__(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)


def contract_names() -> tuple[str, ...]:
    """Names of all tables that have a contract, sorted."""
    return tuple(sorted(path.stem for path in project_folder("schemas").glob("*.yaml")))


@cache
def contract(name: str) -> Contract:
    """Read the contract of table `name` from schemas/."""
    with (project_folder("schemas") / f"{name}.yaml").open(encoding="utf-8") as file:
        document = yaml.load(file, yaml.CSafeLoader)
    table = document["schema"][0]
    columns = tuple(_column(item) for item in table["properties"])
    declared = tuple(
        RowRule(rule["name"], rule["implementation"], rule["description"]) for rule in table.get("quality", [])
    )
    rules = tuple(rule for column in columns for rule in _column_rules(column)) + declared
    stored = _custom(document)
    stored["partitioned_by"] = stored.pop("partitionedBy", "")
    return Contract(document["name"], document["description"]["purpose"], columns, rules, **stored)


@cache
def stored_tables() -> tuple[str, ...]:
    """Names of the tables that the lake stores, sorted."""
    return tuple(name for name in contract_names() if contract(name).layer)


def _custom(item: dict[str, Any]) -> dict[str, Any]:
    return {one["property"]: one["value"] for one in item.get("customProperties", [])}


def _column(item: dict[str, Any]) -> Column:
    inherited = item.get("authoritativeDefinitions")
    if inherited:
        file, _, name = inherited[0]["url"].partition("#")
        source = contract(file.removesuffix(".yaml"))[name]
        return replace(source, primary_key=item.get("primaryKey", False))
    options = item.get("logicalTypeOptions", {})
    valid = [q["arguments"]["validValues"] for q in item.get("quality", []) if q["metric"] == "invalidValues"]
    return Column(
        name=item["name"],
        duckdb_type=item["physicalType"],
        description=item["description"],
        required=item.get("required", False),
        primary_key=item.get("primaryKey", False),
        minimum=options.get("minimum"),
        maximum=options.get("maximum"),
        pattern=options.get("pattern"),
        valid_values=tuple(valid[0]) if valid else (),
        **_custom(item),
    )


def _column_rules(column: Column) -> Iterator[RowRule]:
    name = column.name
    if column.required:
        yield RowRule(f"{name}_missing", f"{name} IS NOT NULL", f"{name} is missing", name)
    if column.minimum is not None or column.maximum is not None:
        low = "" if column.minimum is None else f"{name} >= {column.minimum}"
        high = "" if column.maximum is None else f"{name} <= {column.maximum}"
        finite = f"isfinite({name})" if column.duckdb_type == "DOUBLE" else ""
        holds = " AND ".join(part for part in (low, high, finite) if part)
        yield RowRule(f"{name}_out_of_range", holds, f"{name} breaks {holds}", name)
    if column.pattern:
        yield RowRule(f"{name}_malformed", f"regexp_matches({name}, '{column.pattern}')", f"{name} is malformed", name)
    if column.valid_values:
        listed = ", ".join(f"'{value}'" for value in column.valid_values)
        yield RowRule(f"{name}_invalid", f"{name} IN ({listed})", f"{name} is none of {listed}", name)


@cache
def arrow_schema(name: str) -> "pa.Schema":
    """Arrow schema of table `name`, as DuckDB itself maps the contract's physical types."""
    import pyarrow as pa  # noqa: PLC0415  (a sixth of a second that reading settings need not wait for)

    return pa.schema([pa.field(column.name, _arrow_type(column.duckdb_type)) for column in contract(name).columns])


@cache
def _arrow_type(duckdb_type: str) -> "pa.DataType":
    return _type_database().cursor().sql(f"SELECT NULL::{duckdb_type} LIMIT 0").to_arrow_table().schema.types[0]


@cache
def _type_database() -> "duckdb.DuckDBPyConnection":
    # one for all types: to open a database takes longer than to read ten contracts
    import duckdb  # noqa: PLC0415  (a fifth of a second that reading settings need not wait for)

    connection = duckdb.connect()
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    return connection


@cache
def polars_schema(name: str) -> "pl.Schema":
    """Columns of table `name` as Polars has their types."""
    import polars as pl  # noqa: PLC0415  (a quarter of a second that reading settings need not wait for)

    return pl.Schema(arrow_schema(name))
