"""CSV (RFC 4180, a header row, comma separated) to cells as text; a ragged row is refused alone."""

import csv
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv

from goodput.collect.received import LandedFile
from goodput.collect.stopped import Stopped
from goodput.collect.tabular.block import TextBlock, also_kept, mapped_columns, refused_row, require_columns
from goodput.collect.tabular.content import Content, OnBytes
from goodput.collect.tabular.quoting import count_cells
from goodput.collect.tabular.rows import RowCutter, TextRows
from goodput.errors import SourceRefused
from goodput.settings.model import FileLimits
from goodput.settings.sources import TableSource


class CsvRows:
    """Rows of a CSV file; raises SourceRefused before the first block where a mapped column is missing."""

    def __init__(
        self,
        file: LandedFile,
        source: TableSource,
        limits: FileLimits,
        kept: Sequence[str],
        on_bytes: OnBytes | None = None,
    ) -> None:
        self._path = file.path
        self._mapped = mapped_columns(source)
        self._kept = kept
        self._content = Content(file.content, limits, on_bytes)
        self._cutter = RowCutter(self._content, limits.max_line_bytes, self._is_whole)
        self._columns: list[str] = []
        self._wanted: list[str] = []

    @property
    def torn_tail_bytes(self) -> int:
        """Bytes of an unfinished last row."""
        return self._cutter.torn_tail_bytes

    @property
    def stopped(self) -> Stopped | None:
        """Why reading stopped short of the end, if it did."""
        return self._content.stopped

    def __iter__(self) -> Iterator[TextBlock]:
        self._columns = self._read_header()
        if not self._columns:
            return
        require_columns(self._path, self._mapped, self._columns)
        unique = [name for name in self._columns if self._columns.count(name) == 1]
        self._wanted = [*self._mapped, *also_kept(self._kept, self._mapped, unique)]
        self._cutter.cells = len(self._columns)
        for rows in self._cutter:
            yield self._block(rows)

    def _is_whole(self, row: bytes) -> bool:
        return count_cells(row) == len(self._columns)

    def _read_header(self) -> list[str]:
        try:
            header = self._cutter.header().decode()
        except UnicodeDecodeError as error:
            raise SourceRefused(self._path, "its header is not UTF-8") from error
        try:
            return [name.strip() for name in next(csv.reader([header]))] if header else []
        except csv.Error as error:  # longer than any name
            raise SourceRefused(self._path, f"its first line holds no names of columns: {error}") from error

    def _block(self, rows: TextRows) -> TextBlock:
        rows = _without_blank(rows)
        cells, ragged = self._parse(rows.text)
        received = pl.Series(rows.text, dtype=pl.String)
        usable = np.ones(len(received), bool)
        usable[list(ragged)] = False
        refused = [refused_row(int(rows.line[r]), "row_ragged", why, received[r]) for r, why in ragged.items()]
        order = sorted(range(len(self._columns)), key=self._columns.__getitem__)  # however the file orders them
        return TextBlock(
            cells=cells.select(pl.col(str(self._columns.index(name))).alias(name) for name in self._wanted),
            line=pl.Series(rows.line[usable], dtype=pl.Int64),
            emitted=cells.select(str(position) for position in order),
            emitted_names=[self._columns[position] for position in order],
            received=received.filter(pl.Series(usable)),
            refused=rows.refused + refused,
        )

    def _parse(self, rows: pa.LargeStringArray) -> tuple[pl.DataFrame, dict[int, str]]:
        """All cells of usable rows in String columns "0", "1", ..., and what is wrong with the other rows."""
        names = [str(position) for position in range(len(self._columns))]
        if not len(rows):
            return pl.DataFrame(schema=dict.fromkeys(names, pl.String)), {}
        ragged: dict[int, str] = {}

        def set_aside(row: pa_csv.InvalidRow) -> str:
            ragged[row.number - 1] = f"{row.actual_columns} cells where the header has {row.expected_columns}"
            return "skip"

        text = _contiguous(rows)
        table = pa_csv.read_csv(
            pa.BufferReader(text),
            # one block and one thread, or the parser could not number the rows
            read_options=pa_csv.ReadOptions(column_names=names, use_threads=False, block_size=text.size + 1),
            parse_options=pa_csv.ParseOptions(
                newlines_in_values=True, ignore_empty_lines=False, invalid_row_handler=set_aside
            ),
            convert_options=pa_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.large_string()),
                check_utf8=False,
                null_values=[""],
                strings_can_be_null=True,
            ),
        )
        return pl.DataFrame(table), ragged


def _contiguous(rows: pa.LargeStringArray) -> pa.Buffer:
    """The text of all rows as one piece, without a copy."""
    _, offsets, text = rows.buffers()
    bounds = np.frombuffer(offsets, np.int64)[[rows.offset, rows.offset + len(rows)]]
    return text.slice(int(bounds[0]), int(bounds[1] - bounds[0]))


def _without_blank(rows: TextRows) -> TextRows:
    """A blank line is no row."""
    text = pl.Series(rows.text, dtype=pl.String)
    full = text.str.len_bytes() > len("\r\n")
    if not full.all():
        full |= text.str.strip_chars("\r\n") != ""
    if full.all():
        return rows
    return TextRows(rows.text.filter(full.to_arrow()), rows.line[full.to_numpy()], rows.refused)
