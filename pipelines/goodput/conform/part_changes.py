"""Changes parts of conformed tables: rows of sources that are superseded leave them, small ones are merged.

`inputs` of a part is the sum of the sources that it counts; each source counts in one part of a partition, so that the
sum over its parts is that of its sources however they are spread.
"""

from collections.abc import Collection, Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from goodput.conform.journal import PartChange
from goodput.plumbing.catalog import Part, digest_sum
from goodput.plumbing.lake import Lake
from goodput.plumbing.portions import portions

_MODULUS = 2**128
_SMALL_BYTES = 16 * 2**20
_SMALL_ROWS = 2**20
_MOST_SMALL = 8


def without_sources(lake: Lake, table: str, parts: Iterable[Part], source_ids: Collection[str]) -> PartChange:
    """Take all rows of some sources out of the parts of one partition: what holds any becomes one part, or none.

    One, because which of several counts a source that stays cannot be seen. Raises LakeUnreadable, LakeUnwritable.
    """
    home, gone = lake.catalog[table], pa.array(sorted(source_ids), pa.string())
    holding, found = [], set()
    for part in parts:
        held = set(pc.unique(home.read(part, ["source_id"])["source_id"]).to_pylist()) & set(source_ids)
        if held:
            holding.append(part)
            found |= held
    rest = []
    for part in holding:
        rows = home.read(part)
        kept = rows.filter(pc.invert(pc.is_in(rows["source_id"], value_set=gone)))
        if kept.num_rows:
            rest.append(kept)
    inputs = digest_sum([*(part.inputs for part in holding), *map(_negative, found)])
    add = [lake.write_part(table, holding[0].partition, pa.concat_tables(rest), inputs)] if rest else []
    return PartChange(add, holding)


def merged(lake: Lake, table: str, parts: Sequence[Part]) -> PartChange:
    """Make few of the small parts of a partition, once there are many. Raises LakeUnreadable, LakeUnwritable."""
    small = [part for part in parts if part.size_bytes < _SMALL_BYTES and part.rows < _SMALL_ROWS]
    if len(small) <= _MOST_SMALL:
        return PartChange([], [])
    # groups that fit in memory: rows that are alike take next to nothing in a file, but not here
    several = [together for together in portions(small, 2 * _SMALL_ROWS, lambda part: part.rows) if len(together) > 1]
    return PartChange([_one_of(lake, table, parts) for parts in several], [part for parts in several for part in parts])


def _one_of(lake: Lake, table: str, parts: Sequence[Part]) -> Part:
    rows = pa.concat_tables([lake.catalog[table].read(part) for part in parts])
    return lake.write_part(table, parts[0].partition, rows, digest_sum(part.inputs for part in parts))


def _negative(source_id: str) -> str:
    return f"{_MODULUS - int(source_id, 16):x}"
