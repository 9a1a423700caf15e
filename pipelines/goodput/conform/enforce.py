"""Holds rows to their contract: good rows on, bad rows aside with the rule that they break and the value found."""

from dataclasses import dataclass

import duckdb
import polars as pl

from goodput.collect.received import RefusedRow
from goodput.plumbing.contracts import Contract, RowRule, arrow_schema, contract


@dataclass(frozen=True)
class Enforced:
    """Rows that keep their contract, in its columns and types, and the rows that do not."""

    kept: pl.DataFrame
    refused: list[RefusedRow]


def in_contract_shape(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with exactly the contract's columns in order and type; absent columns are NULL."""
    schema = pl.DataFrame(arrow_schema(table).empty_table()).schema
    present = set(frame.columns)
    return frame.select(
        (pl.col(name) if name in present else pl.lit(None)).cast(dtype, strict=False).alias(name)
        for name, dtype in schema.items()
    )


def enforce(connection: duckdb.DuckDBPyConnection, table: str, frame: pl.DataFrame) -> Enforced:
    """Split rows by the contract's row rules; a rule that is NULL for a row holds."""
    agreed = contract(table)
    holds = " AND ".join(f"coalesce({rule.holds}, true)" for rule in agreed.rules) or "true"
    rows = connection.from_arrow(frame.to_arrow())
    broken = rows.filter(f"NOT ({holds})")
    if not broken.limit(1).fetchall():
        return Enforced(frame, [])
    bad = broken.select(_verdict_columns(agreed)).fetchall()
    kept = pl.DataFrame(rows.filter(holds).to_arrow_table())
    return Enforced(kept.sort("line", "position"), [_refused(table, row) for row in bad])


def _verdict_columns(agreed: Contract) -> str:
    names = ", ".join(f"CASE WHEN NOT ({rule.holds}) THEN '{rule.name}' END" for rule in agreed.rules)
    reasons = ", ".join(f"CASE WHEN NOT ({rule.holds}) THEN {_reason(rule)} END" for rule in agreed.rules)
    shown = ", ".join(f'"{c.name}" := "{c.name}"' for c in agreed.columns if c.name != "source_id")
    return (
        f"line, position, list_filter([{names}], lambda x: x IS NOT NULL)[1], "
        f"list_filter([{reasons}], lambda x: x IS NOT NULL), left(to_json(struct_pack({shown}))::VARCHAR, 300)"
    )


def _reason(rule: RowRule) -> str:
    said = "'" + rule.description.replace("'", "''") + "'"
    return said if rule.column is None else f"concat({said}, ': ', coalesce(\"{rule.column}\"::VARCHAR, 'NULL'))"


def _refused(table: str, row: tuple[int, int, str, list[str], str]) -> RefusedRow:
    line, position, rule, reasons, excerpt = row
    return RefusedRow(line, position, table, rule, "; ".join(reasons), excerpt)
