"""`make drill-intervals`: how often each published interval holds the truth, over thousands of seeded windows."""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from itertools import chain

from measure.interval_drill import (
    compared_scenarios,
    disruption_events,
    frontier_points,
    goodput_windows,
    judged_answers,
    kinds_of_operations,
    period_totals,
)
from measure.interval_drill.line import HEADING, Line

PARTS: dict[str, Callable[[], Iterator[Line]]] = {
    "goodput": lambda: goodput_windows.lines(goodput_windows.SCENARIOS),
    "judged": judged_answers.lines,
    "periods": period_totals.lines,
    "disruptions": disruption_events.lines,
    "disruption_cost": kinds_of_operations.lines,
    "frontier": frontier_points.lines,
    "compare": compared_scenarios.lines,
}


def main() -> None:
    """Print the lines of all parts, or of those that are named; exit with 1 where a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PARTS, action="append", help="a part, as often as wanted")
    kept = True
    print(HEADING, flush=True)
    for found in chain.from_iterable(PARTS[name]() for name in parser.parse_args().only or PARTS):
        kept &= found.kept
        print(found, flush=True)
    print(f"{time.process_time():.0f} s of CPU")
    sys.exit(not kept)


if __name__ == "__main__":
    main()
