"""Reads one landed file into a batch: its rows by table, its bad rows, its account."""

import time
from collections.abc import Callable

from goodput.collect.landing import FileIdentity
from goodput.collect.read import open_file
from goodput.collect.received import LandedFile
from goodput.conform.batch import Batch
from goodput.errors import SourceRefused
from goodput.plumbing.source_ledger import SourceEntry
from goodput.settings.model import Settings


def ingest_file(
    batch: Batch,
    file: LandedFile,
    identity: FileIdentity,
    settings: Settings,
    on_bytes: Callable[[int], None] | None = None,
) -> None:
    """Read one file into the batch; a bad file is refused whole. Raises LakeUnwritable."""
    reader = file.reader
    batch.begin(
        SourceEntry(
            source_id=identity.source_id,
            content_hash=identity.content_hash,
            head_hash=identity.head_hash,
            path=file.relative_path,
            landing=str(file.landing),
            reader=reader,
            status="read",
            reason=None,
            size_bytes=identity.size_bytes,
            ingested_ns=time.time_ns(),
        )
    )
    try:
        opened, reading = open_file(file, settings, on_bytes)
        reader = opened.reader
        for block in reading:
            batch.take(block)
    except SourceRefused as error:
        batch.refuse(reader=reader, reason=error.reason)
    else:
        batch.end(reader=reader, stopped=reading.stopped, torn_tail_bytes=reading.torn_tail_bytes)
