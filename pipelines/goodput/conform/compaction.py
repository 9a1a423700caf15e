"""Compacts conformed tables in the commits that add to them: one part in place of many small ones of a partition.

What is looked at are the partitions that a commit adds to, never history. Merging is the work of whoever has room.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from goodput.conform.journal import PartChange
from goodput.plumbing.catalog import Part, digest_sum
from goodput.plumbing.lake import Lake, delete
from goodput.plumbing.portions import portions
from goodput.plumbing.runner import Died, InProcess, Runner

_SMALL_BYTES = 16 * 2**20
_SMALL_ROWS = 2**20
_MOST_SMALL = 8
_WORTH_IT_BYTES = 8 * 2**20  # fewer are merged in less time than a worker takes to begin


@dataclass(frozen=True)
class SmallParts:
    """Parts of one partition that are to be one."""

    lake: Lake
    table: str
    parts: Sequence[Part]


def compacted(lake: Lake, changes: Mapping[str, PartChange], runner: Runner | None = None) -> dict[str, PartChange]:
    """The changes of tables, with the small parts merged of each partition that they add to.

    What a worker died of is left to a later commit. Raises LakeUnreadable, LakeUnwritable.
    """
    found = dict(changes)
    to_merge = [small for table, change in changes.items() for small in _to_merge(lake, table, change)]
    size_bytes = sum(part.size_bytes for small in to_merge for part in small.parts)
    chosen = runner if runner and size_bytes >= _WORTH_IT_BYTES else InProcess()
    for small, part in chosen.map(merge, to_merge):
        if not isinstance(part, Died):
            found[small.table] = _with(found[small.table], small.parts, part)
    return found


def merge(small: SmallParts) -> Part:
    """One part of all rows. Raises LakeUnreadable, LakeUnwritable."""
    rows = pa.concat_tables([small.lake.catalog[small.table].read(part) for part in small.parts])
    made_from = digest_sum(part.inputs for part in small.parts)
    return small.lake.write_part(small.table, small.parts[0].partition, rows, made_from)


def _to_merge(lake: Lake, table: str, change: PartChange) -> Iterator[SmallParts]:
    for partition in sorted({part.partition for part in change.add}):
        present = [part for part in lake.catalog[table].parts.get(partition, ()) if part not in change.remove]
        parts = [*present, *(part for part in change.add if part.partition == partition)]
        small = [part for part in parts if part.size_bytes < _SMALL_BYTES and part.rows < _SMALL_ROWS]
        if len(small) > _MOST_SMALL:
            # groups that fit in memory: rows that are alike take next to nothing in a file, but not here
            groups = portions(small, 2 * _SMALL_ROWS, lambda part: part.rows)
            yield from (SmallParts(lake, table, group) for group in groups if len(group) > 1)


def _with(change: PartChange, parts: Sequence[Part], merged: Part) -> PartChange:
    delete(part.path for part in parts if part in change.add)  # they were never committed
    add = [part for part in change.add if part not in parts]
    return PartChange([*add, merged], [*change.remove, *(part for part in parts if part not in change.add)])
