"""What runs leave that are harmed, as by a kill or a disk, and what the next one makes of it: trials and a report.

A trial lands its files in several steps. At each, settings may change, and a few runs are harmed; at the end one is
left alone, and what it publishes is compared with a lake nobody harmed. Beside it a reader opens the database.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple, Protocol

import duckdb
from rich.console import Console
from rich.table import Table

from end_to_end.test_same_sources_same_tables import QUIET, check_identities, measured, sources
from goodput.plumbing.blocked import Blocked
from goodput.plumbing.workspace import Workspace

_RUN = [sys.executable, "-c", "from goodput.cli.main import main; main()", "run", "--config"]
CRASH = "crash"  # the first word of what a run was harmed in that did not end as runs do
_CRASHED = "an error that it did not expect"  # of the command's own words
_UNWRITABLE = "No space left on device"
_READS_EVERY_S = 0.02
_STEPS = (2, 3, 4)


class Usual(NamedTuple):
    """A run over all files at once that nothing harms."""

    workspace: Workspace
    took_s: float


class Harm(Protocol):
    """What is done to the runs of one trial."""

    def run(self, config: Path) -> str | None:
        """One run; in what it was harmed, None where it came to its end all the same."""

    def mend(self) -> None:
        """Let the next run be."""


Harming = Callable[[Path, Usual, random.Random], AbstractContextManager[Harm]]  # in a folder, beside the usual run


class Ended(NamedTuple):
    """What became of a lake whose runs were harmed."""

    harmed_in: Counter[str]  # runs by what they were at, or by how they crashed
    opened: int  # times that a reader opened the database
    unreadable: int  # times that it could not
    ended_well: bool
    blocked: tuple[str, ...]  # partitions, with the reason
    differing: tuple[str, ...]  # tables
    left_over: tuple[str, ...]  # files that no run will ever use or delete

    @property
    def is_good(self) -> bool:
        """Whether it is as if nothing had happened."""
        crashed = any(at.startswith(CRASH) for at in self.harmed_in)
        return self.ended_well and not any((crashed, self.blocked, self.unreadable, self.differing, self.left_over))


def trial(seed: int, folder: Path, harming: Harming) -> Ended:
    """One trial in a folder of its own."""
    rng, config = random.Random(seed), folder / "goodput.toml"
    (folder / "landing").mkdir()
    files = sources(rng)
    steps = rng.choice(_STEPS)
    settings = [QUIET.replace("ttft_s = 1.0", f"ttft_s = {rng.choice([0.5, 1.0])}") for _ in range(steps)]
    usual = _usual(folder, files, settings[-1])
    order, harmed_in = rng.sample(sorted(files), k=len(files)), Counter[str]()
    with harming(folder, usual, rng) as harm:
        with _reading(folder / "lake/goodput.duckdb") as opened:
            for step in range(steps):
                config.write_text(settings[step])
                for name in order[step::steps]:
                    (folder / "landing" / name).write_text(files[name])
                harmed_in.update(filter(None, (harm.run(config) for _ in range(rng.choice([2, 3, 4])))))
            harm.mend()
            ended_well = run_command(config) == ""
        workspace = Workspace(config)
        found = measured(workspace)
        differing = tuple(name for name, frame in measured(usual.workspace).items() if not found[name].equals(frame))
        check_identities(workspace)
        blocked = tuple(f"{one.table} {one.partition}: {one.reason}" for one in Blocked(workspace.lake).all())
        readable = opened.pop("opened", 0)
        return Ended(harmed_in, readable, opened.total(), ended_well, blocked, differing, tuple(_left_over(workspace)))


def start_command(config: Path, environment: Mapping[str, str] | None = None) -> "subprocess.Popen[str]":
    """`goodput run`, begun."""
    own = None if environment is None else {**os.environ, **environment}
    return subprocess.Popen([*_RUN, config], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=own)


def run_command(config: Path) -> str:
    """`goodput run` to its end; what went wrong, empty where nothing did but rows that break rules."""
    process = start_command(config)
    _, said = process.communicate()
    if _CRASHED in said:
        return CRASH
    return "refused" if _UNWRITABLE in said else ""  # rows of these files break rules, which is said as well


def _usual(folder: Path, files: dict[str, str], settings: str) -> Usual:
    whole = folder / "whole"
    (whole / "landing").mkdir(parents=True)
    for name, text in files.items():
        (whole / "landing" / name).write_text(text)
    (whole / "goodput.toml").write_text(settings)
    began = time.monotonic()
    assert run_command(whole / "goodput.toml") == ""
    return Usual(Workspace(whole / "goodput.toml"), time.monotonic() - began)


def _left_over(workspace: Workspace) -> Iterator[str]:
    """Temporary files, and parts that no table counts and that nothing will delete."""
    root, catalog = workspace.lake.root, workspace.lake.catalog
    tables = [log.parent.name for log in root.glob("*/*/_delta_log")]
    known = {part.path for table in tables for parts in catalog[table].parts.values() for part in parts}
    replaced = root / "replaced.json"
    known |= {root / name for name in json.loads(replaced.read_text())} if replaced.exists() else set()
    for path in root.rglob("*"):
        is_part = path.suffix == ".parquet" and "period=" in path.parent.name
        if (
            (path.name.startswith(".") and path.name != ".lock")
            or path.suffix in {".tmp", ".wal"}
            or (is_part and path not in known)
        ):
            yield str(path.relative_to(root))


@contextmanager
def _reading(database: Path) -> Iterator[Counter[str]]:
    """A thread that opens the database all the while; how often it could, and could not."""
    opened, over = Counter[str](), threading.Event()

    def read() -> None:
        while not over.wait(_READS_EVERY_S):
            if database.exists():
                opened[_read(database)] += 1

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield opened
    finally:
        over.set()
        reader.join()


def _read(database: Path) -> str:
    try:
        with duckdb.connect(database, read_only=True) as connection:
            connection.execute("SELECT sum(offered), sum(cost_usd) FROM goodput").fetchall()
    except duckdb.Error as error:
        return str(error)
    return "opened"


def drill(name: str, description: str | None, harming: Harming, harmed: int) -> None:
    """Run trials until so many runs were harmed, and print what became of them; exit 1 where a run did not mend it."""
    parser = argparse.ArgumentParser(prog=f"python -m end_to_end.{name}", description=description)
    parser.add_argument("--first", type=int, default=0, help="seed of the first trial")
    parser.add_argument("--runs", type=int, default=harmed, help="how many to harm at least")
    asked = parser.parse_args()
    console, all_ended = Console(), list[Ended]()
    while sum(ended.harmed_in.total() for ended in all_ended) < asked.runs:
        seed = asked.first + len(all_ended)
        folder = Path(mkdtemp(prefix="goodput-drill-"))
        all_ended.append(trial(seed, folder, harming))
        console.print(f"seed {seed}: {all_ended[-1]}", soft_wrap=True)
        if all_ended[-1].is_good:
            shutil.rmtree(folder)
        else:
            console.print(f"  see {folder}", soft_wrap=True)
    console.print(_summary(all_ended))
    raise SystemExit(not all(ended.is_good for ended in all_ended))


def _summary(all_ended: list[Ended]) -> Table:
    harmed = sum((ended.harmed_in for ended in all_ended), Counter[str]())
    at = ", ".join(f"{stage} {count}" for stage, count in harmed.most_common())
    failed = sum(not ended.ended_well for ended in all_ended)
    counted = ("blocked", "differing", "left_over")
    blocked, differing, left_over = (sum(len(getattr(ended, name)) for ended in all_ended) for name in counted)
    opened, unreadable = (sum(getattr(ended, name) for ended in all_ended) for name in ("opened", "unreadable"))
    drawn = Table(
        *("trials", "harmed", "in", "database opened", "could not be"),
        *("next run failed", "blocked", "tables differ", "left over"),
    )
    cells = (len(all_ended), harmed.total(), at, f"{opened:,}", unreadable, failed, blocked, differing, left_over)
    drawn.add_row(*map(str, cells))
    return drawn
