"""Cuts a byte stream of length-prefixed messages into blocks, decompressing each message if need be."""

import struct
from collections.abc import Iterator

import zstandard

from goodput.collect.otlp.framing import BLOCK_BYTES, BLOCK_ROWS, MessageBlock
from goodput.collect.otlp.limits import Limits, bad_line, too_long
from goodput.collect.otlp.streams import MORE_THAN_LIMIT, ByteStream, decompress_message

LENGTH = struct.Struct(">I")


class MessageFramer:
    """Blocks of messages; a length beyond the limit ends them, as nothing after it can be found."""

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
        """Take whole messages from `at` on, a block's size of them decompressed; returns where they end."""
        block = MessageBlock()
        taken_bytes = 0
        last_number = self._number + BLOCK_ROWS
        while at + LENGTH.size <= len(data) and taken_bytes < self._block_bytes and self._number < last_number:
            (length,) = LENGTH.unpack_from(data, at)
            if length > self._limits.max_line_bytes:
                claim = f"message {self._number + 1} claims {length} bytes"
                self.stopped = f"{claim}, more than max_line_bytes ({self._limits.max_line_bytes})"
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
