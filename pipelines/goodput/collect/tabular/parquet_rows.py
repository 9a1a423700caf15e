"""Parquet to cells as text: numbers in their shortest exact form, times as ISO 8601, structs by dots."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from goodput.collect.held import Readable
from goodput.collect.received import LandedFile
from goodput.collect.stopped import Stopped
from goodput.collect.tabular.block import TextBlock, also_kept, mapped_columns, require_columns
from goodput.collect.tabular.content import OnBytes
from goodput.errors import SourceRefused
from goodput.settings.model import FileLimits
from goodput.settings.sources import TableSource

_BATCH_ROWS = 2**17


class ParquetRows:
    """Rows of a Parquet file; raises SourceRefused before the first block where a column is missing."""

    torn_tail_bytes = 0  # the footer is written last: an unfinished file is refused whole

    def __init__(
        self,
        file: LandedFile,
        source: TableSource,
        limits: FileLimits,
        kept: Sequence[str],
        on_bytes: OnBytes | None = None,
    ) -> None:
        self.stopped: Stopped | None = None
        self._path = file.path
        self._content = file.content
        self._mapped = mapped_columns(source)
        self._kept = kept
        self._wanted: list[str] = []
        self._limit = limits.max_decompressed_bytes
        self._on_bytes = on_bytes

    def __iter__(self) -> Iterator[TextBlock]:
        with opened(self._path, self._content) as file:
            self._check(file)
            first_row = 1
            for batch in self._batches(file):
                yield self._block(batch, first_row)
                first_row += batch.height

    def _check(self, file: pq.ParquetFile) -> None:
        groups = [file.metadata.row_group(index) for index in range(file.num_row_groups)]
        if sum(group.total_byte_size for group in groups) > self._limit:
            raise SourceRefused(self._path, f"holds more than limits.max_decompressed_bytes = {self._limit}")
        names = file.schema_arrow.names
        if len(set(names)) < len(names):
            raise SourceRefused(self._path, f"two columns have one name: {', '.join(sorted(names))}")
        present = _columns(pl.Schema(file.schema_arrow))
        require_columns(self._path, self._mapped, list(present))
        plain = [name for name, (_, dtype) in present.items() if not (dtype.is_nested() or dtype == pl.Binary)]
        self._wanted = [*self._mapped, *also_kept(self._kept, self._mapped, plain)]
        unfit = [name for name in self._mapped if name not in plain]
        if unfit:
            raise SourceRefused(self._path, f"column holds no plain values: {', '.join(map(repr, unfit))}")

    def _batches(self, file: pq.ParquetFile) -> Iterator[pl.DataFrame]:
        unread_bytes = sum(group_bytes(file, group) for group in range(file.num_row_groups))
        try:
            for group in range(file.num_row_groups):
                for batch in file.iter_batches(_BATCH_ROWS, row_groups=[group]):
                    yield pl.DataFrame(pa.Table.from_batches([batch]))
                size_bytes = group_bytes(file, group)
                unread_bytes -= size_bytes
                if self._on_bytes:
                    self._on_bytes(size_bytes)
        except (OSError, pa.ArrowException, pl.exceptions.PolarsError) as error:
            self.stopped = Stopped(f"cannot be read to its end: {error}", unread_bytes)

    def _block(self, batch: pl.DataFrame, first_row: int) -> TextBlock:
        names = sorted(batch.columns)
        present = _columns(batch.schema)
        columns = {name: batch.select(present[name][0]).to_series() for name in self._wanted}
        cells = pl.DataFrame([_as_text(column).alias(name) for name, column in columns.items()])
        return TextBlock(
            cells=cells,
            line=pl.int_range(first_row, first_row + batch.height, eager=True),
            emitted=pl.DataFrame([_bits(batch[name]).alias(str(place)) for place, name in enumerate(names)]),
            emitted_names=names,
            received=cells.select(pl.struct(pl.all()).struct.json_encode()).to_series(),
            units={name: unit for name, column in columns.items() if (unit := _own_unit(column.dtype))},
        )


@contextmanager
def opened(path: Path, content: Readable) -> Iterator[pq.ParquetFile]:
    """A Parquet file of some content. Raises SourceRefused with its `path` where it is none, or not a whole one."""
    with ExitStack() as stack:
        try:
            file = pq.ParquetFile(stack.enter_context(content.open("rb")))
        except (OSError, pa.ArrowException) as error:
            raise SourceRefused(path, f"is no whole Parquet file: {error}") from error
        yield stack.enter_context(file)


def group_bytes(file: pq.ParquetFile, group: int) -> int:
    """Bytes of a row group as they lie in the file."""
    columns = file.metadata.row_group(group)
    return sum(columns.column(number).total_compressed_size for number in range(columns.num_columns))


def _columns(schema: pl.Schema) -> dict[str, tuple[pl.Expr, pl.DataType]]:
    """Every column by name, and by dotted name what is nested in it; a name that has dots wins."""
    nested: dict[str, tuple[pl.Expr, pl.DataType]] = {}
    for name, dtype in schema.items():
        nested |= _nested(pl.col(name), dtype, name)
    return nested | {name: (pl.col(name), dtype) for name, dtype in schema.items()}


def _nested(value: pl.Expr, dtype: pl.DataType, name: str) -> dict[str, tuple[pl.Expr, pl.DataType]]:
    found = {name: (value, dtype)}
    if isinstance(dtype, pl.Struct):
        for inner, inner_type in pl.Schema(dtype.to_schema()).items():
            found |= _nested(value.struct.field(inner), inner_type, f"{name}.{inner}")
    return found


def _own_unit(dtype: pl.DataType) -> str | None:
    if isinstance(dtype, pl.Datetime):
        return "iso8601"
    return "ns" if isinstance(dtype, pl.Duration) else None


def _as_text(column: pl.Series) -> pl.Series:
    if isinstance(column.dtype, pl.Duration):
        column = column.dt.total_nanoseconds()
    return column.cast(pl.String, strict=False).replace("", None)


def _bits(column: pl.Series) -> pl.Series:
    """Floats by their bits and times as integers, which print the same everywhere."""
    if column.dtype.is_float():
        return pl.Series(column.cast(pl.Float64).to_arrow().view(pa.int64()))
    return column.to_physical() if column.dtype.is_temporal() else column
