"""Writes the Parquet file of a part: the same rows give the same bytes, and the name is a digest of these."""

import hashlib
from functools import lru_cache
from typing import IO, TYPE_CHECKING, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from goodput.plumbing.catalog import Part

ROWS_A_GROUP = 2**17  # DuckDB reads the row groups of a file in parallel
_FEW_ROWS = 1000  # of them setting up zstd and dictionaries, column by column, takes longer than all else
_BUFFER_BYTES = 2**20


class PartWriter:
    """Writes the rows of one part in groups of ROWS_A_GROUP, however they come: the same rows give the same bytes.

    Leaving its context writes what waits, and the footer.
    """

    part: "Part"

    def __init__(self, file: IO[bytes], schema: pa.Schema) -> None:
        self._hashed = _Hashed(file)
        self._buffered: pa.BufferedOutputStream | None = None
        self._schema = schema
        self._waiting: list[pa.Table] = []
        self._waiting_rows = 0
        self._writer: pq.ParquetWriter | None = None
        self.rows = 0

    def write(self, rows: pa.Table) -> None:
        """Take more rows."""
        self._waiting.append(rows)
        self._waiting_rows += rows.num_rows
        while self._waiting_rows >= ROWS_A_GROUP:
            whole = pa.concat_tables(self._waiting)
            self._write(whole.slice(0, ROWS_A_GROUP))
            self._waiting = [whole.slice(ROWS_A_GROUP)]
            self._waiting_rows -= ROWS_A_GROUP

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._finish()
        finally:
            self._hashed.is_over = True  # what Arrow still buffers goes nowhere when it is collected

    def _finish(self) -> None:
        if self._waiting_rows:
            self._write(pa.concat_tables(self._waiting))
        if self._writer is None or self._buffered is None:
            self._hashed.write(_file_without_rows(self._schema.serialize().to_pybytes()))
        else:
            self._writer.close()
            self._buffered.flush()

    def _write(self, group: pa.Table) -> None:
        if self._writer is None:
            # Arrow writes column by column: to a file of Python's, most of the time would go into the calls
            self._buffered = pa.BufferedOutputStream(pa.PythonFile(self._hashed, mode="w"), _BUFFER_BYTES)
            self._writer = _writer(self._buffered, self._schema, group)
        # in one piece: Arrow ends pages where pieces end, so that other pieces would be other bytes
        self._writer.write_table(group.combine_chunks(), row_group_size=ROWS_A_GROUP)
        self.rows += group.num_rows

    @property
    def content(self) -> str:
        """Digest of the bytes written."""
        return self._hashed.digest.hexdigest()[:32]

    @property
    def size_bytes(self) -> int:
        """How many bytes were written."""
        return self._hashed.size_bytes


class _Hashed:
    """A file that is hashed while it is written."""

    closed = False
    is_over = False

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.sha256()
        self.size_bytes = 0

    def write(self, data: bytes) -> int:
        if self.is_over:
            return len(data)
        self.digest.update(data)
        self.size_bytes += len(data)
        return self._file.write(data)

    def tell(self) -> int:
        return self.size_bytes

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self.closed = True

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False


def _writer(file: pa.NativeFile, schema: pa.Schema, first: pa.Table) -> pq.ParquetWriter:
    return pq.ParquetWriter(file, schema, **parquet_options(first))


@lru_cache(maxsize=256)
def _file_without_rows(schema_bytes: bytes) -> bytes:
    """Where there are no labels, bills or sessions, most parts are this file: always the same, and made once.

    By all of the schema, as two that are equal may differ in what they say of their columns.
    """
    file, rows = pa.BufferOutputStream(), pa.ipc.read_schema(pa.py_buffer(schema_bytes)).empty_table()
    with _writer(file, rows.schema, rows) as writer:
        writer.write_table(rows, row_group_size=ROWS_A_GROUP)
    return bytes(file.getvalue())


def parquet_options(rows: pa.Table) -> dict[str, object]:
    """How a Parquet file is written whose first row group is `rows`."""
    # what is least and greatest of a text is never asked for, and costs more than the rest of its encoding
    asked = [field.name for field in rows.schema if not pa.types.is_string(field.type)]
    if rows.num_rows < _FEW_ROWS:
        return {"compression": "snappy", "use_dictionary": False, "write_statistics": asked}
    return {
        "compression": "zstd",
        "compression_level": 1,
        "use_dictionary": _repetitive(rows),
        "write_statistics": asked,
    }


def _repetitive(rows: pa.Table) -> list[str]:
    """Text columns whose values come again and again: what else there is, a dictionary makes slower and larger."""
    first = rows.slice(0, 1000)
    texts = [field.name for field in rows.schema if pa.types.is_string(field.type)]
    return [name for name in texts if 2 * pc.count_distinct(first.column(name)).as_py() <= max(first.num_rows, 2)]
