"""Reads a file of JSON objects, however they lie in it, into canonical rows, by the dialect that each object speaks.

Finding the objects is the other modules' work and what a dialect means is the dialect's.
"""

from collections.abc import Callable, Iterator, Sequence

import duckdb
import polars as pl
import polars.selectors as cs

from goodput.collect.dialect import Dialect, Reject
from goodput.collect.dialects.registry import OBJECT_DIALECTS
from goodput.collect.objects.block import BLOCK_ROWS, ObjectBlock, ObjectSource, elements, members, query, read_ahead
from goodput.collect.objects.document import DocumentObjects
from goodput.collect.objects.extract import kept_attributes, texts_at, typed
from goodput.collect.objects.layout import layout_of
from goodput.collect.objects.lines import LineObjects
from goodput.collect.objects.tables import CsvObjects, ParquetObjects
from goodput.collect.objects.unknown import why_unknown
from goodput.collect.otlp.attributes import Wanted
from goodput.collect.otlp.sniff import Head
from goodput.collect.received import LandedFile, Received, RefusedRow
from goodput.collect.stopped import Stopped
from goodput.collect.tabular.block import EXCERPT_CHARACTERS
from goodput.errors import SourceRefused
from goodput.plumbing.sql_files import connect_alone
from goodput.settings.model import FileLimits

UNKNOWN = "row_of_no_known_format"
EMPTY_PAGE = "page_without_rows"
_PLACE = ("line", "position", "text")
_LENGTH = """
SELECT CASE WHEN json_type(text, $path) = 'ARRAY' THEN json_array_length(text, $path) END AS length FROM texts
"""
_HOLDS = "SELECT coalesce(len(json_extract(text, $path)) > 0, false) AS holds FROM texts"


class ObjectReading:
    """One file of JSON objects, block by block; see `received.SourceReading`.

    Iterating raises SourceRefused where no object of the beginning speaks any of the dialects.
    """

    def __init__(  # noqa: PLR0913, PLR0917  (as every reading of a file, with its dialects)
        self,
        file: LandedFile,
        head: Head,
        limits: FileLimits,
        on_bytes: Callable[[int], None] | None = None,
        dialects: Sequence[Dialect] = OBJECT_DIALECTS,
        kept: Sequence[str] = (),
    ) -> None:
        self.torn_tail_bytes = 0
        self.stopped: Stopped | None = None
        self._file = file
        self._head = head
        self._source = _source(file, head, limits, on_bytes, dialects)
        self._dialects = dialects
        self._kept = kept
        self._known = False  # whether any row was of a known format
        self._expected: Dialect | None = None  # the next block will speak it too: its paths are read in the same parse

    def __iter__(self) -> Iterator[Received]:
        unread = 0
        with connect_alone() as connection:
            for block in (part for whole in read_ahead(self._source) for part in whole.parts()):
                received = self._received(block, connection)
                unread += received.rows_read
                if block.objects.height:
                    self._require_known(unread)
                yield received
        self._require_known(unread)
        self.torn_tail_bytes = self._source.torn_tail_bytes
        self.stopped = self._source.stopped

    def _require_known(self, rows: int) -> None:
        if rows and not self._known:
            raise SourceRefused(self._file.path, why_unknown(self._head, self._dialects))

    def _received(self, block: ObjectBlock, connection: duckdb.DuckDBPyConnection) -> Received:
        try:
            return self._objects(block, connection)
        except duckdb.InvalidInputException:
            if block.checked is None:
                raise
            return self._objects(block.checked(), connection)

    def _objects(self, block: ObjectBlock, connection: duckdb.DuckDBPyConnection) -> Received:
        received = Received(rows_read=len(block.refused), refused=list(block.refused))
        rest = self._take(received, block.objects, None, connection)
        containers = dict.fromkeys(dialect.rows for dialect in self._dialects if dialect.rows)
        for path in sorted(containers, key=lambda path: "*" not in path):  # what is named more exactly first
            if rest.height and "*" in path:
                rest = self._open_maps(received, rest, path, connection)
            elif rest.height:
                rest = self._open_pages(received, rest, path, connection)
        received.rows_read += rest.height
        received.ignore(UNKNOWN, rest.height)
        return received

    def _open_pages(
        self, received: Received, objects: pl.DataFrame, path: str, connection: duckdb.DuckDBPyConnection
    ) -> pl.DataFrame:
        """Take the rows that stand in an array of the objects; the objects that have none such are left."""
        lengths = pl.Series(query(connection, _LENGTH, objects["text"], path=path)["length"])
        pages = objects.filter(lengths.is_not_null())
        around = _distinct([w for dialect in self._dialects if dialect.rows == path for w in dialect.parent_paths])
        if around and pages.height:
            texts = texts_at(pages["text"], [item.key for item in around], connection)
            parents = typed(texts, around).columns
            pages = pl.concat([pages, parents.rename(lambda key: f"parent{key[1:]}")], how="horizontal")
        rows = elements(pages, path, connection)
        empty = int((lengths == 0).sum())
        self._known |= empty > 0
        received.rows_read += empty
        received.ignore(EMPTY_PAGE, empty)
        self._take_members(received, rows, path, connection)
        return objects.filter(lengths.is_null())

    def _open_maps(
        self, received: Received, objects: pl.DataFrame, path: str, connection: duckdb.DuckDBPyConnection
    ) -> pl.DataFrame:
        """Take the rows that are members of a map in the objects; objects in which no member speaks are left."""
        shown = [w.key for dialect in self._dialects if dialect.rows == path for w in dialect.signature]
        holds = pl.repeat(value=True, n=objects.height, eager=True)
        for key in shown:
            holds &= pl.Series(query(connection, _HOLDS, objects["text"], path=f"{path}{key[1:]}")["holds"])
        self._take_members(received, members(objects.filter(holds), path, connection), path, connection)
        return objects.filter(~holds)

    def _take_members(
        self, received: Received, rows: pl.DataFrame, container: str, connection: duckdb.DuckDBPyConnection
    ) -> None:
        """Add the rows of a container that a dialect speaks, and count the others."""
        for some in rows.iter_slices(BLOCK_ROWS):
            unknown = self._take(received, some, container, connection)
            received.rows_read += unknown.height
            received.ignore(UNKNOWN, unknown.height)

    def _take(
        self, received: Received, rows: pl.DataFrame, container: str | None, connection: duckdb.DuckDBPyConnection
    ) -> pl.DataFrame:
        """Add the rows that a dialect speaks to what was received; the others are left."""
        dialects = [dialect for dialect in self._dialects if dialect.rows == container]
        upto = dialects.index(self._expected) + 1 if self._expected in dialects else len(dialects)
        for some in (dialects[:upto], dialects[upto:]):
            if rows.height and some:
                rows = self._take_of(received, rows, some, connection)
        return rows

    def _take_of(
        self,
        received: Received,
        rows: pl.DataFrame,
        dialects: Sequence[Dialect],
        connection: duckdb.DuckDBPyConnection,
    ) -> pl.DataFrame:
        looked_at = [d.wanted if d is self._expected else d.signature for d in dialects]
        paths = dict.fromkeys(item.key for wanted in looked_at for item in wanted)
        texts = texts_at(rows["text"], list(paths), connection)
        for dialect in dialects:
            read = typed(texts, _distinct(dialect.signature), dialect.unset).columns
            speaks = rows.with_columns(read).select(dialect.matches.fill_null(value=False).alias("speaks"))["speaks"]
            if speaks.any():
                mine, values = (rows, texts) if speaks.all() else (rows.filter(speaks), texts.filter(speaks))
                if any(item.key not in paths for item in dialect.wanted):
                    values = texts_at(mine["text"], [item.key for item in _distinct(dialect.wanted)], connection)
                self._read(received, dialect, mine, values, connection)
                self._known, self._expected = True, dialect
                rows, texts = rows.filter(~speaks), texts.filter(~speaks)
            if not rows.height:
                break
        return rows

    def _read(
        self,
        received: Received,
        dialect: Dialect,
        rows: pl.DataFrame,
        texts: pl.DataFrame,
        connection: duckdb.DuckDBPyConnection,
    ) -> None:
        received.rows_read += rows.height
        read = typed(texts, _distinct(dialect.wanted), dialect.unset)
        frame = rows.with_columns(read.columns)
        if read.unreadable.null_count() < rows.height:
            received.refused += _unreadable(dialect, rows.with_columns(unreadable=read.unreadable))
            frame = frame.filter(read.unreadable.is_null())
        frame = dialect.kept(frame, received.ignore)
        for rule in dialect.rejected:
            holds = rule.holds.fill_null(value=False)
            received.refused += _refused(dialect, rule, frame.filter(holds))
            frame = frame.filter(~holds)
        if frame.height:
            columns = {field.canonical: field.value() for field in dialect.fields}
            finished = dialect.finish(frame.with_columns(dialect=pl.lit(dialect.name), **columns))
            if self._kept and dialect.table == "serving_records":
                kept = kept_attributes(frame, self._kept, connection)
                finished = finished.join(kept, on=["line", "position"], how="left", maintain_order="left")
            received.add(dialect.table, finished.select(~cs.starts_with("$", "text")))  # which would be kept for long


def _source(
    file: LandedFile,
    head: Head,
    limits: FileLimits,
    on_bytes: Callable[[int], None] | None,
    dialects: Sequence[Dialect],
) -> ObjectSource:
    match layout_of(head):
        case "parquet":
            return ParquetObjects(file, limits, on_bytes)
        case "csv":
            return CsvObjects(file, limits, on_bytes)
        case "document":
            return DocumentObjects(file.content, limits, on_bytes)
        case "lines":
            patterns = [dialect.pattern for dialect in dialects if dialect.pattern]
            return LineObjects(file.content, patterns, limits, on_bytes)


def _unreadable(dialect: Dialect, rows: pl.DataFrame) -> list[RefusedRow]:
    bad = rows.filter(pl.col("unreadable").is_not_null())
    return [
        RefusedRow(
            line,
            position,
            dialect.table,
            "attribute_unreadable",
            f"{key} cannot be read as its type",
            text[:EXCERPT_CHARACTERS],
        )
        for line, position, text, key in bad.select(*_PLACE, "unreadable").iter_rows()
    ]


def _refused(dialect: Dialect, rule: Reject, rows: pl.DataFrame) -> list[RefusedRow]:
    return [
        RefusedRow(line, position, dialect.table, rule.rule, rule.reason, text[:EXCERPT_CHARACTERS])
        for line, position, text in rows.select(*_PLACE).iter_rows()
    ]


def _distinct(wanted: Sequence[Wanted]) -> list[Wanted]:
    """Each path once, read as it is wanted first."""
    return list({item.key: item for item in reversed(wanted)}.values())
