"""`make drill-kill`: kills runs at random instants, and compares what the next one publishes with a lake nobody killed.

A trial lands its files in several steps. At each, settings may change, and two to four runs are killed with SIGKILL; at
the end one is left alone. Beside it a reader opens the database again and again.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

import duckdb
from rich.console import Console
from rich.table import Table

from end_to_end.test_same_sources_same_tables import QUIET, check_identities, measured, sources
from goodput.plumbing.blocked import Blocked
from goodput.plumbing.workspace import Workspace

_RUN = [sys.executable, "-c", "from goodput.cli.main import main; main()", "run", "--config"]
_READS_EVERY_S = 0.02
_STEPS = (2, 3, 4)


class Ended(NamedTuple):
    """What became of a lake of which runs were killed."""

    killed_in: Counter[str]  # kills by what the run was at
    opened: int  # times that a reader opened the database
    unreadable: int  # times that it could not
    ended_well: bool
    blocked: tuple[str, ...]  # partitions, with the reason
    differing: tuple[str, ...]  # tables
    left_over: tuple[str, ...]  # files that no run will ever use or delete

    @property
    def is_good(self) -> bool:
        """Whether it is as if nothing had been killed."""
        return (
            self.ended_well and not self.blocked and not self.unreadable and not self.differing and not self.left_over
        )


def kill(seed: int, folder: Path) -> Ended:
    """One trial in a folder of its own."""
    rng, config = random.Random(seed), folder / "goodput.toml"
    (folder / "landing").mkdir()
    files = sources(rng)
    steps = rng.choice(_STEPS)
    settings = [QUIET.replace("ttft_s = 1.0", f"ttft_s = {rng.choice([0.5, 1.0])}") for _ in range(steps)]
    whole, usual_s = _never_killed(folder, files, settings[-1])
    killed_in = Counter[str]()
    with _reading(folder / "lake/goodput.duckdb") as opened:
        order = rng.sample(sorted(files), k=len(files))
        for step in range(steps):
            config.write_text(settings[step])
            for name in order[step::steps]:
                (folder / "landing" / name).write_text(files[name])
            for _ in range(rng.choice([2, 3, 4])):
                killed_in[_run(config, rng.uniform(0, usual_s))] += 1
        ended_well = _run(config, None) == "end"
    del killed_in["end"]  # nothing was left to do
    workspace = Workspace(config)
    found = measured(workspace)
    differing = tuple(name for name, frame in measured(whole).items() if not found[name].equals(frame))
    check_identities(workspace)
    blocked = tuple(f"{one.table} {one.partition}: {one.reason}" for one in Blocked(workspace.lake).all())
    return Ended(
        killed_in,
        opened.pop("opened", 0),
        opened.total(),
        ended_well,
        blocked,
        differing,
        tuple(_left_over(workspace)),
    )


def _run(config: Path, kill_after_s: float | None) -> str:
    """A run in a process of its own; "end", or what it was at when it was killed, or "error"."""
    process = subprocess.Popen([*_RUN, config], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        return "error" if process.wait(kill_after_s) > 1 else "end"  # 1: rows of these files break rules
    except subprocess.TimeoutExpired:
        at = _at(config.parent / "lake")
        process.kill()
        process.wait()
        return at


def _at(lake: Path) -> str:
    """What a run is at, by what lies in its lake."""
    if (lake / "ingesting.json").exists():
        return "commit of sources"
    if any(lake.glob(".goodput.duckdb*")):
        return "publication"
    return "computation" if any(lake.glob("conformed/*/*")) else "start"


def _never_killed(folder: Path, files: dict[str, str], settings: str) -> tuple[Workspace, float]:
    """A lake of all files at once, and how many seconds its one run took."""
    whole = folder / "whole"
    (whole / "landing").mkdir(parents=True)
    for name, text in files.items():
        (whole / "landing" / name).write_text(text)
    (whole / "goodput.toml").write_text(settings)
    began = time.monotonic()
    assert _run(whole / "goodput.toml", None) == "end"
    return Workspace(whole / "goodput.toml"), time.monotonic() - began


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


def main() -> None:
    """Run the trials and print what became of them; exit 1 where a run did not mend what was killed."""
    parser = argparse.ArgumentParser(prog="python -m end_to_end.kill_drill", description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="seed of the first trial")
    parser.add_argument("--kills", type=int, default=500, help="how many at least")
    asked = parser.parse_args()
    console, all_ended = Console(), list[Ended]()
    while sum(ended.killed_in.total() for ended in all_ended) < asked.kills:
        seed = asked.first + len(all_ended)
        folder = Path(mkdtemp(prefix="goodput-drill-"))
        all_ended.append(kill(seed, folder))
        console.print(f"seed {seed}: {all_ended[-1]}", soft_wrap=True)
        if all_ended[-1].is_good:
            shutil.rmtree(folder)
        else:
            console.print(f"  see {folder}", soft_wrap=True)
    console.print(_summary(all_ended))
    raise SystemExit(not all(ended.is_good for ended in all_ended))


def _summary(all_ended: list[Ended]) -> Table:
    drawn = Table(
        "trials",
        "kills",
        "at",
        "database opened",
        "could not be",
        "next run failed",
        "blocked",
        "tables differ",
        "left over",
    )
    kills = sum((ended.killed_in for ended in all_ended), Counter[str]())
    at = ", ".join(f"{stage} {count}" for stage, count in kills.most_common())
    failed = sum(not ended.ended_well for ended in all_ended)
    counted = ("blocked", "differing", "left_over")
    blocked, differing, left_over = (sum(len(getattr(ended, name)) for ended in all_ended) for name in counted)
    opened, unreadable = (sum(getattr(ended, name) for ended in all_ended) for name in ("opened", "unreadable"))
    cells = (len(all_ended), kills.total(), at, f"{opened:,}", unreadable, failed, blocked, differing, left_over)
    drawn.add_row(*map(str, cells))
    return drawn


if __name__ == "__main__":
    main()
