"""The bytes of a text file, decompressed where its first bytes say so, within the limits.

What the bytes mean is the work of the row readers.
"""

import os
from collections.abc import Callable, Iterator
from typing import BinaryIO

import pyarrow as pa

from goodput.collect.held import Readable
from goodput.collect.stopped import Stopped
from goodput.errors import SourceRefused
from goodput.settings.model import FileLimits

COMPRESSED_TWICE = "it is compressed twice: decompress it once"
OnBytes = Callable[[int], None]

_CODECS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_PLAIN_READ_BYTES = 2**20
_READ_AHEAD_BYTES = 2**16  # which Arrow does before it unpacks
_ENDS_EARLY = "Truncated"  # what Arrow says where there is no more, and not that what there is were wrong
_PACKED_READ_BYTES = 2**13  # what lies between the last read and the break of a broken stream is lost: keep it small


class Content:
    """Iterate over the pieces of a file's content; then `stopped` says why it ended early, if it did.

    `on_bytes` gets how many more bytes of the file as stored are done. Raises SourceRefused where it
    cannot be opened, or is compressed twice.
    """

    def __init__(self, path: Readable, limits: FileLimits, on_bytes: OnBytes | None = None) -> None:
        self.path = path
        self.stopped: Stopped | None = None
        self._limit = limits.max_decompressed_bytes
        self._on_bytes = on_bytes

    def __iter__(self) -> Iterator[bytes]:
        try:
            file = self.path.open("rb")
        except OSError as error:
            raise SourceRefused(self.path, f"cannot be opened: {error.strerror}") from error
        with file:
            start = file.read(4)
            file.seek(0)
            codec = next((name for magic, name in _CODECS.items() if start.startswith(magic)), None)
            pieces = self._unpacked(file, codec) if codec else self._plain(file.read)
            position = 0
            for piece in pieces:
                yield piece
                if self._on_bytes and (moved := file.tell() - position):
                    self._on_bytes(moved)
                    position += moved

    def _plain(self, read: Callable[[int], bytes]) -> Iterator[bytes]:
        read_bytes = 0
        try:
            while piece := read(_PLAIN_READ_BYTES):
                read_bytes += len(piece)
                yield piece
        except OSError as error:
            self.stopped = Stopped(f"cannot be read to its end: {error.strerror}", self._size_bytes() - read_bytes)

    def _unpacked(self, file: BinaryIO, codec: str) -> Iterator[bytes]:
        total = 0
        try:
            stream = pa.CompressedInputStream(pa.PythonFile(file, "r"), codec)
            while piece := stream.read(_PACKED_READ_BYTES):
                if not total and piece.startswith(tuple(_CODECS)):
                    raise SourceRefused(self.path, COMPRESSED_TWICE)
                total += len(piece)
                if total > self._limit:
                    reason = f"holds more than limits.max_decompressed_bytes = {self._limit}"
                    self.stopped = Stopped(reason, self._unread(file))
                    return
                yield piece
        except OSError as error:
            unread_bytes = 0 if _ENDS_EARLY in str(error) else self._unread(file)
            self.stopped = Stopped(f"the {codec} stream breaks after {total} bytes of content: {error}", unread_bytes)

    def _unread(self, file: BinaryIO) -> int:
        """At most how many bytes of the file were not unpacked: it is read ahead in whole pieces."""
        return self._size_bytes() - max(0, file.tell() - 1) // _READ_AHEAD_BYTES * _READ_AHEAD_BYTES

    def _size_bytes(self) -> int:
        with self.path.open("rb") as file:
            return file.seek(0, os.SEEK_END)
