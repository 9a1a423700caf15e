"""Commits a batch: each conformed table by itself, the source ledger last, with a journal for a run that dies between.

What sources that are superseded left in the lake goes in the same commits.
"""

from collections.abc import Collection, Mapping
from pathlib import Path

from goodput.conform.batch import Batch
from goodput.conform.journal import PartChange, close_journal, write_journal
from goodput.conform.part_changes import merged, without_sources
from goodput.plumbing import source_ledger
from goodput.plumbing.catalog import Part
from goodput.plumbing.lake import Lake, delete


def commit(lake: Lake, batch: Batch, superseded_by: Mapping[str, set[str]]) -> list[Path]:
    """Make the batch part of the lake in place of what its sources supersede; paths of the parts that this replaced.

    Raises LakeUnreadable, LakeUnwritable.
    """
    batch.write()
    entries = batch.entries
    superseded = {old for entry in entries for old in superseded_by.get(entry.source_id, ())}
    changes = _changes(lake, batch.parts, superseded)
    if changes:
        write_journal(lake, changes)
    removed = [path for table, change in changes.items() for path in lake.catalog[table].change(*change)]
    removed += source_ledger.change(lake, entries, superseded)
    if changes:
        close_journal(lake)
    return removed


def _changes(lake: Lake, parts: dict[str, list[Part]], superseded: Collection[str]) -> dict[str, PartChange]:
    leaving = source_ledger.partitions_of(lake, superseded) if superseded else {}
    found = {}
    for table in sorted({*parts, *leaving}):
        change = PartChange([*parts.get(table, ())], [])
        for partition, source_ids in leaving.get(table, {}).items():
            present = lake.catalog[table].parts.get(partition, ())
            rest = without_sources(lake, table, present, source_ids)
            change = PartChange(change.add + rest.add, change.remove + rest.remove)
        found[table] = _compacted(lake, table, change)
    return found


def _compacted(lake: Lake, table: str, change: PartChange) -> PartChange:
    """The change with small parts merged in the partitions that it adds to."""
    add, remove = change
    for partition in sorted({part.partition for part in add}):
        present = [part for part in lake.catalog[table].parts.get(partition, ()) if part not in remove]
        less = merged(lake, table, [*present, *(part for part in add if part.partition == partition)])
        delete(part.path for part in less.remove if part in add)  # they were never committed
        remove = remove + [part for part in less.remove if part not in add]
        add = [part for part in add if part not in less.remove] + less.add
    return PartChange(add, remove)
