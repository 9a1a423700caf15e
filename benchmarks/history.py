"""What a run costs on a long history beside the same on a short one: cost has to follow what changed.

`python -m benchmarks.history` prints these rows alone; `--days` sets the two lengths, so that `--days 2 3` gives a
first impression in some minutes. Work is processor time of the whole process, start and imports included.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.checkout import Checkout
from benchmarks.child import Ended
from benchmarks.made_history import END_HOUR, late_label, more_spans, request_key, write_file, write_history
from benchmarks.table import Row, counted, peak_memory, seconds, times_as_long

DAYS = (2, 90)
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


def rows(share: float) -> Iterator[Row]:
    """The long history beside the short one, and a first run over gateway spans alone."""
    short, long = DAYS
    long = max(short + 1, round(long * share))
    yield from compare(short, long)
    yield first_hour(short, long)


def compare(short: int, long: int) -> Iterator[Row]:
    """Every kind of run and command on a history of `long` days beside one of `short`.

    They are measured in turn, round by round, and the median is what counts: a machine is not equally fast for an hour.
    """
    with TemporaryDirectory(prefix="goodput-bench-") as name:
        before, after = (_Bench(days, Path(name) / str(days)) for days in (short, long))
        for each in (before, after):
            each.first_run()
        for number, measure, each in product(range(ROUNDS), _RUNS, (before, after)):
            measure(each, number)
        for _, command, each in product(range(ROUNDS), _COMMANDS, (before, after)):
            each.command(command)
        yield from _compared(before, after)


def _compared(before: "_Bench", after: "_Bench") -> Iterator[Row]:
    short, long = before.days, after.days

    def pair(what: str) -> tuple[str, float, str, float]:
        return f"{what}, {long} days known", after.cpu_s(what), f"{short} days", before.cpu_s(what)

    for what in (_NOTHING_NEW, _LABEL, _FILE, _COMMENT):
        yield times_as_long(*pair(what), at_most=GROWN_AT_MOST)
    yield seconds(*pair(_NOTHING_NEW), at_most_s=NOTHING_NEW_S)
    peak_bytes = after.peak_bytes(_NOTHING_NEW)
    yield peak_memory(f"{_NOTHING_NEW}, {long} days known: most memory", peak_bytes, below_bytes=NOTHING_NEW_BELOW)
    yield counted(f"{_COMMENT}, {long} days known: parts written", after.written, at_most=0)
    for command in _COMMANDS:
        yield seconds(*pair(command), at_most_s=COMMAND_S)
    long_s, short_s = (each.cpu_s(_FIRST) / each.days / 24 for each in (after, before))
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


class _Bench:
    """One history, its lake, and what has been measured on it so far."""

    def __init__(self, days: int, folder: Path) -> None:
        self.days, self._folder = days, folder
        self.written = 0  # parts that changed comments wrote anew
        self._took: defaultdict[str, list[Ended]] = defaultdict(list)
        write_history(days, folder)
        self._checkout = Checkout(folder)

    def cpu_s(self, what: str) -> float:
        """The median of what it took."""
        return median(ended.cpu_s for ended in self._took[what])

    def peak_bytes(self, what: str) -> int:
        """The most memory that it took."""
        return max(ended.peak_bytes for ended in self._took[what])

    def first_run(self) -> None:
        """Make the lake."""
        self._measure(_FIRST, "run")

    def nothing_new(self, _number: int) -> None:
        """Run once more."""
        self._measure(_NOTHING_NEW, "run")

    def late_label(self, number: int) -> None:
        """A label of a day ago, each time of another hour; raises AssertionError where it does not arrive."""
        write_file(self._folder, f"quality/late-{number}.jsonl", late_label(LABELLED_HOUR - number))
        self._measure_one_with("quality_labels", 1, _LABEL)

    def more_lines(self, number: int) -> None:
        """A file of a few hours, each time of others; raises AssertionError where not all of it arrives."""
        first_hour = END_HOUR - MORE_HOURS * (number + 1)
        write_file(self._folder, f"gateway-0/more-{number}.jsonl", more_spans(first_hour, MORE_HOURS, MORE_LINES))
        self._measure_one_with("requests", MORE_LINES, _FILE)

    def changed_comment(self, _number: int) -> None:
        """Other words in a file of SQL that mean nothing to it."""
        before = self._parts()
        self._checkout.change_comment("requests")
        self._measure(_COMMENT, "run")
        self.written += len(self._parts() - before)

    def command(self, name: str) -> None:
        """Ask what is published."""
        self._measure(name, *_COMMANDS[name])

    def _measure_one_with(self, relation: str, rows: int, what: str) -> None:
        counted_rows = f"SELECT count(*) FROM {relation}"
        before = self._checkout.ask(counted_rows)
        self._measure(what, "run")
        assert self._checkout.ask(counted_rows) == before + rows

    def _measure(self, what: str, *arguments: str) -> None:
        self._took[what].append(self._checkout.goodput(*arguments))

    def _parts(self) -> set[tuple[Path, int]]:
        """Files of the joined and measured tables, each with the time at which it was written."""
        layers = (self._folder / "lake" / layer for layer in ("joined", "measured"))
        return {(path, path.stat().st_mtime_ns) for layer in layers for path in layer.glob("*/*=*/*.parquet")}


_RUNS = (_Bench.nothing_new, _Bench.late_label, _Bench.more_lines, _Bench.changed_comment)


def main() -> None:
    """Print the rows of two histories."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.history", description=__doc__)
    parser.add_argument("--days", type=int, nargs=2, default=DAYS, metavar=("SHORT", "LONG"))
    asked = parser.parse_args()
    for row in compare(*asked.days):
        print(*row, sep=" | ", flush=True)


if __name__ == "__main__":
    main()
