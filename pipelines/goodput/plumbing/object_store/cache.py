"""Parts on this machine: immutable files, fetched when they are read, the least recently used deleted over a bound."""

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from goodput.errors import LakeUnreadable
from goodput.plumbing.catalog import PARTITION
from goodput.plumbing.durable import sync
from goodput.plumbing.object_store.bucket import Bucket, each
from goodput.plumbing.part_check import content_of


class Cache:
    """The parts below the folder of a lake, at most `max_bytes` of them beside those that this process uses."""

    def __init__(self, bucket: Bucket, root: Path, max_bytes: int) -> None:
        self._bucket = bucket
        self._root = root
        self._max_bytes = max_bytes
        self._begun_s = time.time()
        self._held_bytes: int | None = None

    def fetch(self, paths: Iterable[Path]) -> list[Path]:
        """Have parts here; those that were not.

        Raises LakeUnreadable where one is not in the store as it was written; StoreFailed.
        """
        missing = [path for path in dict.fromkeys(paths) if not _is_used(path)]
        if missing:
            each(self._download, missing)
        return missing

    def make_room(self, added: Iterable[Path]) -> None:
        """Delete the least recently used parts over the bound; those that this process has used stay."""
        if self._held_bytes is None:
            self._held_bytes = sum(file.stat().st_size for file in self._files())
        else:
            self._held_bytes += sum(path.stat().st_size for path in added)
        if self._held_bytes <= self._max_bytes:
            return
        for used_s, size_bytes, path in sorted(self._by_use()):
            if self._held_bytes <= self._max_bytes or used_s >= self._begun_s:
                break
            path.unlink(missing_ok=True)
            self._held_bytes -= size_bytes

    def clear(self) -> None:
        """Delete every part, as of identities that are erased: it comes again where it still counts."""
        for path in list(self._files()):
            path.unlink(missing_ok=True)
        self._held_bytes = 0

    def _download(self, path: Path) -> None:
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if not self._bucket.download(path.relative_to(self._root).as_posix(), temporary):
                raise LakeUnreadable(path, "it is missing in the object store")
            if content_of(temporary) != path.stem.partition("-")[2]:
                raise LakeUnreadable(path, "it holds other bytes in the object store than were written")
            sync([temporary])
            temporary.replace(path)
        except OSError as error:
            raise LakeUnreadable(path, str(error)) from error
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)

    def _by_use(self) -> Iterator[tuple[float, int, Path]]:
        for path in self._files():
            with suppress(FileNotFoundError):
                found = path.stat()
                yield found.st_mtime, found.st_size, path

    def _files(self) -> Iterator[Path]:
        return (path for path in self._root.glob(f"*/*/{PARTITION}=*/*.parquet") if not path.name.startswith("."))


def _is_used(path: Path) -> bool:
    """Whether it is here; it then counts as used now."""
    try:
        os.utime(path)
    except FileNotFoundError:
        return False
    return True
