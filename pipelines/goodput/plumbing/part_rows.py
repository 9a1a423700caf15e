"""Rows of parts in the columns that their contract has now: those that an older version did not write are NULL."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from goodput.contracts import arrow_schema
from goodput.errors import LakeUnreadable
from goodput.plumbing.part_check import check_parts


def read_part(path: Path, table: str, columns: Sequence[str] | None = None) -> pa.Table:
    """Rows of one part of a table, or some of its columns. Raises LakeUnreadable."""
    agreed = arrow_schema(table)
    schema = agreed if columns is None else pa.schema([agreed.field(name) for name in columns])
    rows = read_as_written(path, schema.names)
    try:
        return shaped(rows, schema)
    except pa.ArrowException as error:
        raise LakeUnreadable(path, str(error)) from error


def read_as_written(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Rows of one part in the columns that it has, or those of some that it has. Raises LakeUnreadable."""
    check_parts([str(path)])
    try:
        with pq.ParquetFile(path) as file:
            return file.read(columns, use_threads=False)  # threads take memory
    except (OSError, pa.ArrowException) as error:
        raise LakeUnreadable(path, str(error)) from error


def row_count(path: Path) -> int:
    """How many rows a Parquet file has, of which its footer alone is read. Raises LakeUnreadable."""
    try:
        return int(pq.read_metadata(path).num_rows)
    except (OSError, pa.ArrowException) as error:
        raise LakeUnreadable(path, str(error)) from error


def shaped(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows in the columns of a schema. Raises ArrowException where one cannot be of its type."""
    there = set(rows.column_names)
    return pa.table(
        [
            rows.column(field.name).cast(field.type) if field.name in there else pa.nulls(rows.num_rows, field.type)
            for field in schema
        ],
        schema=schema,
    )
