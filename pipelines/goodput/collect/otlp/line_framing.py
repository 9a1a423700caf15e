"""Cuts a byte stream into blocks of whole lines, which are not looked into."""

import json
from collections.abc import Iterator

import numpy as np

from goodput.collect.otlp.framing import BLOCK_BYTES, LineBlock
from goodput.collect.otlp.limits import BadLine, Limits, too_long
from goodput.collect.otlp.streams import ByteStream

BOM = b"\xef\xbb\xbf"


class LineFramer:
    """Blocks of whole lines; afterwards `torn_tail_bytes` is the length of an unfinished last line."""

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
