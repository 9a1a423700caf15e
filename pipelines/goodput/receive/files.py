"""Files of the landing zone that messages are appended to: what `append` has returned from is on disk.

One file per kind at a time. A file is written by one process only and never again once it was left: for a newer
one, at a failed write, at the end of the process, or since its path leads elsewhere. Whoever moves, deletes or edits
files leaves the writer with one that no path of the landing zone leads to. Who waits for the writing is not known here.
"""

import errno
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from goodput.receive.encoding import NAMES, Kind

_NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
_ATTEMPTS = 3  # a file may be moved while it is written to; one that always is, is nowhere to write to


@dataclass
class _OpenFile:
    path: Path
    descriptor: int
    opened_s: float
    identity: tuple[int, int] = field(init=False)

    def __post_init__(self) -> None:
        status = os.fstat(self.descriptor)
        self.identity = status.st_dev, status.st_ino

    def size_bytes(self) -> int | None:
        """Its size, None where its path no longer leads to it. Raises OSError where nobody can tell."""
        try:
            status = self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return status.st_size if (status.st_dev, status.st_ino) == self.identity else None


class LandingFiles:
    """The files of one folder; not for several threads at once.

    Readers may look at any time: a message that is only half written is a torn tail, which waits until the file grows.
    """

    def __init__(
        self, folder: Path, rotate_bytes: int, rotate_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.files_made = 0
        self._folder = folder
        self._rotate_bytes = rotate_bytes
        self._rotate_s = rotate_s
        self._clock = clock
        self._open: dict[Kind, _OpenFile] = {}

    def append(self, kind: Kind, messages: Iterable[bytes]) -> None:
        """Append whole messages, durably. Raises OSError, and then none of them is in a file of the folder."""
        content = b"".join(messages)
        for _ in range(_ATTEMPTS):
            file, size_bytes = self._file(kind)
            try:
                _write_all(file.descriptor, content)
                os.fsync(file.descriptor)
                if file.size_bytes() is not None:
                    return
            except OSError:
                # After a failed fsync nobody knows what is on disk: what was acknowledged is, and nothing is added.
                self._abandon(self._open.pop(kind), size_bytes)
                raise
            self._abandon(self._open.pop(kind), size_bytes)
        raise OSError(errno.ENOENT, "files are moved or deleted while they are written")

    def close(self) -> None:
        """Leave every file."""
        while self._open:
            os.close(self._open.popitem()[1].descriptor)

    def _file(self, kind: Kind) -> tuple[_OpenFile, int]:
        """The file to append to, and its size."""
        file = self._open.get(kind)
        if file:
            size_bytes = file.size_bytes()
            is_young = self._clock() - file.opened_s < self._rotate_s
            if size_bytes is not None and size_bytes < self._rotate_bytes and is_young:
                return file, size_bytes
            os.close(self._open.pop(kind).descriptor)
        file = self._open[kind] = self._make(kind)
        return file, 0

    def _make(self, kind: Kind) -> _OpenFile:
        make_folder(self._folder)
        stem = f"{NAMES[kind.signal]}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
        number = 0
        while True:
            number += 1
            path = self._folder / f"{stem}-{number:04}.{kind.encoding.suffix}"
            with suppress(FileExistsError):
                file = _OpenFile(path, os.open(path, _NEW, 0o666), self._clock())
                break
        try:
            sync_folder(self._folder)
        except OSError:
            self._abandon(file, 0)
            raise
        self.files_made += 1
        return file

    def _abandon(self, file: _OpenFile, acknowledged_bytes: int) -> None:
        """Cut off what was not acknowledged, as far as the disk still lets us: readers bear a torn tail too."""
        with suppress(OSError):
            os.ftruncate(file.descriptor, acknowledged_bytes)
            os.fsync(file.descriptor)
        with suppress(OSError):
            if file.size_bytes() == 0:  # else another file may lie at its path
                file.path.unlink()
        with suppress(OSError):
            os.close(file.descriptor)


def make_folder(folder: Path) -> None:
    """Make a folder that may be there, and its name durable. Raises OSError."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for path in missing:
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
