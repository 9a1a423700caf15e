"""Ratios of counts, and rates, scored as what they are: how unlikely the counts of the last hours are by chance.

A window of few trials says little and one of many says much, so each counts by what it tells.
"""

from dataclasses import dataclass

import numpy as np

from goodput.monitor.fading import Fading
from goodput.monitor.grid import NAN, Floats

HOURS = 10  # that count: an hour weighs a tenth less for each hour after it
TAPS_HOURS = 48
REACH_HOURS = 48  # windows before a longer gap no longer count
CLIP = 4.0  # of a window's distance in sigma, of one like those that make ten hours stray as they do ...
RARE = 1.0  # ... and an event more: no single window makes an alarm, however rare what it counts
NOTHING = 1e-12


@dataclass(frozen=True)
class Law:
    """By which law events come: `of_trials`, each with one or none, or at a rate in units of exposure."""

    of_trials: bool

    def chance(self, p: Floats) -> Floats:
        """Variance of the events of one trial or unit."""
        return p * (1 - p) if self.of_trials else p

    def deviance(self, y: Floats, m: Floats, n: Floats) -> Floats:
        """Half the deviance of y events of n where m are usual."""
        if not self.of_trials:
            return np.maximum(_xlogx(y, m) - (y - m), 0.0)
        return np.maximum(_xlogx(y, m) + _xlogx(n - y, n - m), 0.0)


RATIO, RATE = Law(of_trials=True), Law(of_trials=False)


@dataclass(frozen=True)
class Usual:
    """By series and window: events a trial, how many come at once, what a window and ten hours stray beyond chance."""

    law: Law
    p: Floats
    clump: Floats
    tau: Floats
    sway: Floats


def alone(step_s: int) -> float:
    """What chance alone makes ten hours stray, as a part of what it makes one window stray: a ratio of variances."""
    kept, taps = _kept(step_s), np.arange(TAPS_HOURS * 3600 // step_s)
    return float((kept ** (2 * taps)).sum() / (kept**taps).sum() ** 2)


def _kept(step_s: int) -> float:
    """Part of its weight that a window keeps at each later one."""
    return float((1 - 1 / HOURS) ** (step_s / 3600))


def variance(v: Floats, tau: Floats) -> Floats:
    """Variance of the events of windows, which chance makes `v`, with what strays beyond it."""
    return v * (1 + tau**2 * v)


def score(x: Floats, n: Floats, usual: Usual, step_s: int) -> Floats:
    """How far the events of the last ten hours, x of n trials each, lie above what is usual: a normal deviate.

    The signed root of the deviance of their sums: a handful of events where none is usual is judged as that, many are
    by their distance in sigma. NaN where a window has no trials or nothing is usual.
    """
    known = (n > 0) & np.isfinite(x) & np.isfinite(usual.p)
    parts = (x / usual.clump, n / usual.clump, usual.p, usual.tau, usual.sway)
    x, n, p, tau, sway = (np.where(known, part, 0.0) for part in parts)
    v = n * usual.law.chance(p)
    weight = 1 / (1 + np.maximum(tau, sway) ** 2 * v)
    farthest = CLIP * np.sqrt(variance(v, sway / np.sqrt(alone(step_s)))) + RARE
    excess = np.clip(x - n * p, -farthest, farthest)
    of_excess, m, trials, of_v = _fading(step_s).sums([weight * part for part in (excess, n * p, n, v)], known)
    (of_chance,) = _fading(step_s, 2).sums([weight**2 * v], known)
    y = np.clip(m + of_excess, 0.0, trials if usual.law.of_trials else np.inf)
    spread = np.maximum(of_chance + (sway * of_v) ** 2, NOTHING)
    by_chance = trials * usual.law.chance(m / np.maximum(trials, NOTHING))
    deviate = np.sign(of_excess) * np.sqrt(2 * usual.law.deviance(y, m, trials) * by_chance / spread)
    return np.where(known, deviate, NAN)


def _xlogx(y: Floats, m: Floats) -> Floats:
    """y ln(y / m), 0 for no y."""
    return np.asarray(y * np.log(np.where(y > 0, y, 1.0) / np.where(y > 0, np.maximum(m, NOTHING), 1.0)))


def _fading(step_s: int, power: int = 1) -> Fading:
    """How what windows have fades, or a power of it."""
    return Fading(_kept(step_s) ** power, TAPS_HOURS * 3600 // step_s, REACH_HOURS * 3600 // step_s)
