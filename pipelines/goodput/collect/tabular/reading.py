"""One declared table file from bytes to rows as received: joins a row reader and the canonical table."""

from collections.abc import Callable, Iterator, Sequence

from goodput.collect.received import LandedFile, Received, SourceReading
from goodput.collect.stopped import Stopped
from goodput.collect.tabular.block import RowReader
from goodput.collect.tabular.canonical import CanonicalTable
from goodput.collect.tabular.content import OnBytes
from goodput.collect.tabular.csv_rows import CsvRows
from goodput.collect.tabular.json_rows import JsonRows
from goodput.collect.tabular.parquet_rows import ParquetRows
from goodput.settings.model import FileLimits
from goodput.settings.sources import TableSource

_READERS: dict[str, Callable[..., RowReader]] = {"csv": CsvRows, "jsonl": JsonRows, "parquet": ParquetRows}


def read_table(
    file: LandedFile,
    source: TableSource,
    limits: FileLimits,
    *,
    kept: Sequence[str] = (),
    on_bytes: OnBytes | None = None,
) -> SourceReading:
    """Rows of a declared CSV, JSON lines or Parquet file, in blocks, in the columns of its table's contract.

    A row that cannot be read is refused alone, with line and reason. Raises SourceRefused, at once or before
    the first block, for a file that lacks a mapped column or whose path gives no value of its column.
    Columns named in `kept` become attributes of attempts where the file has them.
    `on_bytes` gets how many more bytes of the file are done.
    """
    kept = kept if source.table == "attempts" else ()
    rows = _READERS[source.format](file, source, limits, kept, on_bytes)
    return _TableReading(CanonicalTable(file, source, kept), rows)


class _TableReading:
    def __init__(self, table: CanonicalTable, rows: RowReader) -> None:
        self.torn_tail_bytes = 0
        self.stopped: Stopped | None = None
        self._table = table
        self._rows = rows

    def __iter__(self) -> Iterator[Received]:
        for block in self._rows:
            frame, unreadable = self._table.frame(block)
            yield Received(
                rows_read=block.rows_read,
                tables={self._table.name: frame},
                refused=[*block.refused, *unreadable],
            )
        self.torn_tail_bytes = self._rows.torn_tail_bytes
        self.stopped = self._rows.stopped
