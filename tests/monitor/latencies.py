"""Latencies of pools as the charts see them: p99, p95 and requests by window, with every way to stray that is no fault.

Two families of laws. In the first a request is lognormal up to p95 and Pareto above; in the second it is one of two
lognormals, short and long, so that tail and body hang together otherwise. Nothing here knows the detector.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from monitor.noise import A_DAY, FIVE_MINUTES, NORMAL, SHAPE, Profile, ar1, spikes, traffic


@dataclass(frozen=True)
class Latencies:
    """Series x windows: p99, p95 and p50 in seconds, NaN where nothing came, and how many requests they are of."""

    p99: np.ndarray
    p95: np.ndarray
    p50: np.ndarray
    requests: np.ndarray
    deployed: np.ndarray  # windows in which something was deployed

    def moved(self, by: np.ndarray, body: float = 0.0) -> "Latencies":
        """With a change of log p99 on top, and so much of it on the rest: 0 is the tail alone, 1 the whole law."""
        below = np.exp(body * by)
        return replace(self, p99=self.p99 * np.exp(by), p95=self.p95 * below, p50=self.p50 * below)


@dataclass(frozen=True)
class Fleet:
    """How series stray. Noise is of log latency, `tail` the share of its variance that only the tail has.

    `load` is the standard deviation of log traffic beyond its daily curve, over hours; `sensitivity` what a load twice
    the usual adds; `mix` the standard deviation of a change of mix that wanders over a day; `step` the most that a
    deployment moves the level, of which there are `deploys` a day.
    """

    profile: Profile = NORMAL
    per_hour: float = 10_000
    weekend: float = 0.6
    tail: float = 0.0
    load: float = 0.1
    sensitivity: float = 0.24
    mix: float = 0.0
    deploys: float = 0.0
    step: float = 0.0
    missing: float = 0.0
    shape: float = SHAPE


def latencies(rng: np.random.Generator, fleet: Fleet, series: int, days: int, an_hour: int = 1) -> Latencies:
    """Of requests that are lognormal to p95 and Pareto above; day 0 is a Monday."""
    shape = (series, days * A_DAY * FIVE_MINUTES)
    load = _load(rng, fleet, shape, days)
    body, tail, deployed = _strays(rng, fleet, shape, load)
    drawn = rng.poisson(load * fleet.per_hour / FIVE_MINUTES)
    by_window = (series, days * A_DAY * an_hour, FIVE_MINUTES // an_hour)
    requests = drawn.reshape(by_window).sum(axis=2)
    share99, share95 = _order_statistics(rng, requests)
    known = np.where(requests > 0, 1.0, np.nan)
    known[rng.random(requests.shape) < fleet.missing] = np.nan
    p95 = 0.37 * _mixed(drawn, body, fleet.shape, by_window) * (share95 / 0.05) ** -fleet.shape
    p99 = 0.60 * _mixed(drawn, body + tail, fleet.shape, by_window) * (share99 / 0.01) ** -fleet.shape
    error = rng.normal(0, 1, requests.shape) * 0.63 / np.sqrt(np.maximum(requests, 1))  # of a lognormal's median
    p50 = 0.25 * _mixed(drawn, body, fleet.shape, by_window) * np.exp(error)
    return Latencies(p99 * known, p95 * known, p50 * known, requests, deployed.reshape(by_window).any(axis=2))


def _load(rng: np.random.Generator, fleet: Fleet, shape: tuple[int, int], days: int) -> np.ndarray:
    """Traffic as a multiple of the usual one."""
    usual = traffic(shape[0], days, FIVE_MINUTES, fleet.weekend)
    hours = ar1(rng, shape, float(np.exp(-1 / (4 * FIVE_MINUTES))), fleet.load)
    return usual * np.exp(hours - fleet.load**2 / 2)


def _strays(
    rng: np.random.Generator, fleet: Fleet, shape: tuple[int, int], load: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What log p95 strays, what log p99 does beyond that, and where something was deployed."""
    whole = np.sqrt(1 - fleet.tail) * noise(rng, shape, fleet.profile)
    tail = np.sqrt(fleet.tail) * noise(rng, shape, fleet.profile) if fleet.tail else np.zeros(shape)
    whole += fleet.sensitivity * (load - 1)
    if fleet.mix:
        mix = ar1(rng, shape, float(np.exp(-1 / (A_DAY * FIVE_MINUTES))), fleet.mix)
        whole, tail = whole + mix, tail + 0.5 * mix
    deployed = rng.random(shape) < fleet.deploys / (A_DAY * FIVE_MINUTES)
    if fleet.deploys:
        # each deployment sets the level anew, so that levels do not wander off
        levels = rng.uniform(-fleet.step / 2, fleet.step / 2, shape)
        at = np.maximum.accumulate(np.where(deployed, np.arange(shape[1]), 0), axis=1)
        whole += np.take_along_axis(levels, at, axis=1)
    return whole, tail, deployed


def noise(rng: np.random.Generator, shape: tuple[int, int], profile: Profile) -> np.ndarray:
    """How the log of a latency strays, by five minutes."""
    strays = ar1(rng, shape, profile.phi, profile.fast)
    strays += ar1(rng, shape, float(np.exp(-1 / (profile.slow_h * FIVE_MINUTES))), profile.slow)
    days = shape[1] // (A_DAY * FIVE_MINUTES)
    strays += np.repeat(rng.normal(0, profile.day, (shape[0], days)), A_DAY * FIVE_MINUTES, axis=1)
    return strays + spikes(rng, shape, profile)


def _mixed(drawn: np.ndarray, level: np.ndarray, shape: float, by_window: tuple[int, int, int]) -> np.ndarray:
    """The level of a window's quantile in a mixture of its five minutes, exact where all are Pareto there."""
    weighted = (drawn * np.exp(level / shape)).reshape(by_window).sum(axis=2)
    return (weighted / np.maximum(drawn.reshape(by_window).sum(axis=2), 1)) ** shape


def _order_statistics(rng: np.random.Generator, requests: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The shares of the law that lie above the observed p99 and p95 of so many requests, drawn together."""
    n = np.maximum(requests, 1)
    above99, above95 = (n - np.ceil(q * n) + 1 for q in (0.99, 0.95))
    share95 = rng.beta(above95, n - above95 + 1)
    between = np.where(above95 > above99, rng.beta(above99, np.maximum(above95 - above99, 1)), 1.0)
    return share95 * between, share95


def of_two_kinds(rng: np.random.Generator, fleet: Fleet, series: int, days: int) -> Latencies:
    """Of requests of which about a sixteenth is long; all are slower in some hours, the long ones by themselves too.

    No autoregression, no Pareto: levels jump by uniform amounts and hold for half a day, single hours stray with heavy
    tails, and the share of long requests, which moves p99 and p95 by different parts, wanders between bounds.
    """
    hours = days * A_DAY
    shape = (series, hours)
    expected = traffic(series, days, fleet.per_hour, fleet.weekend)[:, ::FIVE_MINUTES] * FIVE_MINUTES
    requests = rng.poisson(expected * rng.gamma(20, 1 / 20, shape))
    level = _regimes(rng, shape, 0.07) + rng.uniform(-0.07, 0.07, shape) + 0.03 * rng.standard_t(4, shape)
    level += 0.2 * (requests / fleet.per_hour) / (1 + requests / fleet.per_hour)
    slower = _regimes(rng, shape, 0.1) + 0.04 * rng.standard_t(4, shape)
    share = 0.0625 * np.exp(0.15 * np.sin(np.cumsum(rng.normal(0, 0.02, shape), axis=1)))
    known = np.where(requests > 0, 1.0, np.nan)
    above = _order_statistics(rng, requests)
    p99, p95 = (np.exp(level) * _of_two_kinds(one, share, slower) * known for one in above)
    return Latencies(p99, p95, np.exp(level) * 0.2 * known, requests, np.zeros(shape, dtype=np.bool_))


def _regimes(rng: np.random.Generator, shape: tuple[int, int], most: float) -> np.ndarray:
    """Levels that hold for half a day on average, then jump to any other within +-`most`."""
    jumps = np.where(rng.random(shape) < 1 / 12, np.arange(shape[1]), 0)
    return np.take_along_axis(rng.uniform(-most, most, shape), np.maximum.accumulate(jumps, axis=1), axis=1)


def _of_two_kinds(above: np.ndarray, share: np.ndarray, slower: np.ndarray) -> np.ndarray:
    """The latency that so much of the law is above: short requests take around 0.2 s, long ones around 0.45 s."""
    low, high = np.full(above.shape, np.log(0.05)), np.full(above.shape, np.log(20.0))
    for _ in range(30):
        middle = (low + high) / 2
        beyond = (1 - share) * ndtr((np.log(0.2) - middle) / 0.5) + share * ndtr(
            (np.log(0.45) + slower - middle) / 0.35
        )
        low, high = np.where(beyond > above, middle, low), np.where(beyond > above, high, middle)
    return np.exp((low + high) / 2)
