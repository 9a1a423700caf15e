"""Reads one landed file into a batch: its rows by table, its bad rows, its account."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from traceback import extract_tb

from goodput.collect.held import hold
from goodput.collect.landing import FileIdentity, is_still
from goodput.collect.read import open_file
from goodput.collect.received import LandedFile
from goodput.conform.batch import IngestBatch
from goodput.errors import GoodputError, SourceRefused
from goodput.plumbing import interrupt
from goodput.plumbing.source_ledger import SourceEntry
from goodput.settings.model import Settings


def ingest_file(
    batch: IngestBatch,
    file: LandedFile,
    identity: FileIdentity,
    settings: Settings,
    on_bytes: Callable[[int], None] | None = None,
) -> bool:
    """Read one file into the batch; a bad file is refused whole. Raises LakeUnwritable.

    Whether its bytes were those of its identity to the end; else nothing of it is in the batch, and what it became is
    another source.
    """
    batch.begin(
        SourceEntry(
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
    )
    try:
        with hold(file.path, identity.size_bytes) as held:
            held_file = replace(file, held=held)
            _take(batch, held_file, settings, on_bytes)
            if is_still(held_file, identity):
                return True
    except FileNotFoundError:
        pass  # it lies elsewhere by now, or nowhere
    except OSError as error:
        batch.refuse(reader=file.reader, reason=f"cannot be read: {error.strerror or error}")
        return True
    batch.drop()
    return False


def _take(batch: IngestBatch, file: LandedFile, settings: Settings, on_bytes: Callable[[int], None] | None) -> None:
    reader = file.reader
    try:
        with _refused_alone(file.path):
            opened, reading = open_file(file, settings, on_bytes)
            reader, blocks = opened.reader, iter(reading)
        while True:
            with _refused_alone(file.path):
                block = next(blocks, None)
            if block is None:
                break
            batch.take(block)
    except SourceRefused as error:
        batch.refuse(reader=reader, reason=error.reason)
    else:
        batch.end(reader=reader, stopped=reading.stopped, torn_tail_bytes=reading.torn_tail_bytes)


@contextmanager
def _refused_alone(path: Path) -> Iterator[None]:
    """Raise SourceRefused for an error of its reader that nobody foresaw: no file must stop the others.

    Where it happened is told, not what the error says: that may be what a user wrote.
    """
    try:
        yield
    except (GoodputError, OSError, MemoryError):
        raise
    except BaseException as error:  # a panic in Rust is no Exception
        interrupt.check(error)
        last = extract_tb(error.__traceback__)[-1]
        place = f"{Path(last.filename).name}, line {last.lineno}"
        raise SourceRefused(
            path, f"reading it broke at an error that nobody foresaw: {type(error).__name__} in {place}"
        ) from error
