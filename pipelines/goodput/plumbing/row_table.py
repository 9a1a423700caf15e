"""Small tables of the catalog that are changed row by row, such as the source ledger: one partition, a primary key.

A change adds one part and rewrites only those that hold what it removes; where parts become many, they are merged.
"""

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from goodput.errors import LakeUnreadable
from goodput.plumbing.catalog import ALL, Part, digest_sum
from goodput.plumbing.contracts import arrow_schema, contract
from goodput.plumbing.lake import Lake

_MOST_PARTS = 32
_NO_INPUTS = digest_sum(())


def read_rows(lake: Lake, table: str, columns: Sequence[str] | None = None) -> pa.Table:
    """All rows of a table, or some of its columns. Raises LakeUnreadable."""
    schema = arrow_schema(table)
    empty = schema.empty_table().select(list(columns or schema.names))
    parts = (_read(part, empty.column_names) for part in lake.catalog[table].parts.get(ALL, ()))
    return pa.concat_tables([empty, *parts])


def change_rows(lake: Lake, table: str, add: pa.Table, remove: pa.Table) -> list[Path]:
    """Remove the rows whose keys `remove` holds, add rows of the table's contract; paths of the parts replaced.

    One commit, none where there is nothing to do. Raises LakeUnreadable, LakeUnwritable.
    """
    home = lake.catalog[table]
    parts = home.parts.get(ALL, ())
    kept = _kept(table, parts, remove)
    written = [rows for rows in (add, *kept.values()) if rows.num_rows]
    if len(parts) - len(kept) + len(written) > _MOST_PARTS:
        whole = [_read(part, add.column_names) for part in parts if part not in kept]
        written, kept = [pa.concat_tables([*whole, *written])], dict.fromkeys(parts, add)
    if not written and not kept:
        return []
    order = [(name.strip(), "ascending") for name in contract(table).order.split(",")]
    return home.change([lake.write_part(table, ALL, rows.sort_by(order), _NO_INPUTS) for rows in written], kept)


def _kept(table: str, parts: Sequence[Part], remove: pa.Table) -> dict[Part, pa.Table]:
    """What remains of each part that holds removed rows."""
    if not remove.num_rows:
        return {}
    key = list(contract(table).primary_key)
    removed = pl.DataFrame(remove.select(key))
    kept: dict[Part, pa.Table] = {}
    for part in parts:
        keys = pl.DataFrame(_read(part, key)).with_row_index("row")
        rest = keys.join(removed, on=key, how="anti", maintain_order="left")
        if rest.height < keys.height:
            kept[part] = _read(part, arrow_schema(table).names).take(rest["row"].to_arrow())
    return kept


def _read(part: Part, columns: Sequence[str]) -> pa.Table:
    try:
        with pq.ParquetFile(part.path) as file:
            return file.read(list(columns)).select(list(columns))
    except (OSError, pa.ArrowException) as error:
        raise LakeUnreadable(part.path, str(error)) from error
