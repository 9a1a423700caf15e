"""Files of the landing zone that messages are appended to: what `append` has returned from is on disk.

One file per kind at a time. A file is written by one process only and never again once it was left: for a newer
one, at a failed write, or at the end of the process. Who waits for the writing is not known here.
"""

import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from goodput.receive.encoding import NAMES, Kind

_NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC


@dataclass
class _File:
    path: Path
    descriptor: int
    opened_s: float
    bytes_on_disk: int = 0


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
        self._open: dict[Kind, _File] = {}

    def append(self, kind: Kind, messages: Iterable[bytes]) -> None:
        """Append whole messages, durably. Raises OSError, and then none of them is in a file."""
        file = self._file(kind)
        content = b"".join(messages)
        try:
            _write_all(file.descriptor, content)
            os.fsync(file.descriptor)
        except OSError:
            # After a failed fsync nobody knows what is on disk: what was acknowledged is, and nothing is added to it.
            self._abandon(self._open.pop(kind))
            raise
        file.bytes_on_disk += len(content)

    def close(self) -> None:
        """Leave every file."""
        while self._open:
            os.close(self._open.popitem()[1].descriptor)

    def _file(self, kind: Kind) -> _File:
        file = self._open.get(kind)
        if file and (file.bytes_on_disk >= self._rotate_bytes or self._clock() - file.opened_s >= self._rotate_s):
            os.close(self._open.pop(kind).descriptor)
            file = None
        if file is None:
            file = self._open[kind] = self._make(kind)
        return file

    def _make(self, kind: Kind) -> _File:
        stem = f"{NAMES[kind.signal]}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
        number = 0
        while True:
            number += 1
            path = self._folder / f"{stem}-{number:04}.{kind.encoding.suffix}"
            with suppress(FileExistsError):
                file = _File(path, os.open(path, _NEW, 0o666), self._clock())
                break
        try:
            sync_folder(self._folder)
        except OSError:
            self._abandon(file)
            raise
        self.files_made += 1
        return file

    def _abandon(self, file: _File) -> None:
        """Cut off what was not acknowledged, as far as the disk still lets us: readers bear a torn tail too."""
        with suppress(OSError):
            if file.bytes_on_disk:
                os.ftruncate(file.descriptor, file.bytes_on_disk)
                os.fsync(file.descriptor)
            else:
                file.path.unlink()
        with suppress(OSError):
            os.close(file.descriptor)


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
