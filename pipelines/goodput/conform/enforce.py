"""Enforces contracts: good rows go on, bad rows are quarantined with the rule that they break and the value found.

Of text only its length is reported: it may be what a user wrote.
"""

from collections.abc import Container
from dataclasses import dataclass

import duckdb
import polars as pl

from goodput.collect.received import RefusedRow
from goodput.contracts import Contract, RowRule, contract, polars_schema


@dataclass(frozen=True)
class Enforced:
    """Rows that keep their contract, in its columns and types, and those that do not, by source_id."""

    kept: pl.DataFrame
    refused: dict[str, list[RefusedRow]]


def in_contract_shape(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with exactly the contract's columns in order and type; absent columns are NULL."""
    present = frame.schema
    return frame.select(
        (pl.col(name) if name in present else pl.lit(None)).cast(dtype, strict=False).alias(name)
        for name, dtype in polars_schema(table).items()
    )


def enforce(connection: duckdb.DuckDBPyConnection, table: str, frame: pl.DataFrame) -> Enforced:
    """Split rows by the contract's row rules; a rule that is NULL for a row holds."""
    agreed = contract(table)
    broken = " OR ".join(f"NOT ({rule.holds})" for rule in agreed.rules) or "false"
    rows = connection.from_arrow(frame.with_row_index("row").to_arrow(compat_level=pl.CompatLevel.newest()))  # no copy
    breaking = rows.filter(broken)
    # how many are bad takes half as long as which are, and asks for no column that no rule is about
    if breaking.aggregate("count(*)").fetchall() == [(0,)]:
        return Enforced(frame, {})
    bad = breaking.select(f"row, {_verdict_columns(agreed)}").order("row").fetchall()
    refused: dict[str, list[RefusedRow]] = {}
    for row in bad:
        refused.setdefault(row[1], []).append(_refused(table, row[2:]))
    return Enforced(_without(frame, [row[0] for row in bad]), refused)


def _without(frame: pl.DataFrame, rows: list[int]) -> pl.DataFrame:
    numbers = pl.DataFrame({"row": rows}, schema={"row": pl.UInt32})
    return frame.with_row_index("row").join(numbers, on="row", how="anti", maintain_order="left").drop("row")


def _verdict_columns(agreed: Contract) -> str:
    names = ", ".join(f"CASE WHEN NOT ({rule.holds}) THEN '{rule.name}' END" for rule in agreed.rules)
    texts = {column.name for column in agreed.columns if column.duckdb_type == "VARCHAR"}
    reasons = ", ".join(f"CASE WHEN NOT ({rule.holds}) THEN {_reason(rule, texts)} END" for rule in agreed.rules)
    shown = ", ".join(f'"{c.name}" := "{c.name}"' for c in agreed.columns if c.name != "source_id")
    return (
        f"source_id, line, position, list_filter([{names}], lambda x: x IS NOT NULL)[1], "
        f"list_filter([{reasons}], lambda x: x IS NOT NULL), left(to_json(struct_pack({shown}))::VARCHAR, 300)"
    )


def _reason(rule: RowRule, texts: Container[str]) -> str:
    text = "'" + rule.description.replace("'", "''") + "'"
    if rule.column is None:
        return text
    found = f'"{rule.column}"::VARCHAR'
    shown = f"'text of ' || length({found}) || ' characters'" if rule.column in texts else found
    return f"concat({text}, ': ', coalesce({shown}, 'NULL'))"


def _refused(table: str, verdict: tuple[int, int, str, list[str], str]) -> RefusedRow:
    line, position, rule, reasons, excerpt = verdict
    return RefusedRow(line, position, table, rule, "; ".join(reasons), excerpt)
