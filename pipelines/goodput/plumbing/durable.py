"""What is written survives a loss of power before anything refers to it: files and their folders are synced.

A rename or a new name is in the folder, not in the file, and reaches the disk with the folder alone.
"""

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from os.path import dirname
from pathlib import Path

_AT_ONCE = 8  # a file system writes the journal once for many that wait


def sync(files: Iterable[Path | str]) -> None:
    """Wait until files, and the names of them and of their folders, are on disk. Raises OSError."""
    paths = [str(file) for file in files]
    parents = {dirname(path) or "." for path in paths}
    folders = parents | {dirname(folder) or "." for folder in parents}
    if len(paths) == 1:
        _sync(paths[0])
    elif paths:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(_sync, paths))
    for folder in sorted(folders):
        _sync(folder)


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
