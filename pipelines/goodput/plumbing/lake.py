"""The lake: Parquet parts below one root, every part a pure function of what it was computed from.

Paths, atomic writes, the lock and the format version belong here; which parts a table has is the catalog's to say.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from goodput.errors import LakeUnwritable, NotPublished
from goodput.plumbing import lake_marker
from goodput.plumbing.catalog import Catalog, Part, part_name
from goodput.plumbing.files import write_atomically
from goodput.plumbing.part_check import forget_compared, note_written
from goodput.plumbing.part_writer import PartWriter, parquet_options
from goodput.plumbing.several_lakes import refuse_several
from goodput.plumbing.store import IN_FOLDER, Store
from goodput.plumbing.write_lock import WriteLock

SHARDS = "shards"  # folder of what lies between the steps of a batch that is cut
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
        """Read the catalog anew: another process may have written to the lake, or something harmed it."""
        self.__dict__.pop("catalog", None)
        forget_compared()

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

        Raises SeveralLakes, LakeTooNew, LakeTooOld, LakeUnreadable or LakeUnwritable.
        """
        self.pull()
        refuse_several(self.root)
        if self.is_made:
            lake_marker.check(self.root)
        else:
            lake_marker.begin(self)

    def require(self) -> None:
        """Check that there is a lake of this format.

        Raises NotPublished, SeveralLakes, LakeTooNew, LakeTooOld, LakeUnreadable.
        """
        self.pull()
        refuse_several(self.root)
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
    def part_writer(self, table: str, partition: str, inputs: str, schema: pa.Schema) -> Iterator[PartWriter]:
        """A writer of one part, for rows that come bit by bit; its `part` is there once it is left.

        Raises LakeUnwritable.
        """
        folder = self.catalog[table].folder(partition)
        temporary = f"{folder}/.{inputs}.{os.urandom(4).hex()}.tmp"  # who is thought dead may write the same part
        try:
            os.makedirs(folder, exist_ok=True)
            with open(temporary, "wb") as file, PartWriter(file, schema) as writer:
                yield writer
            path = f"{folder}/{part_name(inputs, writer.content)}"
            os.replace(temporary, path)
            note_written(path)
            writer.part = Part(partition, path, inputs, writer.content, writer.rows, writer.size_bytes)
        except BaseException as error:
            with suppress(OSError):  # what went wrong is the better error
                os.unlink(temporary)
            if isinstance(error, OSError):
                raise LakeUnwritable(Path(folder), error) from error
            raise


def write_parquet(path: Path, rows: pa.Table) -> None:
    """Write one Parquet file that is no part of a table, atomically."""
    write_atomically(path, lambda temporary: pq.write_table(rows, temporary, **parquet_options(rows)))


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
