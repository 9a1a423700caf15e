"""Small tables of the catalog that are changed row by row, such as the source ledger: one partition, a primary key.

A change adds one part and rewrites only those that hold what it removes; where parts become many, they are merged.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl
import pyarrow as pa

from goodput.contracts import arrow_schema, contract, polars_schema
from goodput.plumbing.catalog import ALL, Part, digest_sum
from goodput.plumbing.lake import Lake
from goodput.plumbing.part_rows import read_part

_MOST_PARTS = 32
_NO_INPUTS = digest_sum(())


def read_rows(lake: Lake, table: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """All rows of a table, or some of its columns. Raises LakeUnreadable."""
    return read_files(lake.catalog[table].files([ALL]), table, columns or polars_schema(table).names())


def read_files(files: Iterable[str], table: str, columns: Sequence[str]) -> pl.DataFrame:
    """The rows of some parts of a table. Raises LakeUnreadable."""
    empty = pl.DataFrame(schema=polars_schema(table)).select(columns)
    return pl.concat([empty, *(_frame(read_part(Path(file), table, columns)) for file in files)])


def change_rows(lake: Lake, table: str, add: pl.DataFrame, remove: pl.DataFrame) -> list[Path]:
    """Remove the rows whose keys `remove` holds, add rows of the table's contract; paths of the parts replaced.

    One commit, none where there is nothing to do. Raises LakeUnreadable, LakeUnwritable.
    """
    home = lake.catalog[table]
    parts = home.parts.get(ALL, ())
    kept = _kept(lake, table, parts, remove)
    written = [rows for rows in (add, *kept.values()) if rows.height]
    if len(parts) - len(kept) + len(written) > _MOST_PARTS:
        whole = [_read(lake, part, table, add.columns) for part in parts if part not in kept]
        written, kept = [pl.concat([*whole, *written])], dict.fromkeys(parts, add)
    if not written and not kept:
        return []
    return home.change([_write(lake, table, rows) for rows in written], kept)


def _kept(lake: Lake, table: str, parts: Sequence[Part], remove: pl.DataFrame) -> dict[Part, pl.DataFrame]:
    """What remains of each part that holds removed rows."""
    if not remove.height:
        return {}
    key = list(contract(table).primary_key)
    kept: dict[Part, pl.DataFrame] = {}
    for part in parts:
        keys = _read(lake, part, table, key).with_row_index("row")
        rest = keys.join(remove.select(key), on=key, how="anti", maintain_order="left")
        if rest.height < keys.height:
            kept[part] = _read(lake, part, table, polars_schema(table).names())[rest["row"]]
    return kept


def _write(lake: Lake, table: str, rows: pl.DataFrame) -> Part:
    return lake.write_part(table, ALL, contract(table).in_order(rows).to_arrow().cast(arrow_schema(table)), _NO_INPUTS)


def _read(lake: Lake, part: Part, table: str, columns: Sequence[str]) -> pl.DataFrame:
    return _frame(lake.catalog[table].read(part, columns))


def _frame(rows: pa.Table) -> pl.DataFrame:
    found = pl.from_arrow(rows)
    assert isinstance(found, pl.DataFrame)  # noqa: S101  (of a table)
    return found
