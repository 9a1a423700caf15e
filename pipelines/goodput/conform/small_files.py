"""Small files of OTLP on their way into a batch: read one by one, decoded and made records together."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from goodput.collect.otlp.framing import BLOCK_BYTES, BLOCK_ROWS, Framed
from goodput.collect.otlp_reading import READER, otlp_records
from goodput.conform.batch import IngestBatch
from goodput.conform.refused_alone import refused_alone
from goodput.errors import SourceRefused
from goodput.settings.model import Settings

_FILES_AT_ONCE = 1_000


@dataclass(frozen=True)
class _SmallFile:
    source_id: str
    path: Path
    framed: Framed


class SmallFiles:
    """Files of one block each, which the batch knows and whose rows it is yet to take."""

    def __init__(self, batch: IngestBatch, settings: Settings) -> None:
        self._batch = batch
        self._records = otlp_records(settings)
        self._waiting: list[_SmallFile] = []
        self._bytes = self._rows = 0

    def add(self, source_id: str, path: Path, framed: Framed) -> None:
        """A file has been read, and was what it was to the end. Raises LakeUnreadable, LakeUnwritable."""
        self._waiting.append(_SmallFile(source_id, path, framed))
        if framed.block:
            self._bytes += framed.block.size_bytes
            self._rows += len(framed.block.numbers)
        if self._bytes >= BLOCK_BYTES or self._rows >= BLOCK_ROWS or len(self._waiting) >= _FILES_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Have the batch take all that wait; it must before it is written. Raises LakeUnreadable, LakeUnwritable."""
        self._take(self._waiting)
        self._waiting, self._bytes, self._rows = [], 0, 0

    def _take(self, files: Sequence[_SmallFile]) -> None:
        """Where reading breaks, at the file that does it alone."""
        if not files:
            return
        try:
            with refused_alone(files[0].path):
                received = self._records.received_together([file.framed for file in files])
        except SourceRefused as error:
            if len(files) > 1:
                half = len(files) // 2
                self._take(files[:half])
                self._take(files[half:])
            else:
                self._batch.withdraw(files[0].source_id, READER, error.reason)
        else:
            self._batch.take_together([file.source_id for file in files], received)
