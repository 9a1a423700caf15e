"""Queues whose knee is known: simulated arrivals and times in the system, cut into windows.

The true knee of a bound on the time in the system is the rate at which 1 % of the requests of a queue in its steady
state take longer: closed formulas of M/M/1 and M/M/c.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapreplace
from math import exp, factorial, log

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from goodput.measure.criteria import Gate, Goodput, Stratum
from goodput.measure.knee import Criterion, Windows

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Queue:
    """`servers` of `rate` requests per second each, first come first served; `bound_s` on the time in the system."""

    servers: int
    rate: float
    bound_s: float

    def slow_ratio(self, offered: float) -> float:
        """P(time in the system > bound_s) in the steady state."""
        c, mu, t = self.servers, self.rate, self.bound_s
        if c == 1:
            return exp(-(mu - offered) * t)
        a = offered / mu
        waits = a**c / factorial(c) / (1 - a / c)
        waits /= sum(a**k / factorial(k) for k in range(c)) + waits  # Erlang's C
        late = exp(-mu * t) * (1 + waits * (1 - exp(-mu * t * (c - 1 - a))) / (c - 1 - a))
        return float(late)

    @property
    def knee_rps(self) -> float:
        """The offered rate at which 1 % are slow."""
        if self.servers == 1:
            return self.rate - log(100) / self.bound_s
        most = self.servers * self.rate
        return float(brentq(lambda offered: self.slow_ratio(offered) - 0.01, 0.3 * most, 0.9999 * most))

    def times(self, rng: np.random.Generator, arrived: Array) -> Array:
        """Seconds in the system of requests that arrive at these times, from an empty queue on."""
        service = rng.exponential(1 / self.rate, len(arrived))
        if self.servers == 1:
            done = np.cumsum(service)
            return np.asarray(done + np.maximum.accumulate(arrived - (done - service)) - arrived)
        free = [0.0] * self.servers  # a heap: who is free first serves next
        found = np.empty(len(arrived))
        for n, (at, needs) in enumerate(zip(arrived.tolist(), service.tolist(), strict=True)):
            done = max(free[0], at) + needs
            heapreplace(free, done)
            found[n] = done - at
        return found


@dataclass(frozen=True)
class Observed:
    """Requests that arrived in each window, those of them that took too long, and the rate that was offered."""

    window_s: float
    arrivals: Array
    slow: Array
    offered: Array

    def windows(self, *, declared: bool) -> Windows:
        """As `knee` takes them."""
        seconds = np.full(len(self.arrivals), self.window_s)
        rates = self.offered if declared else np.full(len(self.arrivals), np.nan)
        load = self.arrivals / seconds
        if declared:
            load = np.array([load[self.offered == rate].mean() for rate in self.offered])
        starts = np.arange(len(seconds)) * self.window_s
        return Windows(starts, self.window_s, self.arrivals, seconds, load, rates, self.arrivals)

    def criteria(self) -> list[Criterion]:
        """A gate that the slow ones fail, and that goodput is what is not slow."""
        none = np.zeros(len(self.slow))
        good = Stratum("estimate", self.arrivals - self.slow, none, none)
        return [Gate("e2e", self.slow, self.arrivals), Goodput(self.arrivals, [good])]


def observe(rng: np.random.Generator, queue: Queue, offered: Sequence[float], window_s: float) -> Observed:
    """Windows one after another, each with Poisson arrivals at its own rate; those without arrivals are left out."""
    counts = rng.poisson(np.array(offered) * window_s)
    begin = np.repeat(np.arange(len(offered)) * window_s, counts)
    arrived = np.sort(begin + rng.random(len(begin)) * window_s)
    slow = queue.times(rng, arrived) > queue.bound_s
    window = np.minimum((arrived // window_s).astype(int), len(offered) - 1)
    arrivals = np.bincount(window, minlength=len(offered)).astype(float)
    kept = arrivals > 0
    failed = np.bincount(window, slow, minlength=len(offered))
    return Observed(window_s, arrivals[kept], failed[kept], np.array(offered, dtype=float)[kept])
