"""How soon drifts are found in series of `noise`, and how often nothing is: what the tests and the drill both count."""

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from goodput.monitor.calendar import calendar
from goodput.monitor.detector import score
from goodput.monitor.grid import Grid
from goodput.monitor.inputs import Inputs, Scores
from goodput.monitor.level_chart import LevelChart
from goodput.monitor.states import Debounce, Episode, episodes
from goodput.monitor.tail_chart import LevelAndTailChart
from goodput.settings.watched import metrics
from monitor.latencies import Latencies

PAGE, TICKET = 3.0, 2.4
P99, P95 = metrics()["p99_ttft_s"].quantile, metrics()["p95_ttft_s"].quantile
MONDAY_S = int(datetime(2026, 1, 5, tzinfo=UTC).timestamp())
HOURS = 24


def fired(values: np.ndarray, threshold: float, floor: float = 0.02, an_hour: int = 1) -> list[list[Episode]]:
    """Episodes that fired in each series of log or logit values by the window, so many an hour: the level alone."""
    grid = _grid(values, an_hour)
    return _fired(score(Inputs(grid, calendar(grid), values, floor), LevelChart()), threshold)


def pages(seen: Latencies, threshold: float = PAGE, an_hour: int = 1) -> list[list[Episode]]:
    """Episodes that fired of the p99s of pools, by level and tail."""
    return _fired(score(of_p99(seen, an_hour), LevelAndTailChart(P99)), threshold)


def pages_of_p95(seen: Latencies, threshold: float = PAGE) -> list[list[Episode]]:
    """The same of their p95s, which have no tail's chart."""
    grid = _grid(seen.p95)
    values = np.where(seen.requests >= metrics()["p95_ttft_s"].least_requests, np.log(seen.p95), np.nan)
    more = {"requests": seen.requests.astype(float), "body": np.log(seen.p50)}
    return _fired(score(Inputs(grid, calendar(grid), values, 0.02, **more), LevelChart(P95)), threshold)


def of_p99(seen: Latencies, an_hour: int = 1) -> Inputs:
    """Latencies as the detector is given those of a pool."""
    grid = _grid(seen.p99, an_hour)
    values = np.where(seen.requests >= metrics()["p99_ttft_s"].least_requests, np.log(seen.p99), np.nan)
    more = {"requests": seen.requests.astype(float), "body": np.log(seen.p95)}
    return Inputs(grid, calendar(grid), values, 0.02, **more)


def _grid(values: np.ndarray, an_hour: int = 1) -> Grid:
    return Grid(MONDAY_S, values.shape[1] // (HOURS * an_hour), 3600 // an_hour)


def _fired(scores: Scores, threshold: float) -> list[list[Episode]]:
    return [[e for e in _episodes(row, threshold) if e.firing is not None] for row in scores.score]


def _episodes(row: np.ndarray, threshold: float) -> list[Episode]:
    return list(episodes(row >= threshold, row < threshold / 2, np.isfinite(row), Debounce(1, 3)))


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
        [e for e in episodes(row > bound, row <= bound, np.isfinite(row), Debounce(2, 3)) if e.firing is not None]
        for row in values
    ]
