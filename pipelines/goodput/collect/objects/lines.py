"""JSON objects in the lines of a text file: bare, behind a prefix such as `[2026-11-20 09:00:00]`, or in arrays;
and lines that a dialect's pattern takes apart into an object of texts.
"""

import json
from collections.abc import Iterator, Sequence

import duckdb
import polars as pl

from goodput.collect.held import Readable
from goodput.collect.objects.block import ObjectBlock, objects_in, query, whole_lines
from goodput.collect.received import RefusedRow
from goodput.collect.stopped import Stopped
from goodput.collect.tabular.block import refused_row
from goodput.collect.tabular.content import Content, OnBytes
from goodput.collect.tabular.rows import RowCutter, TextRows
from goodput.plumbing.sql_files import connect_alone
from goodput.settings.model import FileLimits

_IS_JSON = "SELECT json_valid(text) AS is_json FROM texts"


class LineObjects:
    """Objects of a text file, line by line; `patterns` are tried on lines that hold no JSON."""

    def __init__(
        self, path: Readable, patterns: Sequence[str], limits: FileLimits, on_bytes: OnBytes | None = None
    ) -> None:
        self._content = Content(path, limits, on_bytes)
        self._cutter = RowCutter(self._content, limits.max_line_bytes, self._is_whole)
        self._patterns = patterns

    @property
    def torn_tail_bytes(self) -> int:
        """Bytes of an unfinished last row."""
        return self._cutter.torn_tail_bytes

    @property
    def stopped(self) -> Stopped | None:
        """Why reading stopped short of the end, if it did."""
        return self._content.stopped

    def __iter__(self) -> Iterator[ObjectBlock]:
        with connect_alone() as connection:
            for rows in self._cutter:
                yield self._block(rows, connection)

    def _block(self, rows: TextRows, connection: duckdb.DuckDBPyConnection) -> ObjectBlock:
        text = pl.Series("text", rows.text, dtype=pl.String).str.strip_chars()
        lines = pl.DataFrame([pl.Series("line", rows.line, dtype=pl.Int64), text]).filter(pl.col("text") != "")
        if lines["text"].str.starts_with("{").all():
            return ObjectBlock(whole_lines(lines), list(rows.refused), lambda: self._checked_apart(lines, rows))
        return self._checked(lines, rows, connection)

    def _checked_apart(self, lines: pl.DataFrame, rows: TextRows) -> ObjectBlock:
        with connect_alone() as connection:  # the other one may be at the next block, or closed
            return self._checked(lines, rows, connection)

    def _checked(self, lines: pl.DataFrame, rows: TextRows, connection: duckdb.DuckDBPyConnection) -> ObjectBlock:
        kinds = kinds_of(lines["text"], connection)
        if kinds.null_count():
            lines = self._lifted(lines, kinds)
            kinds = kinds_of(lines["text"], connection)
        refused = list(rows.refused)
        if kinds.null_count():
            refused += _not_json(lines.filter(kinds.is_null()))
            lines, kinds = lines.filter(kinds.is_not_null()), kinds.drop_nulls()
        return objects_in(lines, kinds, connection, refused)

    def _lifted(self, lines: pl.DataFrame, kinds: pl.Series) -> pl.DataFrame:
        """Lines that are no JSON replaced by what a pattern finds in them, else by what begins at their first brace."""
        text = pl.col("text")
        taken = [taken_apart(pattern) for pattern in self._patterns]
        behind_prefix = text.str.extract(r"(\{.*\})$")
        return lines.with_columns(
            pl.when(kinds.is_null()).then(pl.coalesce(*taken, behind_prefix, text)).otherwise(text).alias("text")
        )

    def _is_whole(self, row: bytes) -> bool:
        """Whether a last line without a line end is all of it: a line of text might still go on."""
        text = row[row.find(b"{") :] if b"{" in row and not _is_json(row) else row
        return _is_json(text)


def kinds_of(texts: pl.Series, connection: duckdb.DuckDBPyConnection) -> pl.Series:
    """Of each text OBJECT, ARRAY or VALUE; NULL where it is no JSON."""
    is_json = pl.Series(query(connection, _IS_JSON, texts)["is_json"])
    first = pl.col("text").str.strip_chars_start().str.slice(0, 1)
    kind = first.replace_strict({"{": "OBJECT", "[": "ARRAY"}, default="VALUE")
    frame = pl.DataFrame({"text": texts, "is_json": is_json})
    return frame.select(pl.when("is_json").then(kind).alias("kind"))["kind"]


def taken_apart(pattern: str) -> pl.Expr:
    """The groups that a pattern names in `text` as a JSON object; NULL where it does not match."""
    text = pl.col("text")
    return pl.when(text.str.contains(pattern)).then(text.str.extract_groups(pattern).struct.json_encode())


def _not_json(lines: pl.DataFrame) -> list[RefusedRow]:
    reason = "the line does not parse as JSON"
    return [refused_row(line, "row_not_json", reason, text) for line, text in lines.select("line", "text").iter_rows()]


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
