"""The lake: hive-partitioned Parquet below one root, every file a pure function of what it was computed from.

Paths, atomic writes, the lock and the format version belong here; what is in the files does not.
"""

import fcntl
import json
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from goodput.errors import LakeBusy, LakeTooNew, LakeUnreadable, LakeUnwritable

FORMAT = 1
ROWS_A_GROUP = 2**17  # DuckDB reads the row groups of a file in parallel
_WRITERS = 2
Part = TypeVar("Part")
INPUTS = b"goodput.inputs"  # Parquet metadata: fingerprint of what the file was computed from


class Lake:
    """One lake on local disk; see the architecture in README.md for its folders."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def database(self) -> Path:
        """The DuckDB file that users open."""
        return self.root / "goodput.duckdb"

    @property
    def ledger(self) -> Path:
        """The account of every source read."""
        return self.root / "ledger.parquet"

    @property
    def landed(self) -> Path:
        """The files that the landing zone held when it was last looked at."""
        return self.root / "landed.parquet"

    @property
    def is_made(self) -> bool:
        """Whether a run has begun this lake."""
        return (self.root / "lake.json").exists()

    def open(self) -> None:
        """Create the lake, or check that this version may write to it.

        Raises LakeTooNew, LakeUnreadable or LakeUnwritable.
        """
        marker = self.root / "lake.json"
        if marker.exists():
            found = _format_in(marker)
            if found > FORMAT:
                raise LakeTooNew(self.root, found, FORMAT)
            return
        write_atomically(marker, lambda path: path.write_text(json.dumps({"format": FORMAT}) + "\n"))

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the lake for one writer; raises LakeBusy at once when another holds it. Gone with the process."""
        path = self.root / ".lock"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = path.open("w")
        except OSError as error:
            raise LakeUnwritable(path, error) from error
        with handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise LakeBusy(self.root) from error
            except OSError as error:
                raise LakeUnwritable(path, error) from error
            yield

    def part(self, layer: str, table: str, cell: str, name: str = "part") -> Path:
        """Path of one file: layer conformed, candidate, joined, measured or monitored; cell "hour=..." etc."""
        return self.root / layer / table / cell / f"{name}.parquet"

    def cells(self, layer: str, table: str) -> list[str]:
        """Names of all cells of a table, sorted; "hour=..." etc."""
        return _names(self.root / layer / table)

    def parts(self, layer: str, table: str) -> dict[str, list[Path]]:
        """All files of a table by the value of their cell (an hour or a day), both sorted."""
        found: dict[str, list[Path]] = {}
        for cell in self.cells(layer, table):
            folder = self.root / layer / table / cell
            files = [folder / name for name in _names(folder) if name.endswith(".parquet")]
            if files:
                found[cell.partition("=")[2]] = files
        return found

    def made_from(self, layer: str, table: str) -> dict[str, str]:
        """Fingerprint of what each cell's part was made from, by the value of the cell."""
        return {cell: inputs_of(paths[0]) or "" for cell, paths in self.parts(layer, table).items()}

    def is_made_from(self, layer: str, tables: Iterable[str], cell: str, inputs: str) -> bool:
        """Whether the part of a cell is there for each of the tables, and was made from `inputs`."""
        return all(inputs_of(self.part(layer, table, cell)) == inputs for table in tables)

    def promote(self, layer: str, table: str, cell: str) -> None:
        """Put a checked candidate in the place of its cell's file in `layer`. Raises LakeUnwritable."""
        target = self.part(layer, table, cell)
        candidate = self.part("candidate", table, cell)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            candidate.replace(target)
            candidate.parent.rmdir()
        except OSError as error:
            raise LakeUnwritable(target, error) from error


def _names(folder: Path) -> list[str]:
    """What a folder holds, sorted; of a long history there are ten thousands of folders, and globbing is slow."""
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _format_in(marker: Path) -> int:
    try:
        return int(json.loads(marker.read_text())["format"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LakeUnreadable(marker, f"no format of a lake ({error!r})") from error


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary name beside `path`, then rename it over; nothing torn stays, LakeUnwritable else."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(temporary)
        temporary.replace(path)
    except OSError as error:
        raise LakeUnwritable(path, error) from error
    finally:
        with suppress(OSError):  # what went wrong is the better error
            temporary.unlink(missing_ok=True)


def write_parquet(path: Path, table: pa.Table, *, inputs: str = "") -> None:
    """Write one Parquet file atomically, with the fingerprint of its inputs in its metadata."""
    metadata = {**(table.schema.metadata or {}), INPUTS: inputs.encode()}
    kept = table.replace_schema_metadata(metadata)
    options = {"compression": "zstd", "compression_level": 1, "use_dictionary": _words(table)}
    write_atomically(path, lambda temporary: pq.write_table(kept, temporary, row_group_size=ROWS_A_GROUP, **options))


def write_each(write: Callable[[Part], None], parts: Iterable[Part]) -> None:
    """Call `write` for each part, some at a time: writing one Parquet file keeps no more than one core busy."""
    with ThreadPoolExecutor(_WRITERS, thread_name_prefix="parquet") as pool:
        deque(pool.map(write, parts), maxlen=0)


def _words(table: pa.Table) -> list[str]:
    """Columns of words that come again and again: what else there is, a dictionary makes slower and larger."""
    first = table.slice(0, 1000)
    texts = [field.name for field in table.schema if pa.types.is_string(field.type)]
    return [name for name in texts if 2 * pc.count_distinct(first.column(name)).as_py() <= max(first.num_rows, 2)]


def inputs_of(path: Path) -> str | None:
    """Fingerprint that a Parquet file was written with, None where there is no such file."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return _inputs_of(path, status.st_ino, status.st_mtime_ns)


@lru_cache(maxsize=1_000_000)
def _inputs_of(path: Path, _inode: int, _modified_ns: int) -> str:
    """A footer is read once while its file stays: every stage asks for those of all history."""
    metadata: dict[bytes, bytes] = pq.read_schema(path).metadata or {}
    return metadata.get(INPUTS, b"").decode()


def delete(paths: Iterable[Path]) -> None:
    """Remove files, and folders that this leaves empty. Raises LakeUnwritable."""
    for path in paths:
        try:
            path.unlink(missing_ok=True)
            if not any(path.parent.iterdir()):
                path.parent.rmdir()
        except OSError as error:
            raise LakeUnwritable(path, error) from error
