"""The grammar of CSV (RFC 4180): where a record ends when quoted cells may hold line ends.

A stray quote means what it means to the parser behind `csv_rows`: only one that begins a cell opens a quote.
"""

import re

import numpy as np

_QUOTED = rb'"(?:[^"]++|"")*+"'
_BARE = rb'[^",\n][^,\n]*+'
_CELL = rb"(?:" + _QUOTED + rb"[^,\n]*+|" + _BARE + rb"|)"
_STRICT_CELL = rb"(?:" + _QUOTED + rb"(?=,|\r?\n)|" + _BARE + rb"|)"
_RECORD = re.compile(_CELL + rb"(?:," + _CELL + rb")*+\n")
_STRICT_RECORD = re.compile(_STRICT_CELL + rb"(?:," + _STRICT_CELL + rb")*+\r?\n")
_CELL_AND_END = re.compile(_CELL + rb"[,\n]")
_QUOTED_CELL = re.compile(rb"(?:\A|(?<=,))" + _QUOTED)
_LONE_RETURN = re.compile(rb"\r(?!\n)")


def first_record(buffer: bytes | bytearray) -> bytes:
    """The record that the buffer begins with, its line end included; empty where it is not whole yet."""
    match = _RECORD.match(buffer)
    return bytes(match.group()) if match else b""


def count_cells(record: bytes) -> int:
    """Number of cells of one record that ends in a line end; 0 where a quote in it is still open."""
    return len(_CELL_AND_END.findall(record)) if _RECORD.fullmatch(record) else 0


def has_lone_return(record: bytes) -> bool:
    """Whether a carriage return that is no part of a line end stands outside quotes."""
    return bool(_LONE_RETURN.search(_QUOTED_CELL.sub(b"", record)))


def record_ends(buffer: bytes, cells: int, max_bytes: int, *, final: bool = False) -> tuple[np.ndarray, list[int]]:
    """Where each whole record ends, and which are only the first line of a quote that never closes.

    A stray quote must not swallow the good rows that follow: a record goes over several lines only where it is
    well formed and has as many `cells` as the header. `final`: nothing comes after the buffer.
    """
    ends: list[int] = []
    unclosed: list[int] = []
    at = 0
    while at < len(buffer):
        match = _RECORD.match(buffer, at)
        line_end = buffer.find(b"\n", at) + 1
        end = match.end() if match else 0
        if not match:
            if not line_end or not (final or len(buffer) - at > max_bytes):
                break
            end = line_end
            unclosed.append(len(ends))
        elif end != line_end and not _may_span_lines(buffer[at:end], cells, max_bytes):
            end = line_end
            unclosed.append(len(ends))
        ends.append(end)
        at = end
    return np.asarray(ends, np.int64), unclosed


def _may_span_lines(record: bytes, cells: int, max_bytes: int) -> bool:
    well_formed = len(record) - 1 <= max_bytes and _STRICT_RECORD.fullmatch(record)
    return bool(well_formed) and count_cells(record) == cells
