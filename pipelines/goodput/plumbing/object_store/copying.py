"""Who on this machine may change the copy of a lake: the writer while it writes, else one process after another.

Beside the writer's own lock, so that a question that brings the copy up to date never keeps a run from beginning.
"""

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from goodput.errors import LakeUnwritable

_RETRY_S = 0.1


class Copying:
    """The lock of the copy in a folder; gone with the process that holds it."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @contextmanager
    def held(self) -> Iterator[None]:
        """Change it as the writer, once a question that changes it has ended. Raises LakeUnwritable."""
        with self._opened() as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield

    @contextmanager
    def unless_written(self) -> Iterator[bool | None]:
        """Whether a writer of this machine was broken off; None where one is at work, and has the copy to itself.

        Raises LakeUnwritable.
        """
        with self._opened() as handle:
            while not _is_taken(handle):
                if self._is_begun():
                    yield None
                    return
                time.sleep(_RETRY_S)
            yield self._is_begun()

    def _is_begun(self) -> bool:
        """Whether a writer has begun and has not said that it has ended: it writes, or died."""
        try:
            return (self._root / ".lock").stat().st_size > 0
        except FileNotFoundError:
            return False

    def _opened(self) -> IO[bytes]:
        path = self._root / ".copying.lock"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            return path.open("a+b", buffering=0)
        except OSError as error:
            raise LakeUnwritable(path, error) from error


def _is_taken(handle: IO[bytes]) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
