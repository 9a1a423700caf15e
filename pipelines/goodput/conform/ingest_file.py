"""Reads landed files into a batch: of each its rows by table, its bad rows, its account."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from goodput.collect.held import hold
from goodput.collect.landing import FileIdentity, decoded_hash, is_still
from goodput.collect.otlp.framing import Framed
from goodput.collect.otlp_reading import OtlpReading
from goodput.collect.read import open_file
from goodput.collect.received import LandedFile, Received
from goodput.conform.batch import IngestBatch
from goodput.conform.refused_alone import refused_alone
from goodput.conform.small_files import SmallFiles
from goodput.errors import SourceRefused
from goodput.plumbing.source_ledger import SourceEntry
from goodput.settings.model import Settings

_KNOWN_DECODED = "cost_lines"  # equal lines of a bill are all charged: only its bytes tell a copy of them


class FileIngest:
    """Reads files into a batch one after another: `read` each, then `finish`, before the batch is written."""

    def __init__(self, batch: IngestBatch, settings: Settings, on_bytes: Callable[[int], None] | None = None) -> None:
        self._batch = batch
        self._settings = settings
        self._on_bytes = on_bytes
        self._small = SmallFiles(batch, settings)

    def read(self, file: LandedFile, identity: FileIdentity) -> bool:
        """Read one file into the batch; a bad file is refused whole. Raises LakeUnreadable, LakeUnwritable.

        Whether its bytes were those of its identity to the end; else nothing of it is in the batch, and what it became
        is another source.
        """
        self._batch.begin(_entry(file, identity))
        try:
            with hold(file.path, identity.size_bytes) as held:
                held_file = replace(file, held=held)
                small = self._take(held_file)
                if is_still(held_file, identity):
                    if small is not None:
                        self._small.add(identity.source_id, file.path, small)
                    return True
        except FileNotFoundError:
            pass  # it lies elsewhere by now, or nowhere
        except OSError as error:
            self._batch.refuse(reader=file.reader, reason=f"cannot be read: {error.strerror or error}")
            return True
        self._batch.drop()
        return False

    def finish(self) -> None:
        """Have the batch take what it has not yet. Raises LakeUnreadable, LakeUnwritable."""
        self._small.flush()

    def _take(self, file: LandedFile) -> Framed | None:
        """Read a file into the batch; what a small one holds, which the batch is yet to take."""
        reader, small, decoded = file.reader, None, None
        try:
            with refused_alone(file.path):
                opened, reading = open_file(file, self._settings, self._on_bytes)
                reader = opened.reader
                small = reading.only_block() if isinstance(reading, OtlpReading) else None
            if small is None:
                tables = self._take_blocks(file.path, iter(reading))
                decoded = decoded_hash(file.content, self._settings.limits) if _KNOWN_DECODED in tables else None
        except SourceRefused as error:
            self._batch.refuse(reader=reader, reason=error.reason)
            return None
        torn = reading.torn_tail_bytes
        self._batch.end(reader=reader, stopped=reading.stopped, torn_tail_bytes=torn, decoded_hash=decoded)
        return small

    def _take_blocks(self, path: Path, blocks: Iterator[Received]) -> set[str]:
        """Take all blocks of a file; the tables that have rows of it."""
        tables: set[str] = set()
        while True:
            with refused_alone(path):
                block = next(blocks, None)
            if block is None:
                return tables
            tables.update(block.tables)
            self._batch.take(block)


def _entry(file: LandedFile, identity: FileIdentity) -> SourceEntry:
    return SourceEntry(
        source_id=identity.source_id,
        content_hash=identity.content_hash,
        head_hash=identity.head_hash,
        path=file.relative_path,
        landing=file.landing_name,
        reader=file.reader,
        status="read",
        reason=None,
        size_bytes=identity.size_bytes,
        ingested_ns=time.time_ns(),
    )
