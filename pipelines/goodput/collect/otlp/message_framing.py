"""Cuts a byte stream of length-prefixed messages into blocks, decompressing each message if need be."""

from collections.abc import Iterator

import zstandard

from goodput.collect.otlp.ahead import Ahead
from goodput.collect.otlp.framing import BLOCK_BYTES, BLOCK_ROWS, Framing, MessageBlock
from goodput.collect.otlp.limits import EXCERPT_CHARACTERS, Limits, bad_line, too_long
from goodput.collect.otlp.message_heads import HEAD_BYTES, LENGTH, may_begin
from goodput.collect.otlp.streams import MORE_THAN_LIMIT, ByteStream, decompress_message
from goodput.collect.stopped import Stopped


class MessageFramer:
    """Blocks of messages; a message beyond the limit is a bad line, and what is no message ends them.

    Afterwards `torn_tail_bytes` is the length of an unfinished last message.
    """

    def __init__(
        self,
        stream: ByteStream,
        limits: Limits,
        framing: Framing,
        block_bytes: int = BLOCK_BYTES,
    ) -> None:
        self.torn_tail_bytes = 0
        self.stopped: Stopped | None = None
        self._stream = stream
        self._limits = limits
        self._framing = framing
        self._block_bytes = block_bytes
        self._ahead = Ahead(stream, block_bytes)
        self._ended = False
        self._number = 0
        self._taken_bytes = 0

    def __iter__(self) -> Iterator[MessageBlock]:
        while not self._ended:
            block = self._block()
            if block.messages or block.bad_lines:
                yield block

    def _block(self) -> MessageBlock:
        """As many messages as come to a block's size of them decompressed."""
        block = MessageBlock()
        end_bytes = self._taken_bytes + self._block_bytes
        last_number = self._number + BLOCK_ROWS
        while not self._ended and self._taken_bytes < end_bytes and self._number < last_number:
            self._take(block)
        return block

    def _take(self, block: MessageBlock) -> None:
        """Take one message, or find the end."""
        ahead = self._ahead
        if not ahead.has(LENGTH.size):
            self._end()
            return
        (length,) = LENGTH.unpack_from(ahead.data, ahead.at)
        if length > self._limits.max_line_bytes:
            self._pass_over(block, length)
        elif ahead.has(LENGTH.size + length):
            self._taken_bytes += self._add(block, ahead.take(LENGTH.size + length)[LENGTH.size :])
            if self._framing.zstd_messages and self._taken_bytes > self._limits.max_decompressed_bytes:
                self._stop(MORE_THAN_LIMIT.format(self._limits.max_decompressed_bytes))
        elif self._may_begin(length):
            self._end()
        else:
            self._stop(f"what follows message {self._number} is none, nor the beginning of one")

    def _may_begin(self, length: int) -> bool:
        self._ahead.has(LENGTH.size + HEAD_BYTES)
        return may_begin(self._ahead.peek(LENGTH.size, HEAD_BYTES), length, self._framing)

    def _pass_over(self, block: MessageBlock, length: int) -> None:
        """A message that is too long, behind which the next begins where its length is one."""
        claim = f"message {self._number + 1} claims {length} bytes"
        reason = f"{claim}, more than max_line_bytes ({self._limits.max_line_bytes})"
        if not self._may_begin(length):
            self._stop(reason)
            return
        excerpt = self._ahead.peek(LENGTH.size, 4 * EXCERPT_CHARACTERS)
        passed = self._ahead.pass_over(LENGTH.size + length)
        if passed < LENGTH.size + length:
            self._stop(reason, passed)
            return
        self._number += 1
        block.bad_lines.append(too_long(self._number, self._limits, excerpt))

    def _end(self) -> None:
        self._ended = True
        self.stopped = self._stream.stopped
        if not self.stopped:
            self.torn_tail_bytes = self._ahead.left

    def _stop(self, reason: str, passed: int = 0) -> None:
        """Nothing more can be read, nor could what was passed over."""
        self._ended = True
        unread_bytes = passed + self._ahead.pass_over()
        self.stopped = Stopped(
            reason, unread_bytes + (self._stream.stopped.unread_bytes if self._stream.stopped else 0)
        )

    def _add(self, block: MessageBlock, message: bytes) -> int:
        """Add one message to the block; returns how many bytes it is decompressed."""
        self._number += 1
        whole: bytes | None = message
        if self._framing.zstd_messages:
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
