"""Commits a batch: each conformed table by itself, the source ledger last, with a journal for a run that dies between.

What sources that are superseded left in the lake goes in the same commits, unless what is to take their place failed.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from goodput.conform.batch import IngestBatch
from goodput.conform.compaction import compacted
from goodput.conform.journal import PartChange, commit_sources
from goodput.conform.part_changes import without_sources
from goodput.plumbing import source_ledger
from goodput.plumbing.catalog import Part
from goodput.plumbing.lake import Lake
from goodput.plumbing.pruned import read_pruned
from goodput.plumbing.runner import Runner
from goodput.plumbing.source_ledger import SourceEntry


class _Before(NamedTuple):
    """A source that another is to take the place of."""

    source_id: str
    rows_read: int
    rows_quarantined: int


def commit(
    lake: Lake,
    batch: IngestBatch,
    superseded_by: Mapping[str, set[str]],
    quarantined_ratio: float = 1.0,
    runner: Runner | None = None,
) -> list[Path]:
    """Make the batch part of the lake in place of what its sources supersede; paths of the parts that this replaced.

    A source that is refused supersedes nothing, and one is refused that has fewer good rows than what it would
    supersede and more than `quarantined_ratio` in quarantine (docs/semantics.md#sources). Raises LakeUnreadable,
    LakeUnwritable.
    """
    batch.write()
    before = _before(lake, superseded_by)
    _refuse_worse(batch, before, quarantined_ratio)
    entries = [_with_what_stays(entry, before.get(entry.source_id, ())) for entry in batch.entries]
    superseded = {
        old.source_id for entry in entries for old in before.get(entry.source_id, ()) if entry.status == "read"
    }
    changes = compacted(lake, _changes(lake, batch.parts, superseded), runner)
    return commit_sources(lake, changes, entries, superseded)


def _before(lake: Lake, superseded_by: Mapping[str, set[str]]) -> dict[str, list[_Before]]:
    """The sources of the ledger that each new one is to take the place of."""
    if not superseded_by:
        return {}
    rows = source_ledger.read_frame(lake, [*_Before._fields])
    known = {row[0]: _Before(*row) for row in rows.iter_rows()}
    return {new: [known[old] for old in sorted(olds) if old in known] for new, olds in superseded_by.items()}


def _refuse_worse(batch: IngestBatch, before: Mapping[str, list[_Before]], quarantined_ratio: float) -> None:
    for entry in batch.entries:
        quarantined, good = entry.rows_quarantined, entry.rows_read - entry.rows_quarantined
        is_worse = any(good < old.rows_read - old.rows_quarantined for old in before.get(entry.source_id, ()))
        if is_worse and quarantined > quarantined_ratio * entry.rows_read:
            reason = f"{quarantined} of {entry.rows_read} rows break a rule: {batch.first_reason(entry.source_id)}"
            batch.withdraw(entry.source_id, entry.reader, reason)


def _with_what_stays(entry: SourceEntry, before: Iterable[_Before]) -> SourceEntry:
    if entry.status == "read" or not any(before):
        return entry
    return replace(entry, reason=f"{entry.reason}; the rows of an earlier reading stay in use")


def _changes(lake: Lake, parts: dict[str, list[Part]], superseded: Collection[str]) -> dict[str, PartChange]:
    leaving = source_ledger.partitions_of(lake, superseded) if superseded else {}
    pruned = read_pruned(lake.root)
    found = {}
    for table in sorted({*parts, *leaving}):
        change = PartChange([*parts.get(table, ())], [])
        for partition, source_ids in leaving.get(table, {}).items():
            if pruned.is_closed(partition):
                continue  # what comes in their place is not taken, and hours that are not closed read these rows
            present = lake.catalog[table].parts.get(partition, ())
            rest = without_sources(lake, table, present, source_ids)
            change = PartChange(change.add + rest.add, change.remove + rest.remove)
        found[table] = change
    return found
