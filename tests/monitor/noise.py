"""Serving telemetry as p99s and KV use by window, with the noise that real fleets have: drifts are put on top.

Per request: a lognormal body to p95, a Pareto tail above it. A window's p99 is the order statistic of its requests;
an hour's is the exact quantile of its twelve windows. Nothing here knows the detector.
"""

from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter

A_DAY = 24
SHAPE = 0.3  # of the Pareto tail
FIVE_MINUTES = 12  # in an hour


@dataclass(frozen=True)
class Profile:
    """Noise on log p99: fast AR(1) by 5 min, slow OU, day effect, spikes."""

    phi: float
    fast: float
    slow_h: float
    slow: float
    day: float
    spikes_a_day: float
    spike: tuple[float, float]


CALM = Profile(0.6, 0.04, 6, 0.02, 0.01, 0.2, (1.2, 1.6))
NORMAL = Profile(0.7, 0.08, 8, 0.04, 0.02, 0.5, (1.2, 2.0))
ROUGH = Profile(0.8, 0.15, 12, 0.08, 0.04, 2.0, (1.3, 3.0))


def ar1(rng: np.random.Generator, shape: tuple[int, int], phi: float, sd: float) -> np.ndarray:
    """A stationary AR(1) with standard deviation `sd`."""
    shocks = rng.normal(0, sd * np.sqrt(1 - phi**2), shape)
    shocks[:, 0] = rng.normal(0, sd, shape[0])
    return lfilter([1.0], [1.0, -phi], shocks, axis=1)


def traffic(series: int, days: int, per_hour: float, weekend: float = 0.6) -> np.ndarray:
    """Expected requests per 5 min: +-70 % over the day, fewer on days 5 and 6 of each week."""
    hours = np.arange(days * A_DAY * FIVE_MINUTES) / FIVE_MINUTES
    daily = 1 + 0.7 * np.sin(2 * np.pi * (hours - 9) / 24)
    off = np.where(hours // 24 % 7 >= 5, weekend, 1.0)
    return np.broadcast_to(per_hour / FIVE_MINUTES * daily * off, (series, len(hours)))


def hourly_p99(
    rng: np.random.Generator,
    series: int,
    days: int,
    *,
    per_hour: float = 10_000,
    profile: Profile = NORMAL,
    base_s: float = 0.6,
    weekend: float = 0.6,
    an_hour: int = 1,
) -> tuple[np.ndarray, np.ndarray]:
    """p99 in seconds and the number of requests, series x windows (so many an hour); day 0 is a Monday."""
    expected = traffic(series, days, per_hour, weekend)
    shape = expected.shape
    load = expected / (per_hour / FIVE_MINUTES)
    level = 0.24 * (load - 1) + ar1(rng, shape, profile.phi, profile.fast)
    level += ar1(rng, shape, float(np.exp(-1 / (profile.slow_h * FIVE_MINUTES))), profile.slow)
    level += np.repeat(rng.normal(0, profile.day, (series, days)), A_DAY * FIVE_MINUTES, axis=1)
    level += spikes(rng, shape, profile)
    n = rng.poisson(expected)
    by_window = (series, days * A_DAY * an_hour, FIVE_MINUTES // an_hour)
    requests = n.reshape(by_window).sum(axis=2)
    mixed = (n * np.exp(level / SHAPE)).reshape(by_window).sum(axis=2) / np.maximum(requests, 1)
    above = np.maximum(requests - np.ceil(0.99 * requests) + 1, 1)
    tail = rng.beta(above, np.maximum(requests - above + 1, 1))
    p99 = base_s * (tail / 0.01) ** -SHAPE * mixed**SHAPE
    return np.where(requests > 0, p99, np.nan), requests


def spikes(rng: np.random.Generator, shape: tuple[int, int], profile: Profile) -> np.ndarray:
    begins = rng.random(shape) < profile.spikes_a_day / (A_DAY * FIVE_MINUTES)
    height = np.where(begins, np.log(rng.uniform(*profile.spike, shape)), 0.0)
    lasts = np.where(begins, rng.integers(1, 7, shape), 0)
    spiked = np.zeros(shape)
    for back in range(6):
        spiked[:, back:] = np.maximum(spiked[:, back:], np.where(lasts > back, height, 0.0)[:, : shape[1] - back])
    return spiked


def ramp(hours: int, onset: np.ndarray, per_hour: float, most: float = np.inf) -> np.ndarray:
    """Growth of log p99, series x hours: compounded from each onset on, up to a total of `most`."""
    since = np.maximum(np.arange(1, hours + 1) - onset[:, None], 0)
    return np.minimum(since * np.log1p(per_hour), np.log1p(most))


def kv_utilisation(rng: np.random.Generator, series: int, days: int, base: float = 0.55) -> np.ndarray:
    """Mean KV-cache utilisation by the hour: diurnal, with slow noise, on the logit scale."""
    hours = np.arange(days * A_DAY)
    daily = 0.35 * np.sin(2 * np.pi * (hours - 9) / 24) * np.where(hours // 24 % 7 >= 5, 0.6, 1.0)
    shape = (series, len(hours))
    noise = ar1(rng, shape, 0.5, 0.08) + ar1(rng, shape, float(np.exp(-1 / 8)), 0.08)
    noise += np.repeat(rng.normal(0, 0.03, (series, days)), A_DAY, axis=1)
    return 1 / (1 + np.exp(-(np.log(base / (1 - base)) + daily + noise)))
