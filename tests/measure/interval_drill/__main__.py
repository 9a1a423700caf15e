"""`make drill-intervals`: how often each published interval holds the truth, over thousands of seeded windows."""

import sys
import time
from collections.abc import Iterator
from itertools import chain

from measure.interval_drill import (
    compared_scenarios,
    disruption_events,
    frontier_points,
    goodput_windows,
    judged_answers,
    kinds_of_operations,
)
from measure.interval_drill.line import HEADING, Line


def lines() -> Iterator[Line]:
    """Every scenario of every relation."""
    return chain(
        goodput_windows.lines(goodput_windows.SCENARIOS),
        judged_answers.lines(),
        disruption_events.lines(),
        kinds_of_operations.lines(),
        frontier_points.lines(),
        compared_scenarios.lines(),
    )


def main() -> None:
    """Print all lines; exit with 1 where a promise is broken."""
    kept = True
    print(HEADING)
    for found in lines():
        kept &= found.kept
        print(found, flush=True)
    print(f"{time.process_time():.0f} s of CPU")
    sys.exit(not kept)


if __name__ == "__main__":
    main()
