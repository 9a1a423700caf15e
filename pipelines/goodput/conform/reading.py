"""Reads new sources: in this process one after another, or where a run has workers each of them some of the files.

What a worker has read counts, as all else does, once this process has committed it; see docs/scale.md#ingest.
"""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb

from goodput.collect.copies import ObjectCopies
from goodput.collect.landing import FileIdentity
from goodput.collect.received import LandedFile
from goodput.collect.scan import Scan
from goodput.conform.batch import IngestBatch, Written
from goodput.conform.commit import commit
from goodput.conform.guard import Guard
from goodput.conform.ingest_file import FileIngest
from goodput.errors import ExtraMissing, LakeUnwritable, SecretUnusable, StoreFailed
from goodput.plumbing.erased import read_erased
from goodput.plumbing.lake import Lake
from goodput.plumbing.portions import portions
from goodput.plumbing.runner import Died, Runner
from goodput.plumbing.source_ledger import SourceEntry
from goodput.plumbing.sql_files import connect
from goodput.plumbing.workspace import Workspace
from goodput.settings.model import Settings

_COMMIT_EVERY_S = 60.0  # a run that dies has this much to do again
_WORTH_IT_BYTES = 8 * 2**20  # fewer are read in less time than a worker takes to begin
_SHARES = 4  # of each worker: who is done first has something to go on with

Committed = Callable[[Sequence[SourceEntry], Sequence[Path]], None]  # entries, and the parts that were replaced
_New = tuple[LandedFile, FileIdentity]


@dataclass(frozen=True)
class Share:
    """Files that one worker reads into a lake, by the settings that say how."""

    lake: Lake
    settings: Settings
    files: Sequence[_New]

    @property
    def size_bytes(self) -> int:
        """Of all its files."""
        return _size_bytes(self.files)


@dataclass(frozen=True)
class Read:
    """What a worker has read of its share, and the files that it could not read where it is."""

    written: Written
    left: Sequence[_New]


def read_new(workspace: Workspace, found: Scan, committed: Committed) -> int:
    """Read and commit all that a scan found new; how many files changed meanwhile, of which nothing was taken.

    Raises LakeUnreadable, LakeUnwritable, SecretUnusable.
    """
    on_bytes = workspace.progress.measure("reading", _size_bytes(found.new))
    moved, runner = 0, workspace.runner
    with connect() as connection:
        batches = _Batches(workspace, found, committed, connection, on_bytes)
        shares = _shares(workspace, found.new, runner.width) if runner else []
        left = _read_by_workers(batches, shares, runner, on_bytes) if runner and shares else found.new
        for file, identity in left:
            moved += not batches.read(file, identity)
            batches.commit_in_time()
        batches.commit()
    return moved


def read_share(share: Share) -> Read:
    """Read files in a worker, up to parts that do not count yet. Raises LakeUnreadable, LakeUnwritable."""
    with connect() as connection:
        batch = IngestBatch(share.lake, connection, _guard(share.lake, share.settings))
        files, copies = FileIngest(batch, share.settings), ObjectCopies()
        try:
            left = [new for new in share.files if not ((here := _here(new, copies)) and files.read(*here))]
            files.finish()
            return Read(batch.write(), left)
        except SecretUnusable:  # known, perhaps, where the run began
            return Read(Written({}, {}, {}, {}), share.files)
        finally:
            copies.clear()


def _here(new: _New, copies: ObjectCopies) -> _New | None:
    """The file where this worker can read it, an object as a copy of its own; None where it cannot."""
    file, identity = new
    if os.access(file.path, os.R_OK):
        return new
    if file.place is None:
        return None
    copy = copies.landed(*file.place)
    with suppress(StoreFailed, ExtraMissing, LakeUnwritable):  # credentials or room that the run has
        if copies.fetch(copy):
            return replace(copy, reader=file.reader, captures=file.captures), identity
    return None


class _Batches:
    """The batch that sources are read into; another follows each time that one is committed."""

    def __init__(
        self,
        workspace: Workspace,
        found: Scan,
        committed: Committed,
        connection: duckdb.DuckDBPyConnection,
        on_bytes: Callable[[int], None],
    ) -> None:
        self._lake, self._settings, self._runner = workspace.lake, workspace.settings, workspace.runner
        self._superseded_by, self._committed = found.superseded_by, committed
        self._connection, self._on_bytes = connection, on_bytes
        self._guarded = _guard(self._lake, self._settings)
        self._begin()

    def _begin(self) -> None:
        self._batch, self._begun_s = IngestBatch(self._lake, self._connection, self._guarded), time.monotonic()
        self._files = FileIngest(self._batch, self._settings, self._on_bytes)

    def read(self, file: LandedFile, identity: FileIdentity) -> bool:
        """Read a file here; whether its bytes were those of its identity to the end."""
        return self._files.read(file, identity)

    def include(self, written: Written) -> None:
        """Take what a worker has read."""
        self._batch.include(written)

    def commit_in_time(self) -> None:
        """Commit what was read, where that is due."""
        if time.monotonic() - self._begun_s > _COMMIT_EVERY_S:
            self.commit()

    def commit(self) -> None:
        """Commit what was read."""
        self._files.finish()
        most = self._settings.limits.quarantined_ratio
        replaced = commit(self._lake, self._batch, self._superseded_by, most, self._runner)
        self._committed(self._batch.entries, replaced)
        self._begin()


def _read_by_workers(
    batches: _Batches, shares: Sequence[Share], runner: Runner, on_bytes: Callable[[int], None]
) -> list[_New]:
    """Have workers read their shares; the files that none could: it does not see them, or it died."""
    left: list[_New] = []
    for share, read in runner.map(read_share, shares):
        if isinstance(read, Died):
            left += share.files
            continue
        batches.include(read.written)
        left += read.left
        on_bytes(share.size_bytes - _size_bytes(read.left))
        batches.commit_in_time()
    return left


def _shares(workspace: Workspace, files: Sequence[_New], width: int) -> list[Share]:
    """The files in shares, the largest first; none where one worker is enough for all."""
    most = max(_WORTH_IT_BYTES, _size_bytes(files) // (_SHARES * width))
    divided = portions(files, most, lambda new: new[1].size_bytes)
    shares = [Share(workspace.lake, workspace.settings, share) for share in divided]
    return sorted(shares, key=lambda share: -share.size_bytes) if len(shares) > 1 else []


def _size_bytes(files: Sequence[_New]) -> int:
    return sum(identity.size_bytes for _, identity in files)


def _guard(lake: Lake, settings: Settings) -> Guard:
    return Guard(settings, read_erased(lake.root))
