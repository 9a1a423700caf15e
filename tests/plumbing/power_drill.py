"""`make drill-power`: cuts the power of a file system at random instants of runs, and compares what the next publishes.

The lake lies on a file system of its own, in a file. What a process wrote and did not sync is in memory and not in that
file: a copy of the file is what a loss of power leaves. Needs Linux, and root to mount it.
"""

import argparse
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from conform.rotation_drill import SETTINGS, Trial, Writer
from goodput.plumbing.workspace import Workspace
from published import RESTATED, run_at, table

_TABLES = {"goodput": RESTATED, "requests": (), "waste": ()}  # other columns name the files of each state
_SIZE_BYTES = 2**29
_COMMIT_S = 300  # the kernel writes by itself only long after a trial has ended
_RUN = [sys.executable, "-c", "from goodput.cli.main import main; main()", "run", "--config"]


class Cut(NamedTuple):
    """What a loss of power left, and what the next run made of it."""

    run: int  # the first or the second one, at the end of which the power went
    after_s: float
    was_published: bool  # a database was there, and could be opened
    ended_well: bool
    is_equal: bool  # to a lake that never lost its power


@contextmanager
def mounted(image: Path, at: Path) -> Iterator[None]:
    """The file system in a file, at a folder."""
    subprocess.run(["mount", "-o", f"loop,commit={_COMMIT_S}", image, at], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", at], check=True)


def cut_power(seed: int, folder: Path) -> Cut:
    """One or two runs, the power lost somewhere in the last or just after it, and a run on what that leaves."""
    rng = random.Random(seed)
    landing, disk, image, left = (folder / name for name in ("landing", "disk", "disk.img", "left.img"))
    landing.mkdir()
    disk.mkdir()
    with image.open("wb") as file:
        file.truncate(_SIZE_BYTES)
    subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
    config = folder / "goodput.toml"
    config.write_text('lake = "disk/lake"\n' + SETTINGS)
    writer = Writer(Trial(seed, steps=5), landing)
    runs, took_s = rng.choice((1, 2)), 0.0
    with mounted(image, disk):
        for number in range(runs):
            writer.write_all()
            is_last = number + 1 == runs
            took_s = _run(config, rng.uniform(1, 1.1 * (took_s or _usual_s(folder))) if is_last else None)
        subprocess.run(["cp", "--sparse=always", image, left], check=True)
    with mounted(left, disk):
        was_published = (disk / "lake" / "goodput.duckdb").exists() and bool(len(table(Workspace(config), "goodput")))
        ended = subprocess.run([*_RUN, config], capture_output=True, check=False)
        is_equal = ended.returncode == 0 and _published(config) == _never_cut(folder)
    return Cut(runs, took_s, was_published, ended.returncode == 0, is_equal)


def _run(config: Path, cut_after_s: float | None) -> float:
    """A run in a process of its own, killed after a while; seconds until then."""
    began = time.monotonic()
    process = subprocess.Popen([*_RUN, config], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        process.wait(cut_after_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    return time.monotonic() - began


def _usual_s(folder: Path) -> float:
    """How long a first run takes."""
    config = folder / "usual.toml"
    config.write_text('lake = "usual"\n' + SETTINGS)
    return _run(config, None)


def _never_cut(folder: Path) -> list[str]:
    config = folder / "whole.toml"
    config.write_text('lake = "whole"\n' + SETTINGS)
    run_at(config)
    return _published(config)


def _published(config: Path) -> list[str]:
    rows = (table(Workspace(config), name, of_runs) for name, of_runs in _TABLES.items())
    return [of.write_json() for of in rows]


def main() -> None:
    """Run the trials and print what each loss of power left; exit 1 where a run did not mend it."""
    parser = argparse.ArgumentParser(prog="python -m plumbing.power_drill", description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="seed of the first trial")
    parser.add_argument("--trials", type=int, default=100)
    asked = parser.parse_args()
    console, cuts = Console(), []
    for seed in range(asked.first, asked.first + asked.trials):
        cuts.append(_trial(seed))
        console.print(f"seed {seed}: {cuts[-1]}")
    drawn = Table("trials", "during a first run", "a database was there", "next run failed", "tables differ")
    failed, different = (sum(not getattr(cut, name) for cut in cuts) for name in ("ended_well", "is_equal"))
    first, published = sum(cut.run == 1 for cut in cuts), sum(cut.was_published for cut in cuts)
    drawn.add_row(*map(str, (len(cuts), first, published, failed, different)))
    console.print(drawn)
    raise SystemExit(failed + different > 0)


def _trial(seed: int) -> Cut:
    with TemporaryDirectory(prefix="goodput-drill-") as name:
        return cut_power(seed, Path(name))


if __name__ == "__main__":
    if shutil.which("mkfs.ext4") is None:
        raise SystemExit("Needs mkfs.ext4, mount and root.")
    main()
