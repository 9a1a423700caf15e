"""`make drill-full-disk`: runs on a disk that is full, and compares what the next one publishes once there is room.

The lake lies on a file system in memory of a random size, which every write fills somewhere. Needs Linux, and root to
mount it.
"""

import random
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from end_to_end.harmed_runs import Usual, drill, run_command

_LEAST_BYTES = 2**16


class FullDisk:
    """A file system at a folder that has room for less than a run writes."""

    def __init__(self, at: Path, size_bytes: int) -> None:
        self._at = at
        at.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "goodput-drill", at], check=True)

    def run(self, config: Path) -> str | None:
        """One run; in what it was harmed, None where there was room."""
        return run_command(config) or None

    def mend(self) -> None:
        """Make room."""
        subprocess.run(["mount", "-o", "remount,size=1g", self._at], check=True)

    def unmount(self) -> None:
        """Leave nothing mounted."""
        subprocess.run(["umount", self._at], check=True)


@contextmanager
def filling(folder: Path, usual: Usual, rng: random.Random) -> Iterator[FullDisk]:
    """A disk of a random size, up to what the lake usually takes."""
    files = (path for path in usual.workspace.lake.root.rglob("*") if path.is_file())
    usual_bytes = sum(path.stat().st_blocks * 512 for path in files)
    disk = FullDisk(folder / "lake", round(rng.uniform(_LEAST_BYTES, usual_bytes)))
    try:
        yield disk
    finally:
        disk.unmount()


if __name__ == "__main__":
    drill("full_disk_drill", __doc__, filling, 200)
