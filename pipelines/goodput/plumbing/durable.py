"""What is written survives a loss of power before anything refers to it: files and their folders are synced.

A rename or a new name is in the folder, not in the file, and reaches the disk with the folder alone.
"""

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from os.path import dirname
from pathlib import Path

_AT_ONCE = 8  # a file system writes the journal once for many that wait


def sync(files: Iterable[Path | str]) -> None:
    """Wait until files, and the names of them and of their folders, are on disk. Raises OSError."""
    paths = [str(file) for file in files]
    parents = {dirname(path) or "." for path in paths}
    folders = parents | {dirname(folder) or "." for folder in parents}
    _sync_all(paths)
    _sync_all(sorted(folders))


def _sync_all(paths: Sequence[str]) -> None:
    if len(paths) < 2:
        _sync_each(paths)
        return
    with ThreadPoolExecutor(_AT_ONCE) as pool:  # a future for each path would take longer than to write it
        list(pool.map(_sync_each, (paths[first::_AT_ONCE] for first in range(_AT_ONCE))))


def _sync_each(paths: Iterable[str]) -> None:
    for path in paths:
        _sync(path)


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
