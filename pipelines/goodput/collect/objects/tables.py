"""JSON objects made of the rows of CSV and Parquet files: one key per column, an empty cell is no value.

A cell that holds a JSON object or array is that, not a text: exports of databases write nested columns so.
"""

from collections.abc import Iterator

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from goodput.collect.objects.block import ObjectBlock
from goodput.collect.received import LandedFile
from goodput.collect.stopped import Stopped
from goodput.collect.tabular.content import OnBytes
from goodput.collect.tabular.csv_rows import CsvRows
from goodput.collect.tabular.parquet_rows import group_bytes, opened
from goodput.errors import SourceRefused
from goodput.plumbing.sql_files import connect_alone
from goodput.settings.model import FileLimits
from goodput.settings.sources import TableSource

_BATCH_ROWS = 2**14
_ALL_COLUMNS = TableSource(format="csv", path="*", columns={})  # of a CSV file all cells come without being mapped
_CELL = """CASE WHEN left("{0}", 1) IN ('{{', '[') AND json_valid("{0}") THEN "{0}"::JSON ELSE to_json("{0}") END"""


class CsvObjects:
    """Objects of a CSV file; its values are texts, whatever they look like."""

    def __init__(self, file: LandedFile, limits: FileLimits, on_bytes: OnBytes | None = None) -> None:
        self._path = file.path
        self._rows = CsvRows(file, _ALL_COLUMNS, limits, (), on_bytes)

    @property
    def torn_tail_bytes(self) -> int:
        """Bytes of an unfinished last row."""
        return self._rows.torn_tail_bytes

    @property
    def stopped(self) -> Stopped | None:
        """Why reading stopped short of the end, if it did."""
        return self._rows.stopped

    def __iter__(self) -> Iterator[ObjectBlock]:
        with connect_alone() as connection:
            for block in self._rows:
                names = block.emitted_names
                if len(set(names)) < len(names):
                    raise SourceRefused(self._path, f"two columns have one name: {', '.join(names)}")
                cells = block.emitted.rename(dict(zip(block.emitted.columns, map(str, range(len(names))), strict=True)))
                yield ObjectBlock(_objects(block.line, _of_cells(cells, names, connection)), block.refused)


class ParquetObjects:
    """Objects of a Parquet file; times are ISO 8601, structs nested objects."""

    torn_tail_bytes = 0  # the footer is written last: an unfinished file is refused whole

    def __init__(self, file: LandedFile, limits: FileLimits, on_bytes: OnBytes | None = None) -> None:
        self.stopped: Stopped | None = None
        self._path = file.path
        self._content = file.content
        self._limit = limits.max_decompressed_bytes
        self._on_bytes = on_bytes

    def __iter__(self) -> Iterator[ObjectBlock]:
        with opened(self._path, self._content) as file, connect_alone() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            self._check(file)
            first_row = 1
            for batch in self._batches(file):
                line = pl.int_range(first_row, first_row + batch.num_rows, dtype=pl.Int64, eager=True)
                try:
                    text = _of_batch(batch, connection)
                except duckdb.Error as error:
                    kind = type(error).__name__  # what it says may hold what could not be read
                    raise SourceRefused(self._path, f"holds a column that cannot be read ({kind})") from error
                yield ObjectBlock(_objects(line, text))
                first_row += batch.num_rows

    def _check(self, file: pq.ParquetFile) -> None:
        groups = [file.metadata.row_group(index) for index in range(file.num_row_groups)]
        if sum(group.total_byte_size for group in groups) > self._limit:
            raise SourceRefused(self._path, f"holds more than limits.max_decompressed_bytes = {self._limit}")
        names = [name.lower() for name in file.schema_arrow.names]
        if len(set(names)) < len(names):
            raise SourceRefused(self._path, f"two columns have one name: {', '.join(sorted(names))}")

    def _batches(self, file: pq.ParquetFile) -> Iterator[pa.Table]:
        unread_bytes = sum(group_bytes(file, group) for group in range(file.num_row_groups))
        try:
            for group in range(file.num_row_groups):
                for batch in file.iter_batches(_BATCH_ROWS, row_groups=[group]):
                    yield pa.Table.from_batches([batch])
                size_bytes = group_bytes(file, group)
                unread_bytes -= size_bytes
                if self._on_bytes:
                    self._on_bytes(size_bytes)
        except (OSError, pa.ArrowException) as error:
            self.stopped = Stopped(f"cannot be read to its end: {error}", unread_bytes)


def _objects(line: pl.Series, text: pl.Series) -> pl.DataFrame:
    return pl.DataFrame({"line": line, "text": text}).select(
        pl.col("line").cast(pl.Int64), pl.lit(0, pl.Int32).alias("position"), "text"
    )


def _of_cells(cells: pl.DataFrame, names: list[str], connection: duckdb.DuckDBPyConnection) -> pl.Series:
    """Cells in String columns "0", "1", ... that the file calls by `names`."""
    connection.register("cells", cells.to_arrow())
    values = ", ".join(_CELL.format(place) for place in range(len(names)))
    query = f"SELECT to_json(map($names, [{values}]))::VARCHAR AS text FROM cells"  # noqa: S608
    return pl.DataFrame(connection.sql(query, params={"names": names}).to_arrow_table())["text"]


def _of_batch(batch: pa.Table, connection: duckdb.DuckDBPyConnection) -> pl.Series:
    connection.register("batch", batch)
    query = "SELECT to_json(batch)::VARCHAR AS text FROM batch"
    return pl.DataFrame(connection.sql(query).to_arrow_table())["text"]
