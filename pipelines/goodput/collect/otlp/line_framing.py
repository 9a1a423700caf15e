"""Cuts a byte stream into blocks of whole lines, which are not looked into."""

import json
from collections.abc import Iterator

from goodput.collect.otlp.framing import BLOCK_BYTES, BLOCK_ROWS, LineBlock, line_ends
from goodput.collect.otlp.limits import BadLine, Limits, too_long
from goodput.collect.otlp.streams import ByteStream
from goodput.collect.stopped import Stopped

BOM = b"\xef\xbb\xbf"


class LineFramer:
    """Blocks of whole lines; afterwards `torn_tail_bytes` is the length of an unfinished last line."""

    def __init__(self, stream: ByteStream, limits: Limits, block_bytes: int = BLOCK_BYTES) -> None:
        self.torn_tail_bytes = 0
        self.stopped: Stopped | None = None
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
            yield from self._cut(chunk)
            chunk = self._stream.read(self._block_bytes)
        self.stopped = self._stream.stopped
        if self._line_is_too_long():
            self._end_long_line()
        rest = b"" if self.stopped else b"".join(self._parts)
        whole = _is_whole(rest)
        if whole or self._bad_lines:
            yield from self._blocks(rest + b"\n" if whole else b"")
        if rest.strip() and not whole:
            self.torn_tail_bytes = len(rest)

    def _cut(self, chunk: bytes) -> Iterator[LineBlock]:
        if self._line_is_too_long():
            newline = chunk.find(b"\n") + 1
            if not newline:
                return
            self._end_long_line()
            chunk = chunk[newline:]
        end = chunk.rfind(b"\n") + 1
        whole = b"".join([*self._parts, memoryview(chunk)[:end]]) if end else b""
        if whole:
            self._parts, self._parts_bytes = [], 0
        self._keep(chunk[end:])
        if whole:
            yield from self._blocks(whole)

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

    def _blocks(self, data: bytes) -> Iterator[LineBlock]:
        newlines = line_ends(data)
        for first in range(0, max(len(newlines), 1), BLOCK_ROWS):
            ends = newlines[first : first + BLOCK_ROWS]
            start = int(newlines[first - 1]) + 1 if first else 0
            part = data if len(ends) == len(newlines) else data[start : int(ends[-1]) + 1]
            yield LineBlock(part, self._line, len(ends), self._bad_lines)
            self._bad_lines = []
            self._line += len(ends)


def _is_whole(line: bytes) -> bool:
    """Whether a last line without a newline is a JSON document, not the beginning of one."""
    try:
        json.loads(line.decode())
    except (ValueError, RecursionError):
        return False
    return True
