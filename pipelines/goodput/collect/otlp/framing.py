"""Cuts a byte stream into blocks of whole lines, or of length-prefixed messages. Nothing is parsed here but lengths."""

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import zstandard

from goodput.collect.otlp.fields import Signal
from goodput.collect.otlp.limits import BadLine, Limits, bad_line, too_long
from goodput.collect.otlp.streams import MORE_THAN_LIMIT, ByteStream, Compression, decompress_message

BOM = b"\xef\xbb\xbf"
LENGTH = struct.Struct(">I")
BLOCK_BYTES = 8 * 2**20


@dataclass(frozen=True)
class Framing:
    """How a file holds OTLP: its compression, what parts its messages, their encoding, and the first one's signal."""

    compression: Compression
    parted_by: Literal["lines", "lengths"]
    encoding: Literal["json", "protobuf"]
    zstd_messages: bool = False  # each message is a zstd frame of its own
    signal: Signal | None = None  # protobuf does not say which signal it is


@dataclass
class LineBlock:
    """Whole lines, each ended by a newline; `first_line` is the 1-based number of the first, blank ones counted."""

    data: bytes
    first_line: int
    lines: int
    bad_lines: list[BadLine] = field(default_factory=list)


@dataclass
class MessageBlock:
    """Messages and their 1-based numbers."""

    messages: list[bytes] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    bad_lines: list[BadLine] = field(default_factory=list)


class LineFramer:
    """Blocks of whole lines; afterwards `torn_tail_bytes` is the length of a last line that is not finished."""

    def __init__(self, stream: ByteStream, limits: Limits, block_bytes: int = BLOCK_BYTES) -> None:
        self.torn_tail_bytes = 0
        self.stopped: str | None = None
        self._stream = stream
        self._limits = limits
        self._block_bytes = block_bytes
        self._line = 1
        self._parts: list[bytes] = []  # of a line that has not ended yet
        self._parts_bytes = 0
        self._bad_lines: list[BadLine] = []

    def __iter__(self) -> Iterator[LineBlock]:
        chunk = self._stream.read(self._block_bytes).removeprefix(BOM)
        while chunk:
            block = self._cut(chunk)
            if block:
                yield block
            chunk = self._stream.read(self._block_bytes)
        self.stopped = self._stream.stopped
        if self._line_is_too_long():
            self._end_long_line()
        rest = b"" if self.stopped else b"".join(self._parts)
        whole = _is_whole(rest)
        if whole or self._bad_lines:
            yield self._block(rest + b"\n" if whole else b"")
        if rest.strip() and not whole:
            self.torn_tail_bytes = len(rest)

    def _cut(self, chunk: bytes) -> LineBlock | None:
        if self._line_is_too_long():
            newline = chunk.find(b"\n") + 1
            if not newline:
                return None
            self._end_long_line()
            chunk = chunk[newline:]
        end = chunk.rfind(b"\n") + 1
        if not end:
            self._keep(chunk)
            return None
        whole = b"".join([*self._parts, memoryview(chunk)[:end]])
        self._parts, self._parts_bytes = [], 0
        self._keep(chunk[end:])
        return self._block(whole)

    def _keep(self, part: bytes) -> None:
        if part:
            self._parts.append(part)
            self._parts_bytes += len(part)

    def _line_is_too_long(self) -> bool:
        return self._parts_bytes > self._limits.max_line_bytes

    def _end_long_line(self) -> None:
        self._bad_lines.append(too_long(self._line, self._limits, self._parts[0]))
        self._parts, self._parts_bytes = [], 0
        self._line += 1

    def _block(self, data: bytes) -> LineBlock:
        lines = int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord("\n")))
        block = LineBlock(data, self._line, lines, self._bad_lines)
        self._bad_lines = []
        self._line += lines
        return block


def _is_whole(line: bytes) -> bool:
    """Whether a last line without a newline is a JSON document, not the beginning of one."""
    try:
        json.loads(line.decode())
    except (ValueError, RecursionError):
        return False
    return True


class MessageFramer:
    """Blocks of length-prefixed messages; a length beyond the limit ends the file, as nothing after it can be found."""

    def __init__(
        self,
        stream: ByteStream,
        limits: Limits,
        *,
        zstd_messages: bool,
        block_bytes: int = BLOCK_BYTES,
    ) -> None:
        self.torn_tail_bytes = 0
        self.stopped: str | None = None
        self._stream = stream
        self._limits = limits
        self._zstd_messages = zstd_messages
        self._block_bytes = block_bytes
        self._number = 0
        self._taken_bytes = 0

    def __iter__(self) -> Iterator[MessageBlock]:
        rest = b""
        while chunk := self._stream.read(max(self._block_bytes, self._missing(rest))):
            data = rest + chunk
            at = 0
            while at < len(data) and not self.stopped:
                block, at_end = self._take(data, at)
                if block.messages or block.bad_lines:
                    yield block
                if at_end == at:
                    break
                at = at_end
            rest = data[at:]
            if self.stopped:
                return
        self.stopped = self._stream.stopped
        if not self.stopped:
            self.torn_tail_bytes = len(rest)

    def _missing(self, rest: bytes) -> int:
        return LENGTH.unpack_from(rest)[0] + LENGTH.size - len(rest) if len(rest) >= LENGTH.size else 0

    def _take(self, data: bytes, at: int) -> tuple[MessageBlock, int]:
        """Take whole messages from `at` on, up to a block's size of them decompressed; returns where they end."""
        block = MessageBlock()
        taken_bytes = 0
        while at + LENGTH.size <= len(data) and taken_bytes < self._block_bytes:
            (length,) = LENGTH.unpack_from(data, at)
            if length > self._limits.max_line_bytes:
                limit = self._limits.max_line_bytes
                self.stopped = f"message {self._number + 1} claims {length} bytes, more than max_line_bytes ({limit})"
                break
            end = at + LENGTH.size + length
            if end > len(data):
                break
            taken_bytes += self._add(block, data[at + LENGTH.size : end])
            at = end
        self._taken_bytes += taken_bytes
        if self._zstd_messages and self._taken_bytes > self._limits.max_decompressed_bytes:
            self.stopped = MORE_THAN_LIMIT.format(self._limits.max_decompressed_bytes)
        return block, at

    def _add(self, block: MessageBlock, message: bytes) -> int:
        """Add one message to the block; returns how many bytes it is decompressed."""
        self._number += 1
        whole: bytes | None = message
        if self._zstd_messages:
            try:
                whole = decompress_message(message, self._limits.max_line_bytes)
            except zstandard.ZstdError as error:
                block.bad_lines.append(bad_line(self._number, f"corrupt zstd message: {error}", message))
                return len(message)
        if whole is None:
            block.bad_lines.append(too_long(self._number, self._limits, message))
        else:
            block.messages.append(whole)
            block.numbers.append(self._number)
        return self._limits.max_line_bytes if whole is None else len(whole)
