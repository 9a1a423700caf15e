"""Counts by the hour with the noise that real fleets have, what moves put on top, and what the chart makes of them.

Trials come at random around a daily and weekly rhythm; the logit of the ratio (the logarithm of a rate) wanders with
the hour of the day, by itself, slowly, and from day to day. Nothing in the generators knows the chart.
"""

from dataclasses import dataclass

import numpy as np

from goodput.monitor.calendar import calendar
from goodput.monitor.count_chart import CountChart
from goodput.monitor.counts import RATIO, Law
from goodput.monitor.detector import score
from goodput.monitor.grid import Grid
from goodput.monitor.inputs import Inputs
from goodput.monitor.states import Debounce, Episode, episodes
from monitor.drifts import MONDAY_S
from monitor.noise import A_DAY, ar1


@dataclass(frozen=True)
class Stray:
    """Standard deviations on the logit: from hour to hour, over hours, and from day to day."""

    fast: float
    slow: float
    day: float
    slow_h: float = 8.0


CHANCE, CALM, NORMAL, NOISY = Stray(0, 0, 0), Stray(0.02, 0.02, 0.01), Stray(0.05, 0.05, 0.02), Stray(0.08, 0.12, 0.05)


def onsets(seed: int, series: int) -> np.ndarray:
    """An hour of the fifth week for each series."""
    return np.random.default_rng(seed).integers(28 * A_DAY, 33 * A_DAY, series)


def moved(hours: int, onset: np.ndarray, total: float, within_h: float = 1.0) -> np.ndarray:
    """What is added to the logit: from each onset on up to `total`, reached after so many hours."""
    return total * np.clip((np.arange(1, hours + 1) - onset[:, None]) / within_h, 0, 1)


def trials(rng: np.random.Generator, series: int, days: int, per_hour: float, an_hour: int = 1) -> np.ndarray:
    """Trials by window: +-70 % over the day, on days 5 and 6 of each week three in five."""
    hours = np.arange(days * A_DAY * an_hour) / an_hour
    daily = 1 + 0.7 * np.sin(2 * np.pi * (hours - 9) / 24)
    off = np.where(hours // 24 % 7 >= 5, 0.6, 1.0)
    return rng.poisson(np.broadcast_to(per_hour / an_hour * daily * off, (series, len(hours)))).astype(float)


def strayed(rng: np.random.Generator, series: int, days: int, stray: Stray, an_hour: int = 1) -> np.ndarray:
    """What the logit strays by itself, and by the hour of the day."""
    shape = (series, days * A_DAY * an_hour)
    hours = np.arange(shape[1]) / an_hour
    by_itself = ar1(rng, shape, 0.5 ** (1 / an_hour), stray.fast)
    slowly = ar1(rng, shape, float(np.exp(-1 / (stray.slow_h * an_hour))), stray.slow)
    by_day = np.repeat(rng.normal(0, stray.day, (series, days)), A_DAY * an_hour, axis=1)
    return 0.1 * np.sin(2 * np.pi * (hours - 15) / 24) + by_itself + slowly + by_day


def events(rng: np.random.Generator, n: np.ndarray, usual: float, logit: np.ndarray) -> np.ndarray:
    """Events of n trials each, of which a share `usual` is bad where nothing strays."""
    odds = usual / (1 - usual) * np.exp(logit)
    return rng.binomial(n.astype(np.int64), odds / (1 + odds)).astype(float)


def scored(x: np.ndarray, n: np.ndarray, law: Law = RATIO, an_hour: int = 1) -> np.ndarray:
    """Scores of events of trials by the window."""
    grid = Grid(MONDAY_S, x.shape[1] // (A_DAY * an_hour), 3600 // an_hour)
    values = np.where(n > 0, x / np.maximum(n, 1e-9), np.nan)
    return score(Inputs(grid, calendar(grid), values, 0.0, events=x, trials=n), CountChart(law)).score


def counts_fired(scores: np.ndarray, threshold: float) -> list[list[Episode]]:
    """Episodes that fired in each series."""
    return [
        [
            e
            for e in episodes(row >= threshold, row < threshold / 2, np.isfinite(row), Debounce(1))
            if e.firing is not None
        ]
        for row in scores
    ]


def rate_events(rng: np.random.Generator, per_hour: float, logarithm: np.ndarray, clustered: float = 0.0) -> np.ndarray:
    """Events of a rate; `clustered` is the variance of what each hour's rate is multiplied with."""
    bursts = rng.gamma(1 / clustered, clustered, logarithm.shape) if clustered else 1.0
    return rng.poisson(per_hour * np.exp(logarithm) * bursts).astype(float)
