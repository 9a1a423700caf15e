"""Ingests all that is new in the landing zone: scan, read file by file, commit rows and then the source ledger."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from goodput.collect import scanned
from goodput.collect.received import LandedFile
from goodput.collect.scan import Scan, scan
from goodput.conform.journal import commit_sources, journaled, undo_unfinished
from goodput.plumbing import source_ledger
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.lake import Lake
from goodput.plumbing.source_ledger import SourceEntry
from goodput.plumbing.workspace import Workspace

_LOOKS = 3  # at files that change while they are read


@dataclass
class Ingested:
    """What a run ingested: sources by what became of them, and rows in quarantine over all known sources.

    `bytes_read` and `rows_read` are those of the sources just read.
    `moved`: files that changed while they were read: nothing of them was taken, and the next run looks at them again.
    `changed`: whether any table of the lake was. `new_sources`: ids of the sources just read that have rows in each
    table. `removed`: parts that no table has any more, to be deleted once nobody reads them. `failed`: paths of known
    sources that are refused, were not read to their end or have too many rows in quarantine, with what is wrong.
    `read_ids`: ids of the sources just read.
    """

    read: int = 0
    bytes_read: int = 0
    rows_read: int = 0
    refused: int = 0
    unchanged: int = 0
    superseded: int = 0
    moved: int = 0
    rows_quarantined: int = 0
    changed: bool = False
    new_sources: dict[str, list[str]] = field(default_factory=dict)
    removed: list[Path] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    read_ids: set[str] = field(default_factory=set)

    def add(self, later: "Ingested") -> None:
        """What another look in the same run found as well."""
        self.unchanged = later.unchanged - len(self.read_ids - later.read_ids)  # this run found these new
        self.read += later.read - len(self.read_ids & later.read_ids)
        self.read_ids |= later.read_ids
        self.bytes_read += later.bytes_read
        self.rows_read += later.rows_read
        self.superseded += later.superseded
        self.refused, self.moved = later.refused, later.moved
        self.rows_quarantined, self.failed = later.rows_quarantined, later.failed
        self.changed |= later.changed
        self.removed += later.removed
        for table, sources in later.new_sources.items():
            self.new_sources.setdefault(table, []).extend(sources)


def ingest(workspace: Workspace) -> Ingested:
    """Read every source of the landing zone that the source ledger does not know (docs/semantics.md#sources).

    The caller holds the lake's lock. Raises LandingMissing, LakeUnreadable, LakeUnwritable. Sources read before an
    interruption are in the ledger or simply read again.
    """
    lake = workspace.lake
    undone = undo_unfinished(lake)
    source_ledger.require(lake)
    done = Ingested(changed=bool(undone), removed=undone)
    looks, is_first = _LOOKS, True
    while looks:
        done.moved = 0
        found = scan(lake, workspace.settings)
        if is_first:
            done.unchanged, is_first = found.unchanged, False
        try:
            _take(workspace, found, done)
        finally:
            found.copies.clear()
        if not (found.left and found.looked):  # more than one look's worth of objects is no look too many
            looks = looks - 1 if done.moved else 0
    if found.settled and not done.moved:
        scanned.note(lake, found.settled, found.present)
    ratio = workspace.settings.limits.quarantined_ratio
    done.rows_quarantined, done.failed = source_ledger.quarantined_and_failed(lake, ratio)
    done.removed = _in_no_table(lake, done.removed)
    return done


def _take(workspace: Workspace, found: Scan, done: Ingested) -> None:
    """Read what a scan found, and note in the ledger what it says of sources that need not be read."""
    lake = workspace.lake
    unreadable, gone = _never_read(lake, found.refused)
    gone |= found.mended
    done.refused += len(found.refused)
    done.superseded += len(found.superseded)
    done.changed |= bool(found.new or found.returned or unreadable or gone)
    done.removed += found.removed
    if found.new:
        _read_new(workspace, found, done)
    if found.returned:
        with journaled(lake):
            done.removed += source_ledger.renew(lake, found.returned, time.time_ns())
    if unreadable or gone:
        done.removed += commit_sources(lake, {}, unreadable, gone)


def _read_new(workspace: Workspace, found: Scan, done: Ingested) -> None:
    # The readers take half a second to import, which a run with nothing new need not wait for.
    from goodput.conform.reading import read_new  # noqa: PLC0415

    def committed(entries: Iterable[SourceEntry], replaced: Iterable[Path]) -> None:
        done.removed += replaced
        _count(done, entries)

    done.moved += read_new(workspace, found, committed)


def _count(done: Ingested, entries: Iterable[SourceEntry]) -> None:
    for entry in entries:
        if entry.status == "read":
            done.read += 1
            done.read_ids.add(entry.source_id)
            done.bytes_read += entry.size_bytes
            done.rows_read += entry.rows_read
        done.refused += entry.status == "refused"
        for table in entry.partitions:
            done.new_sources.setdefault(table, []).append(entry.source_id)


def _never_read(lake: Lake, refused: list[tuple[LandedFile, str]]) -> tuple[list[SourceEntry], set[str]]:
    """Entries of files refused unread that the ledger does not have yet, and ids of those that are no longer so."""
    before = source_ledger.refused_unread(lake)
    entries = {entry.source_id: entry for entry in (_refused(file, reason) for file, reason in refused)}
    return [entry for source_id, entry in entries.items() if source_id not in before], before - entries.keys()


def _refused(file: LandedFile, reason: str) -> SourceEntry:
    return SourceEntry(
        source_id=fingerprint(file.landing_name, file.relative_path, reason),
        content_hash="",
        head_hash="",
        path=file.relative_path,
        landing=file.landing_name,
        reader=file.reader,
        status="refused",
        reason=reason,
        size_bytes=0,
        ingested_ns=time.time_ns(),
    )


def _in_no_table(lake: Lake, paths: list[Path]) -> list[Path]:
    """The paths without those that some commit added again."""
    tables = {path.parent.parent.name for path in paths}
    present = {part.path for table in tables for parts in lake.catalog[table].parts.values() for part in parts}
    return [path for path in paths if path not in present]
