"""Folders below TMPDIR that queries spill to: one of each process, gone with it, or with the next where it was killed.

A file in each is locked as long as its process lives, which no process of another is: what nobody locks is left over.
"""

import atexit
import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import gettempdir, mkdtemp

_PREFIX = "goodput-spill-"
_LOCK = "lock"


@cache
def own_folder() -> Path:
    """The folder of this process, made at the first call; what dead processes left is removed then."""
    sweep()
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(spill_folder())


@contextmanager
def spill_folder() -> Iterator[Path]:
    """A folder that no other process removes, and that is removed in the end."""
    folder, lock = _made()
    try:
        yield folder
    finally:
        _remove(folder)
        os.close(lock)


def sweep() -> None:
    """Remove the folders of this user's dead processes; those of live ones stay."""
    for entry in os.scandir(gettempdir()):
        if entry.name.startswith(_PREFIX):
            with suppress(OSError):  # gone meanwhile, or not this user's: nobody waits for it
                if entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_uid == os.getuid():
                    _remove_if_left(Path(entry.path))


def _made() -> tuple[Path, int]:
    """A new folder, and the descriptor of its locked file."""
    while True:
        folder = Path(mkdtemp(prefix=_PREFIX))  # not where the user stands
        with suppress(FileNotFoundError):  # swept before its lock was there
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            if _is_taken(lock) and (folder / _LOCK).exists():
                return folder, lock
            os.close(lock)


def _is_taken(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _remove_if_left(folder: Path) -> None:
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        folder.rmdir()  # of one that died before it had a lock: with anything in it, it stays
        return
    try:
        if _is_taken(lock):
            _remove(folder)
    finally:
        os.close(lock)


def _remove(folder: Path) -> None:
    """Remove a folder whose lock is held, the lock last: who dies halfway leaves it to the next."""
    with suppress(OSError):
        for entry in list(os.scandir(folder)):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            elif entry.name != _LOCK:
                os.unlink(entry.path)
        (folder / _LOCK).unlink()
        folder.rmdir()
