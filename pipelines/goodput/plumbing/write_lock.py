"""One writer of a lake at a time, and whether the one before came to its end."""

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from goodput.errors import LakeBusy, LakeUnwritable

_RETRY_S = 0.5
_WRITING = b"writing"


class WriteLock:
    """The lock of a lake; gone with the process that holds it, whose word in the file then stays."""

    def __init__(self, lake_root: Path) -> None:
        self._root = lake_root
        self.is_broken_off = False  # a writer died or failed, and what it left uncommitted may lie about
        self._is_begun = False

    @contextmanager
    def hold(self, wait_s: float) -> Iterator[None]:
        """Hold it, waiting up to `wait_s` for another to end. Raises LakeBusy, LakeUnwritable."""
        path = self._root / ".lock"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = path.open("a+b", buffering=0)  # closing has nothing to write that could fail
        except OSError as error:
            raise LakeUnwritable(path, error) from error
        with handle:
            self._take(handle, path, time.monotonic() + wait_s)
            self._begin(handle, path)
            self._is_begun = True
            try:
                yield
            except BaseException:
                if not self._is_begun and not self.is_broken_off:
                    self._end(handle, path)
                raise
            if not self.is_broken_off:
                self._end(handle, path)

    def has_not_begun(self) -> None:
        """Whoever holds it leaves without having written anything, as another machine writes."""
        self._is_begun = False

    def _begin(self, handle: IO[bytes], path: Path) -> None:
        try:
            handle.seek(0)
            self.is_broken_off = handle.read() != b""
            if not self.is_broken_off:
                handle.write(_WRITING)
        except OSError as error:
            raise LakeUnwritable(path, error) from error

    def _end(self, handle: IO[bytes], path: Path) -> None:
        try:
            handle.truncate(0)
        except OSError as error:
            raise LakeUnwritable(path, error) from error

    def _take(self, handle: IO[bytes], path: Path, until: float) -> None:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                if time.monotonic() >= until:
                    raise LakeBusy(self._root) from error
                time.sleep(_RETRY_S)
            except OSError as error:
                raise LakeUnwritable(path, error) from error
            else:
                return
