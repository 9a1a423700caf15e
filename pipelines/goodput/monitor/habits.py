"""What a history makes usual of counts: events a trial at each hour, and what strays from it beyond chance.

Strays are on the logit of a ratio, on the logarithm of a rate: of each window, and of ten hours together.
"""

from dataclasses import dataclass

import numpy as np

from goodput.monitor.baseline import MAD_TO_SIGMA
from goodput.monitor.calendar import CLASSES
from goodput.monitor.counts import HOURS, NOTHING, RARE, Law, variance
from goodput.monitor.grid import NAN, Flags, Floats, Ints, medians

_PRIOR_EVENTS = 20  # of the series, that an hour of the day counts as beside its own
_UNSEEN = 3.0  # events that a history is believed to hide: by 95 % no more where it shows none
_LEAST_TAU, _LEAST_SWAY = 0.03, 0.02
_FARTHEST = 5.0  # sigma: a window of the past that strays farther says no more of what is usual ...
_INCIDENT = 6.0  # ... and one with more events than so many is an incident, and tells nothing of it
_CAUTION = 0.75  # standard errors of `sway` that are added to it: what was not seen yet sways too
_SHORT_DAYS, _FULL_DAYS = 10.0, 21.0  # make false alarms in the second week as rare as later


@dataclass(frozen=True)
class Habits:
    """By series: events a trial by class (48), what a window strays beyond chance (`tau`), and ten hours (`sway`).

    Events come in clumps of so many (`clump`, at least 1): then chance makes counts stray as a part of them would.
    """

    by_class: Floats
    clump: Floats
    tau: Floats
    sway: Floats


def habits(x: Floats, n: Floats, classes: Ints, law: Law, an_hour: int = 1) -> Habits:
    """What is usual by a history of x events of n trials, series x windows; windows without trials say nothing."""
    x, n = np.where(n > 0, x, 0.0), np.where(n > 0, n, 0.0)
    days = (n > 0).sum(axis=1) / (24 * an_hour)
    ordinary = _ordinary(x, n, classes, law, 24 * an_hour)
    x, n = x * ordinary, n * ordinary
    by_class = _by_class(x, n, classes, law)
    p = by_class[:, classes]
    v = n * law.chance(p)
    farthest = _FARTHEST * (_usual_distance(x - n * p, v)[:, None] * np.sqrt(v))
    strayed = np.clip(x - n * p, -farthest, farthest)
    clump = _clump(strayed, v)
    strayed, v = strayed / clump[:, None], v / clump[:, None]
    tau = np.sqrt(np.maximum(_beyond_chance(strayed, v), _LEAST_TAU**2))
    farthest = _FARTHEST * np.sqrt(variance(v, tau[:, None]))
    sway = _sway(np.clip(strayed, -farthest, farthest), v, HOURS * an_hour) * _doubt(days)
    return Habits(by_class, clump, tau, sway)


def _clump(strayed: Floats, v: Floats) -> Floats:
    """How many times farther than by chance counts stray, whatever their number: what is left where tau has no part.

    The line of squared distances over variances by chance, where each counts by how sure it is; less its own error.
    """
    squares = strayed**2 / np.maximum(v, NOTHING)
    weight = np.where(v > 0, 1 / (2 + 1 / np.maximum(v, NOTHING)), 0.0)
    sure = np.maximum(weight.sum(axis=1), NOTHING)
    of_v, of_squares = ((weight * part).sum(axis=1) / sure for part in (v, squares))
    apart = weight * (v - of_v[:, None])
    slope = (apart * squares).sum(axis=1) / np.maximum((apart * v).sum(axis=1), NOTHING)
    most = np.maximum(of_squares - 1, 0) / np.maximum(of_v, NOTHING)
    clump = (of_squares - np.clip(slope, 0, most) * of_v) * (1 - 1 / np.sqrt(sure))
    return np.asarray(np.fmax(1.0, clump))


def _doubt(days: Floats) -> Floats:
    """How much wider a short history's own errors make what strays from it, 1 for a full one."""
    widened: Floats = np.sqrt((1 + _SHORT_DAYS / np.maximum(days, 1)) / (1 + _SHORT_DAYS / _FULL_DAYS))
    return widened


def _ordinary(x: Floats, n: Floats, classes: Ints, law: Law, a_day: int) -> Flags:
    """Windows but those with far more events than the same hours of the other days make likely: an incident is none."""
    daily = np.eye(CLASSES)[classes].reshape(-1, a_day, CLASSES)
    of_day = [np.einsum("sdw,dwc->sdc", each.reshape(len(each), -1, a_day), daily) for each in (x, n)]
    others = [_smooth(each.sum(axis=1, keepdims=True) - each) for each in of_day]
    p = (others[0] + _UNSEEN) / np.maximum(others[1], 2 * _UNSEEN)
    expected = n * np.einsum("sdc,dwc->sdw", np.minimum(p, 1.0) if law.of_trials else p, daily).reshape(n.shape)
    excess, sigma = x - expected, np.sqrt(expected)
    return np.asarray(excess <= _INCIDENT * _usual_distance(excess, expected)[:, None] * sigma + 3 * RARE)


def _usual_distance(strayed: Floats, v: Floats) -> Floats:
    """How many times farther windows usually are from what is usual than chance makes them, at least once."""
    sigma = np.sqrt(np.maximum(v, NOTHING))
    middle = medians(np.where(v > 0, np.abs(strayed) / sigma, NAN))
    return np.maximum(MAD_TO_SIGMA * np.nan_to_num(middle), 1.0)


def _by_class(x: Floats, n: Floats, classes: Ints, law: Law) -> Floats:
    """Events a trial by class, drawn to those of the whole series as if that were so many events of the class."""
    all_x, all_n = x.sum(axis=1), np.maximum(n.sum(axis=1), 2 * _UNSEEN)
    most = 1 - _UNSEEN / all_n if law.of_trials else np.inf
    p = np.minimum(np.maximum(all_x, _UNSEEN) / all_n, most)
    prior = _PRIOR_EVENTS / law.chance(p)
    alike = np.eye(CLASSES)[classes]
    return np.asarray((_smooth(x @ alike) + (prior * p)[:, None]) / (_smooth(n @ alike) + prior[:, None]))


def _smooth(sums: Floats) -> Floats:
    """Sums of each hour with half of those of its neighbours on the clock."""
    hours = sums.reshape(*sums.shape[:-1], CLASSES // 24, 24)
    return (hours + (np.roll(hours, 1, axis=-1) + np.roll(hours, -1, axis=-1)) / 2).reshape(sums.shape)


def _beyond_chance(strayed: Floats, v: Floats) -> Floats:
    """Variance beyond chance by moments, where chance alone makes excesses `strayed` of variance `v`."""
    beyond: Floats = (strayed**2 - v).sum(axis=1) / np.maximum((v**2).sum(axis=1), NOTHING)
    return beyond


def _sway(strayed: Floats, v: Floats, windows: int) -> Floats:
    """What all stretches of so many windows stray beyond chance, with some of its own standard error on top."""
    stretches, chances = (_stretches(sums, windows) for sums in (strayed, v))
    beyond = np.maximum(_beyond_chance(stretches, chances), 0.0)
    apart = strayed.shape[1] / windows
    by_chance = 2 * windows / np.maximum((chances**2).sum(axis=1), NOTHING)
    sway = beyond + _CAUTION * np.sqrt(by_chance + 2 / apart * beyond**2)
    return np.asarray(np.sqrt(np.maximum(sway, _LEAST_SWAY**2)))


def _stretches(values: Floats, windows: int) -> Floats:
    sums = np.concatenate([np.zeros((len(values), 1)), np.cumsum(values, axis=1)], axis=1)
    return np.asarray(sums[:, windows:] - sums[:, :-windows])
