"""Takes sources out of the lake: all rows of theirs from every conformed table, and their entries in the ledger last.

A journal covers it as it does a batch: a run that dies in between is undone by the next one.
"""

from collections.abc import Collection, Iterable
from pathlib import Path

from goodput.conform.journal import PartChange, commit_sources
from goodput.conform.part_changes import without_sources
from goodput.plumbing import source_ledger
from goodput.plumbing.catalog import Part
from goodput.plumbing.lake import Lake
from goodput.plumbing.pruned import read_pruned


def withdraw(lake: Lake, source_ids: Collection[str], damaged: Collection[Part] = ()) -> list[Path]:
    """Take sources out, and damaged parts all of whose sources are among them; paths of the parts that this replaced.

    Closed hours stay as they are: what was measured from them is not computed again.

    The caller holds the lake's lock. Raises LakeUnreadable, LakeUnwritable.
    """
    changes, pruned = {}, read_pruned(lake.root)
    for table, partitions in source_ledger.partitions_of(lake, source_ids).items():
        present = lake.catalog[table].parts
        found = [
            _change(lake, table, present.get(partition, ()), of_partition, damaged)
            for partition, of_partition in partitions.items()
            if not pruned.is_closed(partition)
        ]
        changes[table] = PartChange([p for c in found for p in c.add], [p for c in found for p in c.remove])
    return commit_sources(lake, changes, (), source_ids)


def _change(
    lake: Lake, table: str, present: Iterable[Part], source_ids: Collection[str], damaged: Collection[Part]
) -> PartChange:
    broken = [part for part in present if part in damaged]
    rest = without_sources(lake, table, [part for part in present if part not in broken], source_ids)
    return PartChange(rest.add, [*rest.remove, *broken])
