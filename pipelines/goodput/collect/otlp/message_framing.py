"""Cuts a byte stream of length-prefixed messages into blocks, decompressing each message if need be."""

from collections.abc import Iterator

import zstandard

from goodput.collect.otlp.ahead import Ahead
from goodput.collect.otlp.frame_search import FrameSearch
from goodput.collect.otlp.framing import BLOCK_BYTES, BLOCK_ROWS, Framing, MessageBlock
from goodput.collect.otlp.limits import EXCERPT_CHARACTERS, Limits, bad_line, too_long
from goodput.collect.otlp.message_heads import HEAD_BYTES, LENGTH, may_begin
from goodput.collect.otlp.streams import MORE_THAN_LIMIT, ByteStream, decompress_message
from goodput.collect.stopped import Stopped

SEARCHED_BYTES = 2**25  # within which messages have to go on behind damage


class MessageFramer:
    """Blocks of messages; a message beyond the limit is a bad line, and so is damage behind which messages go on.

    Where none are found that do, that ends them.

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
        self._search = FrameSearch(framing, limits)
        self._held_bytes = 0  # of the last message, with its length: what follows shows whether it is whole
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
        """Take one message, once what follows it is found to be one too, or find the end."""
        ahead, held = self._ahead, self._held_bytes
        if not ahead.has(held + LENGTH.size):
            self._release(block)
            self._end()
            return
        (length,) = LENGTH.unpack_from(ahead.data, ahead.at + held)
        if not (self._may_begin(held) or self._may_begin(held + LENGTH.size + length)):
            self._go_on(block, length)
        elif length > self._limits.max_line_bytes:
            if self._found_within(length):
                self._go_on(block, length)
            else:
                self._release(block)
                self._pass_over(block, length)
        elif ahead.has(held + LENGTH.size + length):
            self._release(block)
            self._held_bytes = LENGTH.size + length
        elif self._search.find(ahead.data, ahead.at + held + 1, is_all=True) is None:
            self._release(block)
            self._end()
        else:
            self._go_on(block, length)

    def _may_begin(self, at: int) -> bool:
        """Whether a message with its length may stand so many bytes ahead, or the end."""
        if at > self._limits.max_line_bytes + self._held_bytes + LENGTH.size:
            return False
        is_there = self._ahead.has(at)
        self._ahead.has(at + LENGTH.size + HEAD_BYTES)
        begin = self._ahead.peek(at, LENGTH.size + HEAD_BYTES)
        if len(begin) <= LENGTH.size:
            return is_there
        return may_begin(begin[LENGTH.size :], LENGTH.unpack_from(begin)[0], self._framing)

    def _found_within(self, length: int) -> bool:
        """Whether messages follow within one of such a length, which then is none: damaged bytes may look like one."""
        ahead, held = self._ahead, self._held_bytes
        is_all = not ahead.has(held + SEARCHED_BYTES)
        found = self._search.find(ahead.data, ahead.at + held + 1, is_all=is_all)
        return found is not None and found < ahead.at + held + LENGTH.size + length

    def _release(self, block: MessageBlock) -> None:
        """Add the message that is held back, if there is one, to the block."""
        if not self._held_bytes:
            return
        self._taken_bytes += self._add(block, self._ahead.take(self._held_bytes)[LENGTH.size :])
        self._held_bytes = 0
        if self._framing.zstd_messages and self._taken_bytes > self._limits.max_decompressed_bytes:
            self._stop(MORE_THAN_LIMIT.format(self._limits.max_decompressed_bytes))

    def _go_on(self, block: MessageBlock, length: int) -> None:
        """Where what follows is no message, look for the next, which may begin within the one that is held back."""
        ahead, held = self._ahead, self._held_bytes
        is_all = not ahead.has(held + SEARCHED_BYTES)
        found = self._search.find(ahead.data, ahead.at + (LENGTH.size if held else 1), is_all=is_all)
        before = ahead.data[ahead.at : found]
        if found is None or len(before) >= held:
            before = before[held:]
            self._release(block)
        self._held_bytes = 0
        if found is None:
            nothing = f"what follows message {self._number} is none, nor the beginning of one"
            self._stop(self._too_long(length) if length > self._limits.max_line_bytes else nothing)
        elif not self._ended:
            ahead.take(len(before))
            self._number += 1
            reason = f"{len(before)} bytes that are no whole message"
            block.bad_lines.append(bad_line(self._number, reason, before[LENGTH.size :]))

    def _too_long(self, length: int) -> str:
        claim = f"message {self._number + 1} claims {length} bytes"
        return f"{claim}, more than max_line_bytes ({self._limits.max_line_bytes})"

    def _pass_over(self, block: MessageBlock, length: int) -> None:
        """A message that is too long, behind which the next begins where its length is one."""
        excerpt = self._ahead.peek(LENGTH.size, 4 * EXCERPT_CHARACTERS)
        passed = self._ahead.pass_over(LENGTH.size + length)
        if passed < LENGTH.size + length:
            self._stop(self._too_long(length), passed)
            return
        self._number += 1
        block.bad_lines.append(too_long(self._number, self._limits, excerpt))

    def _end(self) -> None:
        if self._ended:
            return
        self._ended = True
        self.stopped = self._stream.stopped
        if not self.stopped:
            self.torn_tail_bytes = self._ahead.left

    def _stop(self, reason: str, passed: int = 0) -> None:
        """Nothing more can be read, nor could what was passed over."""
        if self._ended:
            return
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
