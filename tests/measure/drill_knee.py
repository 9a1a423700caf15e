"""`make drill-knee`: how far fitted knees are from true ones, and how often their intervals hold them, over 300 runs.

Prints every figure, and fails where one is worse than what is promised. Each run is a week of base windows, or a sweep.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from goodput.measure.knee import Knee, knee
from measure.queues import Queue, observe
from monitor.line import Line

RUNS = 300
WINDOW_S = 300.0
OFF = 0.03  # of the true knee
A_WEEK = 7 * 288
SINGLE, FOUR = Queue(1, 2.0, 11.5), Queue(4, 0.25, 25.0)
DAY = 1.3 + 0.54 * np.sin(2 * np.pi * np.arange(A_WEEK) / 288)


@dataclass(frozen=True)
class Scenario:
    """A queue, the rate offered in each window, and whether requests declare it."""

    queue: Queue
    offered: Sequence[float]
    declared: bool


def sweep(rates: Sequence[float], windows: int) -> list[float]:
    return [rate for rate in rates for _ in range(windows)]


SCENARIOS: Mapping[str, Scenario] = {
    "M/M/1, a sweep of seven declared rates in a week": Scenario(
        SINGLE, sweep((1.2, 1.4, 1.48, 1.56, 1.64, 1.72, 1.8), 288), declared=True
    ),
    "M/M/1, a week of days and nights": Scenario(SINGLE, DAY.tolist(), declared=False),
    "M/M/4, a sweep of seven declared rates in a week": Scenario(
        FOUR, sweep((0.6, 0.66, 0.7, 0.74, 0.78, 0.82, 0.86), 288), declared=True
    ),
}


def fitted(scenario: Scenario, seed: int) -> Knee:
    """The knee of one run."""
    observed = observe(np.random.default_rng([12, seed]), scenario.queue, scenario.offered, WINDOW_S)
    return knee(observed.windows(declared=scenario.declared), observed.criteria())


def holds(found: Knee, truth: float) -> bool:
    """Whether the interval holds the truth; an open end holds all beyond."""
    low = 0.0 if found.low_rps is None else found.low_rps
    high = np.inf if found.high_rps is None else found.high_rps
    return bool(low <= truth <= high)


def lines(runs: int, fit: Callable[[Scenario, int], Knee] = fitted) -> Iterator[Line]:
    """Each scenario's figures over so many runs."""
    for name, scenario in SCENARIOS.items():
        truth = scenario.queue.knee_rps
        found = [fit(scenario, seed) for seed in range(runs)]
        off = np.array([np.inf if one.rps is None else abs(one.rps / truth - 1) for one in found])
        near, held = np.mean(off < OFF), np.mean([holds(one, truth) for one in found])
        figure = f"{100 * near:.1f} % within 3 %, median {100 * np.median(off):.2f} % off"
        yield Line(name, figure, ">= 95 % of the runs within 3 %", bool(near >= 0.95))
        figure = f"{100 * held:.1f} % of the intervals hold {truth:.4f}"
        yield Line(name, figure, "93 to 97 %", bool(0.93 <= held <= 0.97))


def main() -> None:
    """Print all lines; exit with 1 where a promise is broken."""
    kept = True
    for line in lines(RUNS):
        kept &= line.kept
        print(f"{line.what:<54} {line.figure:<48} {line.promised:<32} {'ok' if line.kept else 'BROKEN'}", flush=True)
    sys.exit(not kept)


if __name__ == "__main__":
    main()
