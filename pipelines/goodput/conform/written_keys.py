"""Keys of a source that is larger than memory, of rows that are in parts already: their copies are left out."""

from collections.abc import Iterable

import polars as pl

from goodput.contracts import contract
from goodput.plumbing.catalog import Part
from goodput.plumbing.part_rows import read_part


class WrittenKeys:
    """Hashes of the keys of one source, by table; where one is met again, the parts themselves are asked."""

    def __init__(self) -> None:
        self._hashes: dict[str, list[pl.Series]] = {}

    def clear(self) -> None:
        """Another source comes next."""
        self._hashes.clear()

    def add(self, table: str, rows: pl.DataFrame) -> None:
        """Rows of the source that are in parts now."""
        self._hashes.setdefault(table, []).append(_hashes(table, rows))

    def without(self, table: str, rows: pl.DataFrame, parts: Iterable[Part]) -> pl.DataFrame:
        """The rows without those whose source and key are in the parts. Raises LakeUnreadable."""
        if table not in self._hashes:
            return rows
        met = rows.filter(_hashes(table, rows).is_in(pl.concat(self._hashes[table]).implode()))
        if not met.height:
            return rows
        key = ["source_id", *contract(table).primary_key]
        sources = met["source_id"].unique().implode()
        written = [pl.DataFrame(read_part(part.path, table, key)) for part in parts]
        mine = pl.concat(written).filter(pl.col("source_id").is_in(sources))
        return rows.join(mine, on=key, how="anti", maintain_order="left")


def _hashes(table: str, rows: pl.DataFrame) -> pl.Series:
    (key,) = contract(table).primary_key
    return rows[key].hash()
