"""Where a lake is kept: in its folder, or in an object store, of which the folder on this machine is a copy.

Everything computes, reads and commits in the folder. What the folder has beyond that is here: nothing for a lake
of files, which is what this class does; `object_store` has the other one.
"""

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from goodput.errors import ExtraMissing, LakeUnwritable
from goodput.plumbing.part_check import wrong_with
from goodput.plumbing.write_lock import WriteLock

if TYPE_CHECKING:
    import duckdb

    from goodput.plumbing.catalog import Part
    from goodput.plumbing.object_store.bucket import Listed
    from goodput.settings.model import Settings

# Files that a lake has beside its parts. Whatever else lies in its folder is of that machine alone: locks, notes of
# what is up to date, temporary files.
KEPT = (
    "lake.json",
    "pruned.json",
    "erased.json",
    "identities.json",
    "replaced.json",
    "ingesting.json",
    "alarm_actions.jsonl",
    "goodput.duckdb",
)


class Store:
    """The folder is the lake: there is nothing to bring or to send."""

    url: str | None = None  # of the lake where it is kept elsewhere

    def hold(self, lock: WriteLock, wait_s: float) -> AbstractContextManager[None]:
        """Be the one writer on any machine while the folder's own lock is held, and have the lake as it is.

        Notes in the lock whether a writer elsewhere was broken off. Raises LakeBusy, StoreFailed, StoreRefused.
        """
        return self._hold(lock, wait_s)

    @contextmanager
    def _hold(self, _lock: WriteLock, _wait_s: float) -> Iterator[None]:
        yield

    def pull(self) -> None:
        """Bring what others have committed into the folder. Raises StoreFailed."""

    def pull_published(self) -> None:
        """Bring the published database and the small files of the lake into the folder. Raises StoreFailed."""

    def fetch(self, parts: Iterable[Path]) -> None:
        """Have some parts in the folder, to be read. Raises LakeUnreadable, StoreFailed."""

    def add(self, parts: Iterable["Part"]) -> None:
        """Keep new parts, before a commit makes them count. Raises LeaseLost, StoreFailed."""

    def commit(self, table_root: Path) -> None:
        """Make the newest commit of a table count, with what belongs to its log. Raises LeaseLost, StoreFailed."""

    def keep(self, path: Path) -> None:
        """Keep a small file of the lake as it is in the folder now, or note that it is gone.

        Raises LeaseLost, StoreFailed.
        """

    def append(self, path: Path, line: bytes) -> None:
        """Add a line to a file that several may add to, in the place of one that was never finished.

        It is on disk once this returns. Raises LakeUnwritable, StoreFailed.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                file.seek(0)
                file.truncate(file.read().rfind(b"\n") + 1)
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise LakeUnwritable(path, error) from error

    def delete(self, paths: Iterable[Path]) -> None:
        """Delete parts that do not count any more. Raises LeaseLost, StoreFailed."""

    def strays(self) -> list[Path]:
        """Where parts lie that the folder does not have, be it that they count or not. Raises StoreFailed."""
        return []

    def damage(self, part: "Part") -> str | None:
        """What is wrong with a part that counts."""
        return wrong_with(part.path, part)

    def damaged_files(self) -> list[str]:
        """Small files that are damaged where they are kept, and cannot be kept again from here. Raises StoreFailed."""
        return []

    def reading(self, connection: "duckdb.DuckDBPyConnection") -> "duckdb.DuckDBPyConnection":
        """A connection to the published database whose questions find the parts that they read."""
        return connection


IN_FOLDER = Store()


class Objects(Protocol):
    """The objects below an address, as who reads them needs them. All raise StoreFailed."""

    def listed(self, prefixes: Iterable[str]) -> "list[Listed]":
        """The objects in each of some folders."""
        ...

    def download(self, key: str, to: Path) -> bool:
        """Write an object to a file; False where there is none. Raises OSError of the file."""
        ...

    def has(self, key: str) -> bool:
        """Whether an object is there."""
        ...


def bucket_of(url: str) -> Objects:
    """The objects below an address. Raises ExtraMissing, StoreFailed."""
    try:
        from goodput.plumbing.object_store.bucket import Bucket  # noqa: PLC0415  (not installed by default)
    except ImportError as error:
        raise ExtraMissing(f"A landing zone in an object store ({url})", "cluster") from error
    return Bucket(url)


def download_published(url: str, name: str, to: Path) -> bool:
    """Write one of the files KEPT of a lake in an object store to a file; False where there is none.

    Raises ExtraMissing, StoreFailed, LakeTooNew, OSError of the file.
    """
    try:
        from goodput.plumbing.object_store import published  # noqa: PLC0415  (not installed by default)
    except ImportError as error:
        raise ExtraMissing(f"A lake in an object store ({url})", "cluster") from error
    return published.download_published(url, name, to)


def store_of(settings: "Settings") -> Store:
    """Where the settings have the lake. Raises ExtraMissing, StoreFailed, CacheOfAnotherLake."""
    if settings.lake_url is None:
        return IN_FOLDER
    try:
        from goodput.plumbing.object_store.store import ObjectStore  # noqa: PLC0415  (not installed by default)
    except ImportError as error:
        raise ExtraMissing(f"A lake in an object store ({settings.lake_url})", "cluster") from error
    return ObjectStore(settings.lake_url, settings.lake_path, settings.lake_cache.max_bytes)
