"""What a series usually is at each hour, and how far it usually strays: medians of its own history, no model.

A long drift hardly moves a median of weeks, and one outlier does not move it at all.
"""

from dataclasses import dataclass

import numpy as np

from goodput.monitor.calendar import by_class
from goodput.monitor.grid import NAN, Floats, Ints, medians

MAD_TO_SIGMA = 1.4826
_BLOCK_HOURS = 6  # weekends are few: their difference from days of work is pooled over a quarter of a day
_AGE_BIN_H = 2
_AGE_BINS = 24
_LEAST_OF_AGE_H = 6  # of windows: one restart says little of what every restart does


@dataclass(frozen=True)
class Baseline:
    """Usual value by class (series x 48) and by age since restart (series x 24), and the usual distance from it."""

    by_class: Floats
    by_age: Floats | None
    scale: Floats

    def at(self, classes: Ints, age_h: Floats | None) -> Floats:
        """Usual value of each series in windows of these classes and ages, NaN where history has none alike."""
        usual = self.by_class[:, classes]
        if self.by_age is None or age_h is None:
            return usual
        return usual + _by_bin(self.by_age, _bins(age_h))


def baseline(history: Floats, classes: Ints, floor: float, age_h: Floats | None = None, an_hour: int = 1) -> Baseline:
    """Baseline of a history (series x windows, NaN: no data); `floor` is the least scale that is believed."""
    usual = _by_class(history, classes)
    residual = history - usual[:, classes]
    by_age = None if age_h is None else _by_age(residual, age_h, _LEAST_OF_AGE_H * an_hour)
    if by_age is not None and age_h is not None:
        residual = residual - _by_bin(by_age, _bins(age_h))
    centre = medians(residual)
    spread = MAD_TO_SIGMA * medians(np.abs(residual - centre[:, None]))
    return Baseline(usual + centre[:, None], by_age, np.maximum(spread, floor))


def _by_class(history: Floats, classes: Ints) -> Floats:
    alike = by_class(history, classes)
    work, off = medians(alike[:, :24]), medians(alike[:, 24:])
    strays = (alike[:, 24:] - work[:, :, None]).reshape(len(history), 24 // _BLOCK_HOURS, -1)
    expected_off = work + np.repeat(medians(strays), _BLOCK_HOURS, axis=1)
    off = np.where(np.isnan(off), expected_off, np.where(np.isnan(expected_off), off, (off + expected_off) / 2))
    return np.concatenate([_smooth(work), _smooth(off)], axis=1)


def _smooth(hours: Floats) -> Floats:
    """Each hour with half a part of its neighbours on the clock; a missing neighbour has no part."""
    parts = np.stack([np.roll(hours, 1, axis=1), hours, np.roll(hours, -1, axis=1)])
    weights = np.array([1.0, 2.0, 1.0])[:, None, None] * np.isfinite(parts)
    total = weights.sum(axis=0)
    mean = np.nansum(parts * weights, axis=0) / np.maximum(total, 1)
    return np.where(np.isnan(hours), NAN, mean)


def _bins(age_h: Floats) -> Ints:
    """Bin of each age; -1 where it is not known."""
    known = np.nan_to_num(age_h, nan=-_AGE_BIN_H)
    return np.minimum(known // _AGE_BIN_H, _AGE_BINS - 1).astype(np.int64)


def _by_age(residual: Floats, age_h: Floats, least: int) -> Floats:
    """What is usual at each age beyond what is usual at the hour; an age never reached is like the oldest that was."""
    bins = _bins(age_h)
    by_age = np.stack([_of_age(np.where(bins == b, residual, NAN), least) for b in range(_AGE_BINS)], axis=1)
    for b in range(1, _AGE_BINS):
        by_age[:, b] = np.where(np.isnan(by_age[:, b]), by_age[:, b - 1], by_age[:, b])
    return np.nan_to_num(by_age)


def _of_age(residual: Floats, least: int) -> Floats:
    return np.where(np.isfinite(residual).sum(axis=1) >= least, medians(residual), NAN)


def _by_bin(by_age: Floats, bins: Ints) -> Floats:
    found = np.take_along_axis(by_age, np.maximum(bins, 0), axis=1)
    return np.where(bins < 0, 0.0, found)
