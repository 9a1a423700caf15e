"""Cuts the content of a text file into rows, each with the physical line it begins at.

For JSON lines a row is a line; for CSV a quoted cell may hold line ends. What cannot be a row is refused
here: too long, not UTF-8, a quote that never closes. What is in a row is `csv_rows`' and `json_rows`' work.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import polars as pl
import pyarrow as pa

from goodput.collect.received import RefusedRow
from goodput.collect.tabular.block import refused_row
from goodput.collect.tabular.content import Content
from goodput.errors import SourceRefused

BLOCK_BYTES = 16 * 2**20

_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_CELL = rb'(?:"(?:[^"]++|"")*+"[^,\n]*+|[^",\n][^,\n]*+|)'
_RECORD = re.compile(_CELL + rb"(?:," + _CELL + rb")*+\n")
_CELLS = re.compile(_CELL + rb"[,\n]")
_QUOTED = re.compile(rb'"(?:[^"]++|"")*+"')
_LONE_RETURN = re.compile(rb"\r(?!\n)")


@dataclass
class Rows:
    """Rows of one block: `text` (LargeString) as received with its line end, and the line each begins at."""

    text: pa.LargeStringArray
    line: np.ndarray
    refused: list[RefusedRow] = field(default_factory=list)


def count_cells(record: bytes) -> int:
    """Number of cells of one CSV record that ends in a line end."""
    return len(_CELLS.findall(record))


class RowCutter:
    """Iterate over the rows of `content` in blocks; then `torn_tail_bytes` tells of an unfinished last row.

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
            while match := _RECORD.match(self._pending):
                record = match.group()
                del match  # a match holds the buffer, which could then not shrink
                del self._pending[: len(record)]
                self._line += record.count(b"\n")
                if record.strip():
                    return record.rstrip(b"\r\n")
            if len(self._pending) > self._max:
                raise SourceRefused(self._content.path, f"its first line is longer than {self._max} bytes")
        record, self._pending = bytes(self._pending), bytearray()
        return record.strip()

    def __iter__(self) -> Iterator[Rows]:
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
            raise SourceRefused(
                self._content.path, "is UTF-16; it is read as UTF-8: convert it, e.g. with iconv"
            )
        yield first.removeprefix(_BOM)
        yield from pieces

    def _cut(self) -> Iterator[Rows]:
        """Rows that are whole in what is pending; the rest stays pending."""
        buffer = bytes(self._pending)
        if self._dropping:
            end = buffer.find(b"\n") + 1
            buffer = buffer[end:] if end else b""
            self._dropping = not end
        ends, unclosed = self._row_ends(buffer)
        used = int(ends[-1]) if len(ends) else 0
        if used:
            yield self._rows(buffer, ends, unclosed)
        rest = buffer[used:]
        if len(rest) > self._max and b"\n" not in rest:
            yield self._too_long_to_keep(rest)
            rest = b""
        self._pending = bytearray(rest)

    def _row_ends(self, buffer: bytes) -> tuple[np.ndarray, list[int]]:
        """Where each whole row ends, and which rows are the first line of a quote that never closes."""
        if self.cells is not None and b'"' in buffer:
            return self._record_ends(buffer, self.cells)
        return np.flatnonzero(np.frombuffer(buffer, np.uint8) == ord("\n")) + 1, []

    def _record_ends(self, buffer: bytes, cells: int, final: bool = False) -> tuple[np.ndarray, list[int]]:
        ends: list[int] = []
        unclosed: list[int] = []
        at = 0
        while at < len(buffer):
            match = _RECORD.match(buffer, at)
            line_end = buffer.find(b"\n", at) + 1
            end = match.end() if match else 0
            if not match:
                if not line_end or not (final or len(buffer) - at > self._max):
                    break
                end = line_end
                unclosed.append(len(ends))
            elif end != line_end and (end - at > self._max or count_cells(buffer[at:end]) != cells):
                end = line_end  # a stray quote must not swallow the good rows that follow
                unclosed.append(len(ends))
            ends.append(end)
            at = end
        return np.asarray(ends, np.int64), unclosed

    def _last(self) -> Iterator[Rows]:
        """What is pending at the end: perhaps rows behind an open quote, perhaps one without line end."""
        buffer = bytes(self._pending)
        if self.cells is not None and b"\n" in buffer:
            ends, unclosed = self._record_ends(buffer, self.cells, final=True)
            yield self._rows(buffer, ends, unclosed)
            buffer = buffer[int(ends[-1]) :]
        if self._dropping or not buffer.strip():
            return
        if len(buffer) > self._max:
            yield self._too_long_to_keep(buffer)
        elif self._content.stopped is None and self._is_whole(buffer + b"\n"):
            yield self._rows(buffer + b"\n", np.asarray([len(buffer) + 1]), [])
        else:
            self.torn_tail_bytes = len(buffer)

    def _too_long_to_keep(self, start: bytes) -> Rows:
        refused = refused_row(self._line, "row_too_long", self._too_long_reason(), start)
        self._line += 1
        self._dropping = True
        return Rows(pa.array([], pa.large_string()), np.empty(0, np.int64), [refused])

    def _too_long_reason(self) -> str:
        return f"the line is longer than limits.max_line_bytes = {self._max}"

    def _rows(self, buffer: bytes, ends: np.ndarray, unclosed: list[int]) -> Rows:
        offsets = np.concatenate([np.zeros(1, np.int64), ends])
        text = pa.LargeBinaryArray.from_buffers(
            pa.large_binary(), len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(buffer)]
        )
        line = self._lines(buffer, ends, offsets[:-1])
        refusals: dict[int, tuple[str, str]] = {}
        for row in np.flatnonzero(np.diff(offsets) - 1 > self._max).tolist():
            refusals[row] = ("row_too_long", self._too_long_reason())
        for row in unclosed:
            refusals.setdefault(
                row, ("row_unclosed_quote", "a quote opens here that no later one rightly closes")
            )
        for row in self._lone_returns(buffer, text):
            refusals.setdefault(
                row, ("row_lone_return", "a carriage return stands within the row, outside quotes")
            )
        for row in _not_utf8(text):
            refusals.setdefault(row, ("row_not_utf8", "the row is not UTF-8"))
        if not refusals:
            return Rows(text.cast(pa.large_string()), line)
        refused = [refused_row(int(line[r]), *why, text[r].as_py()) for r, why in sorted(refusals.items())]
        kept = np.ones(len(ends), bool)
        kept[list(refusals)] = False
        return Rows(text.filter(pa.array(kept)).cast(pa.large_string()), line[kept], refused)

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
        return [int(r) for r in rows if _LONE_RETURN.search(_QUOTED.sub(b"", text[int(r)].as_py()))]


def _not_utf8(text: pa.LargeBinaryArray) -> list[int]:
    try:
        text.cast(pa.large_string())
    except pa.ArrowInvalid:
        return [int(row) for row in np.flatnonzero(pl.Series(text).cast(pl.String, strict=False).is_null())]
    return []
