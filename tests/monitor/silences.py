"""Series whose hours are empty by chance, and what the rule on silence makes of them: for the tests and the drill."""

import numpy as np

from goodput.monitor.calendar import calendar
from goodput.monitor.grid import Grid
from goodput.monitor.panel import Panel
from goodput.monitor.rule_kind import Observed
from goodput.monitor.rule_series import RuleSeries
from goodput.monitor.rules.absence import KIND
from goodput.settings.model import Settings
from monitor.drifts import MONDAY_S

SERIES, DAYS, A_DAY = 250, 56, 24


def traffic(share: np.ndarray, sticky: float = 1.0) -> np.ndarray:
    """Whether hours have requests: a `share` of each of the day is empty, after an empty one `sticky` times it."""
    rng = np.random.default_rng(8)
    empty = np.tile(share, DAYS)
    again = sticky * empty
    first = empty * (1 - again) / (1 - empty)
    there = np.ones((SERIES, DAYS * A_DAY), dtype=np.bool_)
    for hour in range(1, there.shape[1]):
        there[:, hour] = rng.random(SERIES) >= np.where(there[:, hour - 1], first[hour], again[hour])
    return there


def watched(there: np.ndarray) -> list[RuleSeries]:
    grid = Grid(MONDAY_S, there.shape[1] // A_DAY)
    labels = tuple((("pool", str(row)),) for row in range(len(there)))
    panel = Panel("goodput_ratio", grid, labels, there.astype(float), there.astype(float), None)
    return list(KIND.series(Observed(Settings(), grid, grid.windows, {"goodput_ratio": panel}, calendar(grid))))


EVENLY, AT_NIGHT = np.full(A_DAY, 1 / 6), np.where(np.arange(A_DAY) < 7, 0.19, 0.01)
