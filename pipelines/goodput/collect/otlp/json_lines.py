"""OTLP/JSON lines to Arrow: whole blocks on pyarrow's parser, line by line only where that refuses a block.

The parser is never given what it would silently read wrongly, nor what makes it crash; see `_is_safe`.
"""

from dataclasses import dataclass, field

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from goodput.collect.otlp.canonical import NotOtlpError, TooManyError, canonical_line
from goodput.collect.otlp.fields import LOGS, METRICS, SIGNALS, SPANS
from goodput.collect.otlp.framing import BLOCK_ROWS, line_ends
from goodput.collect.otlp.json_schema import arrow_schema, snake_keys
from goodput.collect.otlp.limits import BadLine, Limits, bad_line, too_long
from goodput.collect.otlp.nested import Index
from goodput.collect.otlp.plain import NOT_PLAIN, is_plain

_BRACE = ord("{")
_MOST_LEFT_OUT = 1000  # records of one line: each is reported, and may be two bytes
# A line with a second document: pyarrow takes each as a row of its own, and dies on a bare null.
_SECOND_DOCUMENT = r"\}[ \t\r]*(?:\{|null)"
_SNAKE_KEY = "_(?:" + "|".join(sorted({key.rpartition("_")[2] for key in snake_keys()})) + r')"[ \t\r]*:'
_PLAIN, _INTEGERS_AS_STRINGS, _INTEGERS_AS_NUMBERS = (
    pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    for schema in (
        arrow_schema(integers=pa.string(), left_out=NOT_PLAIN),
        arrow_schema(integers=pa.string()),
        arrow_schema(integers=pa.int64()),
    )
)
_NOT_PLAIN_KEYS = tuple(f'"{name}"'.encode() for name in (*NOT_PLAIN, LOGS.root, METRICS.root))
_MISSING_ROOT = "an object without resourceSpans, resourceLogs or resourceMetrics"


class _AnyObject(msgspec.Struct):
    """Any single JSON object: every key is unknown and skipped."""


_ONE_OBJECT = msgspec.json.Decoder(_AnyObject)


@dataclass
class Parsed:
    """Lists of batches by root key, one element per line, with the lines' numbers; and the bad lines.

    `left_out` has line and position of bad records, which stand in the batches as null, by the name of their list.
    """

    batches: dict[str, pa.ListArray]
    numbers: Index
    bad_lines: list[BadLine] = field(default_factory=list)
    left_out: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    @property
    def lines(self) -> int:
        """How many lines there are, good and bad; a line without a root key is both an element and bad."""
        return len(np.union1d(self.numbers, [bad.line for bad in self.bad_lines]))


@dataclass
class _Lines:
    """Lines that begin with a brace and end with a newline, with their numbers."""

    data: bytes
    numbers: Index
    ends: Index  # of each line, where its newline stands

    def line(self, index: int) -> bytes:
        return self.data[self.ends[index - 1] + 1 if index else 0 : self.ends[index]]

    def all(self) -> list[bytes]:
        return self.data.split(b"\n")[:-1]


def parse_lines(data: bytes, numbers: Index, limits: Limits) -> Parsed:
    """Parse lines that all end with a newline; `numbers` gives each its number. Blank lines are no rows.

    A line that is no OTLP/JSON is a bad line and takes nothing else with it, nor does a record within a line.
    """
    bad_lines: list[BadLine] = []
    left_out: dict[str, list[tuple[int, int]]] = {}
    lines = _object_lines(data, numbers, limits, bad_lines)
    table = _parse_fast(lines) if lines.data else None
    if table is None:
        lines = _canonical(lines, bad_lines, left_out)
        table = _parse(lines, _INTEGERS_AS_STRINGS) if lines.data else None
    batches = _batches(table) if table else {}
    bad_lines += _without_root(lines, batches)
    return Parsed(batches, lines.numbers, bad_lines, left_out)


def _object_lines(data: bytes, numbers: Index, limits: Limits, bad_lines: list[BadLine]) -> _Lines:
    """Leave out blank lines, and as bad ones those that are too long or do not begin with a brace."""
    if not data or data.isspace():
        return _joined([], [])
    ends = line_ends(data)
    starts = np.concatenate([[0], ends[:-1] + 1])
    first = np.frombuffer(data, np.uint8)[starts]
    if np.all(first == _BRACE) and np.all(ends - starts <= limits.max_line_bytes):
        return _Lines(data, numbers, ends)
    kept: list[bytes] = []
    kept_numbers: list[int] = []
    for number, line in zip(numbers.tolist(), data.split(b"\n")[:-1], strict=True):
        stripped = line.strip(b" \t\r")
        if len(line) > limits.max_line_bytes:
            bad_lines.append(too_long(number, limits, line))
        elif stripped.startswith(b"{"):
            kept.append(stripped)
            kept_numbers.append(number)
        elif stripped:
            bad_lines.append(bad_line(number, "not a JSON object", line))
    return _joined(kept, kept_numbers)


def _joined(lines: list[bytes], numbers: list[int]) -> _Lines:
    data = b"".join(part for line in lines for part in (line, b"\n"))
    return _Lines(data, np.array(numbers, dtype=np.int64), line_ends(data))


def _is_safe(lines: _Lines) -> bool:
    """Whether the block is UTF-8 and no line holds a snake_case key or a second document.

    A text may well hold "}{", so where that is found each line is looked at.
    """
    offsets = pa.py_buffer(np.array([0, len(lines.data)], dtype=np.int64))
    block = pa.LargeBinaryArray.from_buffers(pa.large_binary(), 1, [None, offsets, pa.py_buffer(lines.data)])
    if _has(block, _SNAKE_KEY) or not (lines.data.isascii() or _is_utf8(block)):
        return False
    return not _has(block, _SECOND_DOCUMENT) or _each_is_one_object(lines)


def _has(block: pa.Array, pattern: str) -> bool:
    return bool(pc.match_substring_regex(block, pattern)[0].as_py())


def _is_utf8(block: pa.Array) -> bool:
    try:
        block.cast(pa.large_string())
    except pa.ArrowInvalid:
        return False
    return True


def _each_is_one_object(lines: _Lines) -> bool:
    try:
        for line in lines.all():
            _ONE_OBJECT.decode(line)
    except (msgspec.MsgspecError, RecursionError):
        return False
    return True


def _parse_fast(lines: _Lines) -> pa.Table | None:
    """Parse the block as it is, None where it needs the tolerant reader."""
    if not _is_safe(lines):
        return None
    first = lines.line(0)
    looks_plain = not any(key in first for key in _NOT_PLAIN_KEYS)
    for options in (*((_PLAIN,) if looks_plain else ()), _INTEGERS_AS_STRINGS, _INTEGERS_AS_NUMBERS):
        try:
            table = _parse(lines, options)
        except (pa.ArrowInvalid, UnicodeDecodeError):  # Arrow's message quotes the text, which need not be UTF-8
            continue
        if options is _PLAIN and not _is_plain(table):
            continue
        return table if table.num_rows == len(lines.numbers) else None
    return None


def _is_plain(table: pa.Table) -> bool:
    if any(table[signal.root].null_count < len(table) for signal in (LOGS, METRICS)):
        return False
    return all(is_plain(batches) for batches in table[SPANS.root].chunks)


def _parse(lines: _Lines, options: pj.ParseOptions) -> pa.Table:
    in_one_piece = pj.ReadOptions(use_threads=False, block_size=max(len(lines.data), 1))
    return pj.read_json(pa.BufferReader(lines.data), in_one_piece, options)


def _canonical(lines: _Lines, bad_lines: list[BadLine], left_out: dict[str, list[tuple[int, int]]]) -> _Lines:
    """The lines as the fast parser takes them, without the bad ones; both are told apart line by line."""
    room = BLOCK_ROWS
    rewritten: list[bytes] = []
    numbers: list[int] = []
    for number, line in zip(lines.numbers.tolist(), lines.all(), strict=True):
        try:
            canonical = canonical_line(line, min(room, _MOST_LEFT_OUT))
            rewritten.append(canonical.line)
            numbers.append(number)
            room -= len(canonical.left_out)
            for one in canonical.left_out:
                bad_lines.append(bad_line(number, one.reason, one.content, one.position))
                left_out.setdefault(one.records, []).append((number, one.position))
        except NotOtlpError as error:
            bad_lines.append(bad_line(number, str(error), line))
            if isinstance(error, TooManyError):  # leaving out as many of each line would take a hundred times as long
                room -= min(room, _MOST_LEFT_OUT)
    return _joined(rewritten, numbers)


def _batches(table: pa.Table) -> dict[str, pa.ListArray]:
    """The signals that are there, each as one array with an element per line."""
    columns = {signal.root: table[signal.root] for signal in SIGNALS}
    return {
        root: pa.concat_arrays(column.chunks) if column.num_chunks != 1 else column.chunk(0)
        for root, column in columns.items()
        if column.null_count < len(column)
    }


def _without_root(lines: _Lines, batches: dict[str, pa.ListArray]) -> list[BadLine]:
    rooted = np.zeros(len(lines.numbers), dtype=np.bool_)
    for batch in batches.values():
        rooted |= batch.is_valid().to_numpy(zero_copy_only=False)
    rootless = np.flatnonzero(~rooted).tolist()
    return [bad_line(int(lines.numbers[index]), _MISSING_ROOT, lines.line(index)) for index in rootless]
