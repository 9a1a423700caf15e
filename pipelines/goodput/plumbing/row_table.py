"""Small tables of the catalog that are changed row by row, such as the source ledger: one partition, a primary key.

A change adds one part and rewrites only those that hold what it removes; where parts become many, they are merged.
"""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from goodput.plumbing.catalog import ALL, Part, digest_sum
from goodput.plumbing.contracts import arrow_schema, contract, polars_schema
from goodput.plumbing.lake import Lake
from goodput.plumbing.part_rows import read_part

_MOST_PARTS = 32
_NO_INPUTS = digest_sum(())


def read_rows(lake: Lake, table: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """All rows of a table, or some of its columns. Raises LakeUnreadable."""
    schema = polars_schema(table)
    wanted = list(columns or schema.names())
    parts = [_read(part, table, wanted) for part in lake.catalog[table].parts.get(ALL, ())]
    return pl.concat([pl.DataFrame(schema=schema).select(wanted), *parts])


def change_rows(lake: Lake, table: str, add: pl.DataFrame, remove: pl.DataFrame) -> list[Path]:
    """Remove the rows whose keys `remove` holds, add rows of the table's contract; paths of the parts replaced.

    One commit, none where there is nothing to do. Raises LakeUnreadable, LakeUnwritable.
    """
    home = lake.catalog[table]
    parts = home.parts.get(ALL, ())
    kept = _kept(table, parts, remove)
    written = [rows for rows in (add, *kept.values()) if rows.height]
    if len(parts) - len(kept) + len(written) > _MOST_PARTS:
        whole = [_read(part, table, add.columns) for part in parts if part not in kept]
        written, kept = [pl.concat([*whole, *written])], dict.fromkeys(parts, add)
    if not written and not kept:
        return []
    return home.change([_write(lake, table, rows) for rows in written], kept)


def _kept(table: str, parts: Sequence[Part], remove: pl.DataFrame) -> dict[Part, pl.DataFrame]:
    """What remains of each part that holds removed rows."""
    if not remove.height:
        return {}
    key = list(contract(table).primary_key)
    kept: dict[Part, pl.DataFrame] = {}
    for part in parts:
        keys = _read(part, table, key).with_row_index("row")
        rest = keys.join(remove.select(key), on=key, how="anti", maintain_order="left")
        if rest.height < keys.height:
            kept[part] = _read(part, table, polars_schema(table).names())[rest["row"]]
    return kept


def _write(lake: Lake, table: str, rows: pl.DataFrame) -> Part:
    order = [name.strip() for name in contract(table).order.split(",")]
    return lake.write_part(table, ALL, rows.sort(order).to_arrow().cast(arrow_schema(table)), _NO_INPUTS)


def _read(part: Part, table: str, columns: Sequence[str]) -> pl.DataFrame:
    found = pl.from_arrow(read_part(part.path, table, columns))
    assert isinstance(found, pl.DataFrame)  # noqa: S101  (of a table)
    return found
