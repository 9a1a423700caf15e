"""The bytes of a file, decompressed piece by piece within limits. What the bytes mean is not known here."""

import os
import zlib
from collections.abc import Callable
from typing import BinaryIO, Literal, Protocol

import zstandard

from goodput.collect.otlp.limits import Limits
from goodput.collect.stopped import Stopped

Compression = Literal["none", "gzip", "zstd"]
GZIP_MAGIC, ZSTD_MAGIC = b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"
_ZSTD_SKIPPABLE_MAGICS = tuple(bytes([0x50 + low, 0x2A, 0x4D, 0x18]) for low in range(16))
# A zstd block of 4 bytes may stand for 128 KiB: what one piece decompresses to stays below 64 MiB.
PIECE_BYTES = 2048
_RATIO_FROM_BYTES = 64 * 2**20
MORE_THAN_LIMIT = "decompresses to more than max_decompressed_bytes ({})"


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


def compression_of(head: bytes) -> Compression:
    """How a file that begins with these bytes is compressed, by its magic number."""
    if head.startswith(GZIP_MAGIC):
        return "gzip"
    return "zstd" if head.startswith((ZSTD_MAGIC, *_ZSTD_SKIPPABLE_MAGICS)) else "none"


class ByteStream:
    """Reads a file, decompressing it; `stopped` says why it ended early, `truncated` that it broke off."""

    def __init__(
        self,
        file: BinaryIO,
        compression: Compression,
        limits: Limits,
        on_bytes: Callable[[int], None] | None = None,
    ) -> None:
        self.stopped: Stopped | None = None
        self.truncated = False
        self._file = file
        self._compression = compression
        self._limits = limits
        self._on_bytes = on_bytes
        self._decompressor: _Decompressor | None = None
        self._pending = b""
        self._bytes_in = 0
        self._bytes_out = 0

    def read(self, size: int) -> bytes:
        """At least `size` bytes, and a little more where decompression gives it; fewer only at the end."""
        if self._compression == "none":
            return self._read_file(size)
        pieces: list[bytes] = []
        length = 0
        while length < size:
            piece = self._decompress_some()
            if piece is None:
                break
            pieces.append(piece)
            length += len(piece)
        return b"".join(pieces)

    def _read_file(self, size: int) -> bytes:
        data = self._file.read(size)
        self._bytes_in += len(data)
        if self._on_bytes and data:
            self._on_bytes(len(data))
        return data

    def _decompress_some(self) -> bytes | None:
        if self.stopped:
            return None
        data = self._pending or self._read_file(PIECE_BYTES)
        self._pending = b""
        if self._decompressor is None and self._compression == "gzip":
            data = data.lstrip(b"\0") or self._past_padding(data)
        if not data:
            self.truncated = self._decompressor is not None
            return None
        try:
            piece = self._feed(data)
        except (zlib.error, zstandard.ZstdError) as error:
            reason = f"{self._compression} data is corrupt near byte {self._bytes_in}: {error}"
            self.stopped = self._stopped_in(data, reason)
            return None
        return self._within_limits(piece, data)

    def _past_padding(self, data: bytes) -> bytes:
        """The next bytes that are no zero padding, which may follow the last gzip member."""
        while data and not data.strip(b"\0"):
            data = self._read_file(PIECE_BYTES)
        return data.lstrip(b"\0")

    def _feed(self, data: bytes) -> bytes:
        decompressor = self._decompressor or new_decompressor(self._compression)
        piece = decompressor.decompress(data)
        ended = decompressor.eof
        self._pending = decompressor.unused_data if ended else b""
        self._decompressor = None if ended else decompressor
        return piece

    def _within_limits(self, piece: bytes, data: bytes) -> bytes:
        """As much of the piece as the limit leaves; what came before a bomb is kept."""
        room = self._limits.max_decompressed_bytes - self._bytes_out
        self._bytes_out += len(piece)
        if len(piece) > room:
            self.stopped = self._stopped_in(data, MORE_THAN_LIMIT.format(self._limits.max_decompressed_bytes))
        elif self._bytes_out > max(_RATIO_FROM_BYTES, self._bytes_in * self._limits.max_ratio):
            reason = f"decompresses to more than {self._limits.max_ratio} times its size"
            self.stopped = self._stopped_in(data, reason)
        return piece[:room]

    def _stopped_in(self, data: bytes, reason: str) -> Stopped:
        """Stopped while these bytes of the file were decompressed."""
        return Stopped(reason, self._file.seek(0, os.SEEK_END) - self._bytes_in + len(data))


def new_decompressor(compression: Compression) -> _Decompressor:
    """Make a decompressor for one gzip member or one zstd frame."""
    if compression == "gzip":
        return zlib.decompressobj(wbits=31)
    decompressor: _Decompressor = zstandard.ZstdDecompressor().decompressobj()
    return decompressor


def decompress_message(data: bytes, max_bytes: int) -> bytes | None:
    """Decompress one zstd frame; None where it gives more than `max_bytes`. Raises zstandard.ZstdError."""
    decompressor = new_decompressor("zstd")
    content = _decompress_up_to(decompressor, data, max_bytes)
    if len(content) > max_bytes:
        return None
    if not decompressor.eof:
        raise zstandard.ZstdError("the frame ends early")
    return content


def decompress_head(data: bytes, size: int) -> bytes:
    """The first bytes of a zstd frame, or of what there is of one. Raises zstandard.ZstdError."""
    return _decompress_up_to(new_decompressor("zstd"), data, size)[:size]


def _decompress_up_to(decompressor: _Decompressor, data: bytes, size: int) -> bytes:
    pieces: list[bytes] = []
    length = start = 0
    while start < len(data) and length <= size and not decompressor.eof:
        pieces.append(decompressor.decompress(data[start : start + PIECE_BYTES]))
        length += len(pieces[-1])
        start += PIECE_BYTES
    return b"".join(pieces)
