"""`make drill-landing`: a writer rotates its files in every way while runs loop; every row is published once at last.

A trial is a process that writes numbered spans, a few at a time, and between them renames, truncates after copying,
compresses, moves or replaces the file that it writes; and beside it runs that ingest without pause.
"""

import argparse
import gzip
import multiprocessing
import random
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from collect.telemetry import CHAT, span, spans_line
from goodput.conform.ingest import ingest
from goodput.plumbing.workspace import Workspace
from goodput.run import run
from published import ask

WAYS = ("append", "append", "append", "rename", "copy_and_truncate", "compress", "move", "replace", "compress_rotated")
SETTINGS = """landing = ["landing"]
[alarms]
enabled = false
[workloads.all]
e2e_s = 60
"""


@dataclass(frozen=True)
class Trial:
    """A seed and how many times the writer writes."""

    seed: int
    steps: int


@dataclass(frozen=True)
class Ended:
    """What became of the rows of a trial."""

    written: int
    published: int
    distinct: int
    runs: int

    @property
    def lost_or_twice(self) -> int:
        """Rows that are published not at all or more than once."""
        return (self.written - self.distinct) + (self.published - self.distinct)


class Writer:
    """Writes numbered spans into one file and rotates it."""

    def __init__(self, trial: Trial, landing: Path) -> None:
        self._rng = random.Random(trial.seed)
        self._steps = trial.steps
        self._landing = landing
        self._path = landing / "spans.jsonl"
        self._rotated = 0
        self._written = 0

    def write_all(self) -> None:
        """Every step: rotate or not, then append."""
        for _ in range(self._steps):
            way = self._rng.choice(WAYS)
            if self._path.exists() and way != "append":
                getattr(self, f"_{way}")()
            with self._path.open("a") as file:
                file.write(self._lines())
            time.sleep(self._rng.choice([0, 0, 0.001, 0.01, 0.03]))

    def _lines(self) -> str:
        """One to fifty spans, each in a line of its own."""
        numbers = range(self._written + 1, self._written + self._rng.choice([1, 2, 5, 50]) + 1)
        self._written = numbers[-1]
        return "".join(spans_line(_span(number)) + "\n" for number in numbers)

    def _next(self, suffix: str = "") -> Path:
        self._rotated += 1
        return self._landing / f"spans.jsonl.{self._rotated}{suffix}"

    def _rename(self) -> None:
        self._path.rename(self._next())

    def _move(self) -> None:
        folder = self._landing / "old"
        folder.mkdir(exist_ok=True)
        self._path.rename(folder / self._next().name)

    def _copy_and_truncate(self) -> None:
        partial = self._landing / ".copy"
        shutil.copy(self._path, partial)
        partial.rename(self._next())
        self._path.write_bytes(b"")

    def _compress(self) -> None:
        partial = self._landing / ".gz"
        partial.write_bytes(gzip.compress(self._path.read_bytes()))
        partial.rename(self._next(".gz"))
        self._path.unlink()

    def _replace(self) -> None:
        partial = self._landing / ".new"
        partial.write_text(self._lines())
        self._path.rename(self._next())
        partial.rename(self._path)

    def _compress_rotated(self) -> None:
        """What log rotation does a day later: the rotated file is compressed."""
        plain = [path for path in self._landing.glob("spans.jsonl.*") if path.suffix != ".gz"]
        if plain:
            chosen = self._rng.choice(sorted(plain))
            partial = self._landing / ".gz"
            partial.write_bytes(gzip.compress(chosen.read_bytes()))
            partial.rename(chosen.with_name(f"{chosen.name}.gz"))
            chosen.unlink()


def _span(number: int) -> dict[str, object]:
    said = {**CHAT, "gen_ai.response.finish_reasons": ["stop"]}
    return span(said=said, traceId=f"{number:032x}", spanId=f"{number:016x}")


def _write(trial: Trial, landing: Path, written: "multiprocessing.Queue[int]") -> None:
    writer = Writer(trial, landing)
    writer.write_all()
    written.put(writer._written)


def rows_after(trial: Trial, folder: Path) -> Ended:
    """Let a writer write while runs ingest, then run once more to the end."""
    landing, config = folder / "landing", folder / "goodput.toml"
    landing.mkdir()
    config.write_text(SETTINGS)
    spawn = multiprocessing.get_context("spawn")
    queue: multiprocessing.Queue[int] = spawn.Queue()
    writer = spawn.Process(target=_write, args=(trial, landing, queue))
    writer.start()
    runs = 0
    Workspace(config).lake.open()
    while writer.is_alive():
        ingest(Workspace(config))
        runs += 1
    written = queue.get(timeout=60)
    writer.join()
    run(Workspace(config))
    sql = "SELECT count(*), count(DISTINCT trace_id) FROM attempts"
    published, distinct = ask(Workspace(config), sql).row(0)
    return Ended(written, published, distinct, runs)


def main() -> None:
    """Run the trials and print what became of their rows; exit 1 where any was lost or is there twice."""
    parser = argparse.ArgumentParser(prog="python -m conform.rotation_drill", description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="seed of the first trial")
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--steps", type=int, default=100, help="times that a writer writes")
    asked = parser.parse_args()
    console = Console()
    total = Ended(0, 0, 0, 0)
    for seed in range(asked.first, asked.first + asked.trials):
        with TemporaryDirectory(prefix="goodput-drill-") as name:
            ended = rows_after(Trial(seed, asked.steps), Path(name))
        total = Ended(*(getattr(total, part) + getattr(ended, part) for part in total.__dataclass_fields__))
        console.print(f"seed {seed}: {ended.written} rows, {ended.runs} runs, {ended.lost_or_twice} lost or twice")
    table = Table("trials", "rows written", "runs beside them", "lost", "published twice")
    lost, twice = total.written - total.distinct, total.published - total.distinct
    table.add_row(*map(str, (asked.trials, total.written, total.runs, lost, twice)))
    console.print(table)
    raise SystemExit(total.lost_or_twice > 0)


if __name__ == "__main__":
    main()
