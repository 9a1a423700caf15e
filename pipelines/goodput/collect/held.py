"""A file held open at what it was when it was identified, whatever its writer does with its path since.

Collectors rename, truncate, compress and replace the files that they write, and append to them.
"""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, NamedTuple

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_CLOCK_STEP_NS = 2 * 10**9  # two changes within one step of a file system's clock leave the same time


def settled_ns(modified_ns: int, now_ns: int) -> int:
    """The time of a file's last change, 0 where another change after `now_ns` might leave it the same."""
    return modified_ns if now_ns - modified_ns > _CLOCK_STEP_NS else 0


class Stamp(NamedTuple):
    """Which file it is and when it last changed, as the file system reports."""

    device: int
    inode: int
    size_bytes: int
    modified_ns: int
    changed_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> "Stamp":
        """The stamp in a file's status."""
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)

    def is_settled(self, now_ns: int) -> bool:
        """Whether another change would have shown in a stamp of that time."""
        return settled_ns(self.modified_ns, now_ns) > 0


class HeldFile:
    """The first bytes of an open file, up to a size; what is appended is not seen. `open` gives a reader of its own."""

    def __init__(self, path: Path, descriptor: int, size_bytes: int) -> None:
        self.path = path
        self._descriptor = descriptor
        self._size_bytes = size_bytes

    def open(self, _mode: Literal["rb"] = "rb") -> BinaryIO:
        """A reader from the first byte; it stays good as long as the file is held."""
        return io.BufferedReader(_Region(self._descriptor, self._size_bytes))

    def stat(self) -> os.stat_result:
        """The status of the whole file now. Raises OSError."""
        return os.fstat(self._descriptor)

    def __str__(self) -> str:
        return str(self.path)


Readable = Path | HeldFile


@contextmanager
def hold(path: Path, size_bytes: int) -> Iterator[HeldFile]:
    """Hold a file at its first `size_bytes`. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield HeldFile(path, descriptor, size_bytes)
    finally:
        os.close(descriptor)


class _Region(io.RawIOBase):
    """Bytes of a descriptor up to a size, read without its position, which all readers share."""

    def __init__(self, descriptor: int, size_bytes: int) -> None:
        self._descriptor = descriptor
        self._size_bytes = size_bytes
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size_bytes}[whence]
        self._at = max(0, base + offset)
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer).cast("B")
        wanted = min(len(view), max(0, self._size_bytes - self._at))
        got = os.preadv(self._descriptor, [view[:wanted]], self._at) if wanted else 0
        self._at += got
        return got
