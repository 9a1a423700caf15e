"""What a run costs on a long history beside the same on a short one: cost has to follow what changed.

`python -m benchmarks.history` prints these rows alone; `--days` sets the two lengths, so that `--days 2 14` gives a
first impression in a minute or two. Work is processor time of the whole process, start and imports included.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.checkout import Checkout
from benchmarks.child import Ended
from benchmarks.made_history import END_HOUR, late_label, more_spans, request_key, write_file, write_history
from benchmarks.table import Row, counted, peak_memory, seconds, times_as_long

DAYS = (2, 90)
SPANS_ONLY_DAYS = (2, 10)
FIRST_RUN_HOUR_S = 0.1
NOTHING_NEW_S = 3.0
NOTHING_NEW_BELOW = 300 * 10**6
COMMAND_S = 0.5
GROWN_AT_MOST = 1.5
ROUNDS = 3
MORE_LINES, MORE_HOURS = 60, 3
LABELLED_HOUR = END_HOUR - 24  # known to every history
_FIRST, _NOTHING_NEW = "first run", "nothing new"
_LABEL, _FILE, _COMMENT = "one late label", f"one file of {MORE_LINES} lines", "a changed SQL comment"
_COMMANDS: Mapping[str, Sequence[str]] = {
    "goodput query": ("query", "SELECT count(*) FROM requests"),
    "goodput tables": ("tables",),
    "goodput sources": ("sources",),
    "goodput alarms": ("alarms",),
    "goodput explain": ("explain", request_key(LABELLED_HOUR, 0)),
}


@dataclass(frozen=True)
class Costs:
    """What runs and commands took on a history of so many hours, and the parts that a changed comment wrote anew."""

    hours: int
    took: Mapping[str, Ended]
    written: int


def rows(share: float) -> Iterator[Row]:
    """The long history beside the short one, and a first run over gateway spans alone."""
    short, long = DAYS
    yield from compare(short, max(short + 1, round(long * share)))
    short, long = SPANS_ONLY_DAYS
    yield first_hour(short, max(short + 1, round(long * share)))


def compare(short: int, long: int) -> Iterator[Row]:
    """Every kind of run and command on a history of `long` days beside one of `short`."""
    before, after = (_costs(days) for days in (short, long))

    def pair(what: str) -> tuple[str, float, str, float]:
        return f"{what}, {long} days known", after.took[what].cpu_s, f"{short} days", before.took[what].cpu_s

    for what in (_NOTHING_NEW, _LABEL, _FILE, _COMMENT):
        yield times_as_long(*pair(what), at_most=GROWN_AT_MOST)
    yield seconds(*pair(_NOTHING_NEW), at_most_s=NOTHING_NEW_S)
    peak_bytes = after.took[_NOTHING_NEW].peak_bytes
    yield peak_memory(f"{_NOTHING_NEW}, {long} days known: most memory", peak_bytes, below_bytes=NOTHING_NEW_BELOW)
    yield counted(f"{_COMMENT}, {long} days known: parts written", after.written, at_most=0)
    for command in _COMMANDS:
        yield seconds(*pair(command), at_most_s=COMMAND_S)
    long_s, short_s = (costs.took[_FIRST].cpu_s / costs.hours for costs in (after, before))
    what, baseline = f"{_FIRST}, an hour of {long} days", f"an hour of {short} days"
    yield times_as_long(what, long_s, baseline, short_s, at_most=GROWN_AT_MOST)


def first_hour(short: int, long: int) -> Row:
    """What a first run takes for an hour of gateway spans and no other telemetry."""
    short_s, long_s = (_first_run_s(days) / days / 24 for days in (short, long))
    what = f"{_FIRST}, an hour of {long} days of gateway spans"
    return seconds(what, long_s, f"an hour of {short} days", short_s, at_most_s=FIRST_RUN_HOUR_S)


def _first_run_s(days: int) -> float:
    with TemporaryDirectory(prefix="goodput-bench-") as name:
        folder = Path(name)
        write_history(days, folder, spans_only=True)
        return Checkout(folder).goodput("run").cpu_s


def _costs(days: int) -> Costs:
    with TemporaryDirectory(prefix="goodput-bench-") as name:
        return _Bench(days, Path(name)).costs()


class _Bench:
    """One history, its lake, and what has been measured on it so far."""

    def __init__(self, days: int, folder: Path) -> None:
        self._days, self._folder = days, folder
        self._checkout = Checkout(folder)
        self._took: dict[str, Ended] = {}
        write_history(days, folder)

    def costs(self) -> Costs:
        """Run everything; raises AssertionError where a run leaves out what it was given."""
        ask = self._checkout.ask
        self._measure(_FIRST, "run")
        self._measure(_NOTHING_NEW, "run", rounds=ROUNDS)
        labels = ask("SELECT count(*) FROM quality_labels")
        write_file(self._folder, "quality/late.jsonl", late_label(LABELLED_HOUR))
        self._measure(_LABEL, "run")
        assert ask("SELECT count(*) FROM quality_labels") == labels + 1
        requests = ask("SELECT count(*) FROM requests")
        write_file(self._folder, "gateway-0/more.jsonl", more_spans(END_HOUR - MORE_HOURS, MORE_HOURS, MORE_LINES))
        self._measure(_FILE, "run")
        assert ask("SELECT count(*) FROM requests") == requests + MORE_LINES
        before = self._parts()
        self._checkout.change_comment("requests")
        self._measure(_COMMENT, "run")
        written = len(self._parts() - before)
        for command, arguments in _COMMANDS.items():
            self._measure(command, *arguments, rounds=ROUNDS)
        return Costs(24 * self._days, self._took, written)

    def _measure(self, what: str, *arguments: str, rounds: int = 1) -> None:
        ended = [self._checkout.goodput(*arguments) for _ in range(rounds)]
        self._took[what] = sorted(ended, key=lambda one: one.cpu_s)[rounds // 2]

    def _parts(self) -> set[tuple[Path, int]]:
        """Files of the joined and measured tables, each with the time at which it was written."""
        layers = (self._folder / "lake" / layer for layer in ("joined", "measured"))
        return {(path, path.stat().st_mtime_ns) for layer in layers for path in layer.glob("*/*=*/*.parquet")}


def main() -> None:
    """Print the rows of two histories."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.history", description=__doc__)
    parser.add_argument("--days", type=int, nargs=2, default=DAYS, metavar=("SHORT", "LONG"))
    asked = parser.parse_args()
    for row in compare(*asked.days):
        print(*row, sep=" | ", flush=True)


if __name__ == "__main__":
    main()
