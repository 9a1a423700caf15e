"""`make drill-fuzz`: hostile telemetry of every kind beside sane telemetry, through to publish, and hostile settings.

Each trial is a landing zone with the demo's telemetry and thousands of fuzzed inputs beside it: no crash, no hang, no
lost row, the sane telemetry published as it is without them, and a second run with nothing to do.
"""

import argparse
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from fuzz.chosen import settings_trial
from fuzz.trial import Ended, Sane, sane_lake, trial

_HEALS_EVERY = 5  # so many trials one ends with all that was fuzzed taken away


def main() -> None:
    """Run the trials and print what became of their inputs; exit 1 where there was any fault."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.drill", description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="seed of the first trial")
    parser.add_argument("--trials", type=int, default=25)
    parser.add_argument("--inputs", type=int, default=40_000, help="of each trial")
    parser.add_argument("--settings", type=int, default=10_000, help="documents of settings, valid and broken")
    asked = parser.parse_args()
    console, total = Console(), Ended()
    with TemporaryDirectory(prefix="goodput-fuzz-") as name:
        total.add(settings_trial(Random(asked.first), Path(name), asked.settings))
    _say(console, "settings", total)
    with TemporaryDirectory(prefix="goodput-fuzz-") as name:
        sane = sane_lake(Path(name))
    for seed in range(asked.first, asked.first + asked.trials):
        ended = _trial(seed, asked.inputs, sane)
        _say(console, f"seed {seed}", ended)
        total.add(ended)
    _report(console, total)
    raise SystemExit(bool(total.faults))


def _trial(seed: int, inputs: int, sane: Sane) -> Ended:
    with TemporaryDirectory(prefix="goodput-fuzz-") as name:
        return trial(Random(seed), Path(name), inputs, sane, heals=seed % _HEALS_EVERY == 0)


def _say(console: Console, what: str, ended: Ended) -> None:
    done = f"{ended.inputs.total():,} inputs, {ended.cpu_s:.0f} CPU s, {ended.blocked.total()} partitions blocked"
    console.print(f"{what}: {done}, {len(ended.faults)} faults", highlight=False)
    for fault in ended.faults:
        console.print(fault, markup=False, highlight=False)


def _report(console: Console, total: Ended) -> None:
    console.print(_counted("inputs", total.inputs), _counted("rows", total.rows))
    if total.blocked:
        console.print(_counted("blocked partitions", total.blocked))
    faults = Counter(fault.partition(":")[0] for fault in total.faults)
    crashes, hangs, lost = (faults[name] for name in ("crash", "hang", "lost"))
    drawn = Table("inputs", "crashes", "hangs", "lost", "other faults")
    others = len(total.faults) - crashes - hangs - lost
    drawn.add_row(*map(str, (total.inputs.total(), crashes, hangs, lost, others)))
    console.print(drawn)


def _counted(title: str, counts: Mapping[str, int]) -> Table:
    drawn = Table(title, "count")
    for name, count in sorted(counts.items()):
        drawn.add_row(name, f"{count:,}")
    return drawn


if __name__ == "__main__":
    main()
