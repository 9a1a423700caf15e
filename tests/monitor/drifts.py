"""How soon drifts are found in series of `noise`, and how often nothing is: what the tests and the drill both count."""

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from goodput.monitor.calendar import calendar
from goodput.monitor.detector import score
from goodput.monitor.grid import Grid
from goodput.monitor.inputs import Inputs
from goodput.monitor.level_chart import LevelChart
from goodput.monitor.states import Debounce, Episode, episodes

MONDAY_S = int(datetime(2026, 1, 5, tzinfo=UTC).timestamp())
HOURS = 24


def fired(values: np.ndarray, threshold: float, floor: float = 0.02, an_hour: int = 1) -> list[list[Episode]]:
    """Episodes that fired in each series of log or logit values by the window, so many an hour."""
    grid = Grid(MONDAY_S, values.shape[1] // (HOURS * an_hour), 3600 // an_hour)
    scores = score(Inputs(grid, calendar(grid), values, floor), LevelChart()).score
    return [[e for e in _episodes(row, threshold) if e.firing is not None] for row in scores]


def _episodes(row: np.ndarray, threshold: float) -> list[Episode]:
    return list(episodes(row >= threshold, row < threshold / 2, np.isfinite(row), Debounce()))


@dataclass(frozen=True)
class Found:
    """Delays in hours from onset to the end of the window that fired; inf: not found."""

    delays: np.ndarray

    def percentile(self, share: float) -> float:
        return float(np.quantile(self.delays, share, method="inverted_cdf"))

    def within(self, hours: float) -> float:
        """Share found within so many hours."""
        return float(np.mean(self.delays <= hours))


def found(alarms: list[list[Episode]], onset: np.ndarray) -> Found:
    """Delay of the first alarm after each onset; series that fire already are left out."""
    delays = []
    for begins, known in zip(onset, alarms, strict=True):
        if not any(e.firing < begins and (e.resolved is None or e.resolved >= begins) for e in known):
            later = [e.firing - begins + 1 for e in known if e.firing >= begins]
            delays.append(later[0] if later else np.inf)
    return Found(np.array(delays))


def absolute_fired(values: np.ndarray, bound: float) -> list[list[Episode]]:
    """The same with an alarm that knows no baseline: two hours in a row above a bound."""
    return [
        [e for e in episodes(row > bound, row <= bound, np.isfinite(row), Debounce()) if e.firing is not None]
        for row in values
    ]
