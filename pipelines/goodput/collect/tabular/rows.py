"""Cuts the content of a text file into rows, each with the physical line it begins at.

For JSON lines a row is a line; for CSV a quoted cell may hold line ends. What cannot be a row is refused
here: too long, not UTF-8, a quote that never closes. What is in a row is `csv_rows`' and `json_rows`' work.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import polars as pl
import pyarrow as pa

from goodput.collect.received import RefusedRow
from goodput.collect.tabular.block import refused_row
from goodput.collect.tabular.content import Content
from goodput.collect.tabular.quoting import first_record, has_lone_return, record_ends
from goodput.errors import SourceRefused

BLOCK_BYTES = 16 * 2**20
BLOCK_ROWS = 2**17  # however short they are: each may be a bad one that has to be reported

_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass
class TextRows:
    """Rows of one block: `text` (LargeString) as received with its line end, and the line each begins at."""

    text: pa.LargeStringArray
    line: np.ndarray
    refused: list[RefusedRow] = field(default_factory=list)


class RowCutter:
    """Iterate over the rows of `content` in blocks; then `torn_tail_bytes` is the length of an unfinished last row.

    `is_whole(row)` decides whether a last row without line end counts. `cells` is the number of cells of a
    CSV record, None where a row is a line.
    """

    def __init__(self, content: Content, max_row_bytes: int, is_whole: Callable[[bytes], bool]) -> None:
        self.torn_tail_bytes = 0
        self.cells: int | None = None
        self._content = content
        self._max = max_row_bytes
        self._is_whole = is_whole
        self._pieces = self._without_mark(iter(content))
        self._pending = bytearray()
        self._line = 1
        self._dropping = False  # inside a line that is too long to be kept

    def header(self) -> bytes:
        """Take the first CSV record that is not blank, without its line end; empty where there is none."""
        for piece in self._pieces:
            self._pending += piece
            while record := first_record(self._pending):
                del self._pending[: len(record)]
                self._line += record.count(b"\n")
                if record.strip():
                    return self._checked_header(record.rstrip(b"\r\n"))
            self._checked_header(bytes(self._pending))
        record, self._pending = bytes(self._pending), bytearray()
        return record.strip()

    def _checked_header(self, record: bytes) -> bytes:
        if len(record) > self._max:
            raise SourceRefused(self._content.path, f"its first line is longer than {self._max} bytes")
        return record

    def __iter__(self) -> Iterator[TextRows]:
        wanted = BLOCK_BYTES
        for piece in self._pieces:
            self._pending += piece
            if len(self._pending) >= wanted:
                yield from self._cut()
                wanted = len(self._pending) + BLOCK_BYTES
        yield from self._cut()
        yield from self._last()

    def _without_mark(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        first = next(pieces, b"")
        if first.startswith(_UTF16):
            raise SourceRefused(self._content.path, "is UTF-16; it is read as UTF-8: convert it, e.g. with iconv")
        yield first.removeprefix(_BOM)
        yield from pieces

    def _cut(self) -> Iterator[TextRows]:
        """Rows that are whole in what is pending; the rest stays pending."""
        buffer = bytes(self._pending)
        if self._dropping:
            end = buffer.find(b"\n") + 1
            buffer = buffer[end:] if end else b""
            self._dropping = not end
        ends, unclosed = self._row_ends(buffer)
        used = int(ends[-1]) if len(ends) else 0
        yield from self._in_blocks(buffer, ends, unclosed)
        rest = buffer[used:]
        if len(rest) > self._max and b"\n" not in rest:
            yield self._too_long_to_keep(rest)
            rest = b""
        self._pending = bytearray(rest)

    def _row_ends(self, buffer: bytes) -> tuple[np.ndarray, list[int]]:
        """Where each whole row ends, and which rows are the first line of a quote that never closes."""
        if self.cells is not None and b'"' in buffer:
            return record_ends(buffer, self.cells, self._max)
        return np.flatnonzero(np.frombuffer(buffer, np.uint8) == ord("\n")) + 1, []

    def _last(self) -> Iterator[TextRows]:
        """What is pending at the end: perhaps rows behind an open quote, perhaps one without line end."""
        buffer = bytes(self._pending)
        if self.cells is not None and b"\n" in buffer:
            ends, unclosed = record_ends(buffer, self.cells, self._max, final=True)
            yield from self._in_blocks(buffer, ends, unclosed)
            buffer = buffer[int(ends[-1]) :]
        if self._dropping or not buffer.strip():
            return
        if len(buffer) > self._max:
            yield self._too_long_to_keep(buffer)
        elif self._content.stopped is None and self._is_whole(buffer + b"\n"):
            yield self._rows(buffer + b"\n", np.asarray([len(buffer) + 1]), [])
        else:
            self.torn_tail_bytes = len(buffer)

    def _in_blocks(self, buffer: bytes, ends: np.ndarray, unclosed: list[int]) -> Iterator[TextRows]:
        """The rows that end there, so many at a time; `unclosed` are places among them."""
        for first in range(0, len(ends), BLOCK_ROWS):
            some = ends[first : first + BLOCK_ROWS]
            begins = int(ends[first - 1]) if first else 0
            opening = [row - first for row in unclosed if first <= row < first + len(some)]
            yield self._rows(buffer[begins : int(some[-1])], some - begins, opening)

    def _too_long_to_keep(self, start: bytes) -> TextRows:
        refused = refused_row(self._line, "row_too_long", self._too_long_reason(), start)
        self._line += 1
        self._dropping = True
        return TextRows(pa.array([], pa.large_string()), np.empty(0, np.int64), [refused])

    def _too_long_reason(self) -> str:
        return f"the line is longer than limits.max_line_bytes = {self._max}"

    def _rows(self, buffer: bytes, ends: np.ndarray, unclosed: list[int]) -> TextRows:
        offsets = np.concatenate([np.zeros(1, np.int64), ends])
        text = pa.LargeBinaryArray.from_buffers(
            pa.large_binary(), len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(buffer)]
        )
        line = self._lines(buffer, ends, offsets[:-1])
        refusals: dict[int, tuple[str, str]] = {}
        for row in np.flatnonzero(np.diff(offsets) - 1 > self._max).tolist():
            refusals[row] = ("row_too_long", self._too_long_reason())
        for row in unclosed:
            refusals.setdefault(row, ("row_unclosed_quote", "a quote opens here that no later one rightly closes"))
        for row in self._lone_returns(buffer, text):
            refusals.setdefault(row, ("row_lone_return", "a carriage return stands within the row, outside quotes"))
        for row in _not_utf8(text):
            refusals.setdefault(row, ("row_not_utf8", "the row is not UTF-8"))
        if not refusals:
            return TextRows(text.cast(pa.large_string()), line)
        refused = [refused_row(int(line[r]), *why, text[r].as_py()) for r, why in sorted(refusals.items())]
        kept = np.ones(len(ends), bool)
        kept[list(refusals)] = False
        return TextRows(text.filter(pa.array(kept)).cast(pa.large_string()), line[kept], refused)

    def _lines(self, buffer: bytes, ends: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Physical line at which each row begins; moves on to the line after the last."""
        used = np.frombuffer(buffer, np.uint8, count=int(ends[-1]))
        line_ends = np.flatnonzero(used == ord("\n"))
        line: np.ndarray = self._line + np.searchsorted(line_ends, starts)
        self._line += len(line_ends)
        return line

    def _lone_returns(self, buffer: bytes, text: pa.LargeBinaryArray) -> list[int]:
        """CSV rows with a carriage return that the parser would take for a line end."""
        if self.cells is None or b"\r" not in buffer or buffer.count(b"\r") == buffer.count(b"\r\n"):
            return []
        rows = np.flatnonzero(pl.Series(text).bin.contains(b"\r").to_numpy())
        return [int(r) for r in rows if has_lone_return(text[int(r)].as_py())]


def _not_utf8(text: pa.LargeBinaryArray) -> list[int]:
    try:
        text.cast(pa.large_string())
    except pa.ArrowInvalid:
        return [row for row, received in enumerate(text.to_pylist()) if not _is_utf8(received)]
    return []


def _is_utf8(received: bytes) -> bool:
    try:
        received.decode()
    except UnicodeDecodeError:
        return False
    return True
