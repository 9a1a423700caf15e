"""Answers for machines: CSV, JSON and Parquet with every digit, to standard output or to a whole file."""

import csv
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import duckdb

from goodput.ask.cells import iso, plain_lines
from goodput.errors import OutputUnwritable

if TYPE_CHECKING:
    import msgspec

BATCH_ROWS = 10_000

Batches = Iterable[Sequence[tuple[object, ...]]]


class Format(StrEnum):
    """How an answer is written."""

    table = "table"
    csv = "csv"
    json = "json"
    parquet = "parquet"


class _Terminal:
    """Standard output that somebody reads as it comes: names of telemetry must not steer it."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, content: bytes) -> int:
        self._stream.write(plain_lines(content.decode()).encode())
        return len(content)


@contextmanager
def destination(output: Path | None) -> Iterator[BinaryIO]:
    """Where an answer goes: standard output, or a file that is renamed into place when it is whole.

    Raises OutputUnwritable.
    """
    if output is None:
        sys.stdout.flush()
        yield cast(BinaryIO, _Terminal(sys.stdout.buffer)) if sys.stdout.isatty() else sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    is_device = output.exists() and not output.is_file()
    target = output if is_device else output.with_name(f".{output.name}.part")
    try:
        with target.open("wb") as stream:
            yield stream
        if not is_device:
            target.replace(output)
    except OSError as error:
        raise OutputUnwritable(output, error) from error
    finally:
        if not is_device:
            target.unlink(missing_ok=True)


def batches(connection: duckdb.DuckDBPyConnection) -> Batches:
    """Rows of the query that the connection has just executed, as they come."""
    while batch := connection.fetchmany(BATCH_ROWS):
        yield batch


def write_csv(names: Sequence[str], types: Sequence[str], found: Batches, stream: BinaryIO) -> None:
    """Write RFC 4180 CSV but with LF: a header, times in ISO 8601, nested values as JSON, nothing for NULL.

    LF is what DuckDB, pandas and PostgreSQL write, and what cut, sort and a shell's $(...) take: to them a CR is data.

    Text that a spreadsheet would take for a formula has an apostrophe before it: names come from whoever sends
    telemetry. `types` holds DuckDB's type id of each column.
    """
    spell = {index: _SPELLED[kind] for index, kind in enumerate(types) if kind in _SPELLED}
    stream.write(_csv_lines([[_no_formula(name) for name in names]]))
    for batch in found:
        stream.write(_csv_lines(_spelled(batch, spell) if spell else batch))


@cache
def encoder() -> "msgspec.json.Encoder":
    """JSON for answers: decimals as numbers, NaN and infinities as null."""
    import msgspec  # noqa: PLC0415  (a table does not need it)

    return msgspec.json.Encoder(decimal_format="number", enc_hook=str)


def write_json(names: Sequence[str], found: Batches, stream: BinaryIO) -> None:
    """Write one JSON array with an object per row: times in ISO 8601, null for NULL, NaN and infinities."""
    keys, encode = _distinct(names), encoder().encode
    start = b"[\n"
    for batch in found:
        encoded = (encode(dict(zip(keys, row, strict=True))) for row in batch)
        stream.write(start + b",\n".join(encoded))
        start = b",\n"
    stream.write(b"\n]\n" if start == b",\n" else b"[]\n")


def write_parquet(relation: duckdb.DuckDBPyRelation, stream: BinaryIO) -> None:
    """Write a query's rows as Parquet, a record batch at a time."""
    import pyarrow.parquet as pq  # noqa: PLC0415  (a sixth of a second that no other format needs)

    with relation.to_arrow_reader() as reader:
        schema = reader.schema
        named = schema.empty_table().rename_columns(_distinct(schema.names)).schema
        with pq.ParquetWriter(stream, named, compression="zstd") as writer:
            for batch in reader:
                writer.write_batch(batch.rename_columns(named.names))


def _distinct(names: Sequence[str]) -> list[str]:
    """Column names without repetition: the second `n` is `n_1`, as keys must not hide one another."""
    taken: list[str] = []
    for name in names:
        free, count = name, 0
        while free in taken:
            count += 1
            free = f"{name}_{count}"
        taken.append(free)
    return taken


def _csv_lines(found: Iterable[Sequence[object]]) -> bytes:
    lines = _RowWriter()
    csv.writer(lines).writerows(found)
    return "".join(lines.written).encode()


class _RowWriter:
    """Takes rows of the csv module, which quotes what holds either end of line, and ends each by LF alone."""

    def __init__(self) -> None:
        self.written: list[str] = []

    def write(self, line: str) -> None:
        """Keep one row."""
        self.written.append(line.removesuffix("\r\n") + "\n")


def _spelled(batch: Sequence[tuple[object, ...]], spell: dict[int, Callable[[object], str]]) -> Iterator[list[object]]:
    for row in batch:
        cells = list(row)
        for index, function in spell.items():
            if cells[index] is not None:
                cells[index] = function(cells[index])
        yield cells


def _json_text(value: object) -> str:
    return encoder().encode(value).decode()


def _time_text(value: object) -> str:
    return iso(value) if isinstance(value, datetime) else str(value)


def _no_formula(value: object) -> str:
    text = str(value)
    begins = text.lstrip()[:1] in _FORMULA or text[:1] in _MOVES_ON
    return f"'{text}" if begins and not _NUMBER.fullmatch(text) else text


def _truth(value: object) -> str:
    return "true" if value else "false"


_FORMULA = frozenset("=+-@＝＋－＠")
_MOVES_ON = frozenset("\t\r\n")
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]")

_SPELLED: dict[str, Callable[[object], str]] = {
    **dict.fromkeys(("varchar", "enum", "variant"), _no_formula),
    "boolean": _truth,
    **dict.fromkeys(
        ("timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns", "timestamp with time zone"), _time_text
    ),
    **dict.fromkeys(("list", "array", "struct", "map", "union"), _json_text),
    "interval": lambda value: _json_text(value).strip('"'),
    "blob": lambda value: bytes.hex(value) if isinstance(value, bytes) else str(value),
}
