"""The lake: Parquet parts below one root, every part a pure function of what it was computed from.

Paths, atomic writes, the lock and the format version belong here; which parts a table has is the catalog's to say.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cached_property, lru_cache
from pathlib import Path
from typing import IO, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from goodput.errors import LakeUnwritable, NotPublished
from goodput.plumbing import lake_marker
from goodput.plumbing.catalog import Catalog, Part
from goodput.plumbing.files import write_atomically
from goodput.plumbing.store import IN_FOLDER, Store
from goodput.plumbing.write_lock import WriteLock

SHARDS = "shards"  # folder of what lies between the steps of a batch that is cut
ROWS_A_GROUP = 2**17  # DuckDB reads the row groups of a file in parallel
_WRITERS = 2
Item = TypeVar("Item")


class Lake:
    """One lake in a folder, which `store` may keep elsewhere; docs/architecture.md has its folders."""

    def __init__(self, root: Path, store: Store = IN_FOLDER) -> None:
        self.root = root
        self.store = store

    @cached_property
    def catalog(self) -> Catalog:
        """The parts of each table."""
        return Catalog(self.root, self.store)

    def refresh(self) -> None:
        """Read the catalog anew: another process may have written to the lake."""
        self.__dict__.pop("catalog", None)

    def pull(self) -> None:
        """Bring what other machines have committed into the folder, and read the catalog anew. Raises StoreFailed."""
        self.store.pull()
        self.refresh()

    @property
    def address(self) -> str:
        """Where the lake is, as users know it: its folder, or its address in an object store."""
        return self.store.url or str(self.root)

    @property
    def database(self) -> Path:
        """The DuckDB file that users open."""
        return self.root / "goodput.duckdb"

    @property
    def is_made(self) -> bool:
        """Whether a run has begun this lake."""
        return lake_marker.marker(self.root).exists()

    def open(self) -> None:
        """Create the lake, or check that this version may write to it.

        Raises LakeTooNew, LakeTooOld, LakeUnreadable or LakeUnwritable.
        """
        self.pull()
        if self.is_made:
            lake_marker.check(self.root)
        else:
            lake_marker.begin(self)

    def require(self) -> None:
        """Check that there is a lake of this format. Raises NotPublished, LakeTooNew, LakeTooOld, LakeUnreadable."""
        self.pull()
        if not self.is_made:
            raise NotPublished(self.database)
        self.open()

    @contextmanager
    def lock(self, wait_s: float = 0.0) -> Iterator[None]:
        """Hold the lake for one writer, waiting up to `wait_s` for another to end; gone with the process.

        Raises LakeBusy, LakeUnwritable; of a lake in an object store LeaseLost, StoreFailed and StoreRefused too.
        """
        with self.write_lock.hold(wait_s), self.store.hold(self.write_lock, wait_s):
            self.refresh()
            yield

    @cached_property
    def write_lock(self) -> WriteLock:
        """What `lock` holds."""
        return WriteLock(self.root)

    def keep(self, path: Path, write: Callable[[Path], object]) -> None:
        """Write one of the files that a lake has beside its parts, atomically. Raises LakeUnwritable."""
        write_atomically(path, write)
        self.store.keep(path)

    def drop(self, path: Path) -> None:
        """Remove one of them, be it there or not. Raises LakeUnwritable."""
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise LakeUnwritable(path, error) from error
        self.store.keep(path)

    def write_part(self, table: str, partition: str, rows: pa.Table, inputs: str) -> Part:
        """Write one part of a table; it counts once a commit of the catalog has it. Raises LakeUnwritable."""
        with self.part_writer(table, partition, inputs, rows.schema) as writer:
            writer.write(rows)
        return writer.part

    @contextmanager
    def part_writer(self, table: str, partition: str, inputs: str, schema: pa.Schema) -> Iterator["PartWriter"]:
        """A writer of one part, for rows that come bit by bit; its `part` is there once it is left.

        Raises LakeUnwritable.
        """
        home = self.catalog[table]
        folder = home.part_path(partition, inputs, "").parent
        temporary = folder / f".{inputs}.{os.urandom(4).hex()}.tmp"  # who is thought dead may write the same part
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with temporary.open("wb") as file:
                writer = PartWriter(file, schema)
                yield writer
                writer.finish()
            path = home.part_path(partition, inputs, writer.content)
            temporary.replace(path)
            writer.part = Part(partition, str(path), inputs, writer.content, writer.rows, writer.size_bytes)
        except OSError as error:
            raise LakeUnwritable(folder, error) from error
        finally:
            with suppress(OSError):  # what went wrong is the better error
                temporary.unlink(missing_ok=True)


class PartWriter:
    """Writes the rows of one part in groups of ROWS_A_GROUP, however they come: the same rows give the same bytes."""

    part: Part

    def __init__(self, file: IO[bytes], schema: pa.Schema) -> None:
        self._hashed = _Hashed(file)
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

    def finish(self) -> None:
        """Write what waits, and the footer."""
        if self._waiting_rows:
            self._write(pa.concat_tables(self._waiting))
        if self._writer is None:
            self._hashed.write(_file_without_rows(self._schema.serialize().to_pybytes()))
        else:
            self._writer.close()

    def _write(self, group: pa.Table) -> None:
        if self._writer is None:
            self._writer = _writer(pa.PythonFile(self._hashed, mode="w"), self._schema, group)
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

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.sha256()
        self.size_bytes = 0

    def write(self, data: bytes) -> int:
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
    return pq.ParquetWriter(file, schema, **_options(first))


@lru_cache(maxsize=256)
def _file_without_rows(schema_bytes: bytes) -> bytes:
    """Where there are no labels, bills or sessions, most parts are this file: always the same, and made once.

    By all of the schema, as two that are equal may differ in what they say of their columns.
    """
    file, rows = pa.BufferOutputStream(), pa.ipc.read_schema(pa.py_buffer(schema_bytes)).empty_table()
    with _writer(file, rows.schema, rows) as writer:
        writer.write_table(rows, row_group_size=ROWS_A_GROUP)
    return bytes(file.getvalue())


def _options(rows: pa.Table) -> dict[str, object]:
    # what is least and greatest of a text is never asked for, and costs more than the rest of its encoding
    asked = [field.name for field in rows.schema if not pa.types.is_string(field.type)]
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


def write_parquet(path: Path, rows: pa.Table) -> None:
    """Write one Parquet file that is no part of a table, atomically."""
    write_atomically(path, lambda temporary: pq.write_table(rows, temporary, **_options(rows)))


def write_each(write: Callable[[Item], Part], items: Iterable[Item]) -> list[Part]:
    """Call `write` for each item, some at a time: writing one Parquet file keeps no more than one core busy."""
    with ThreadPoolExecutor(_WRITERS, thread_name_prefix="parquet") as pool:
        return list(pool.map(write, items))


def delete(paths: Iterable[Path]) -> None:
    """Remove files, and folders that this leaves empty. Raises LakeUnwritable."""
    for path in paths:
        try:
            path.unlink(missing_ok=True)
            with suppress(FileNotFoundError):
                if not any(path.parent.iterdir()):
                    path.parent.rmdir()
        except OSError as error:
            raise LakeUnwritable(path, error) from error
