"""Where a share that rises with the load crosses its bound: violators pooled, and a curve through the loads around.

Arrays are by draw and level of load, all draws at once. What is counted, and what a knee is, is the work of `knee`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

NEAR = 8.0  # shares within this factor of the bound show where it is crossed
_OF_A_PARABOLA = 4  # fewer levels show no curvature
_NEWTON_STEPS = 12
_CELLS = 2_000_000  # of the largest array of one chunk of draws


def monotone(failing: Array, judged: Array) -> Array:
    """The shares that fit best among those that never fall with the load: adjacent violators are pooled, by draw."""
    draws, count = failing.shape
    fitted = np.empty_like(failing)
    chunk = max(1, _CELLS // count**2)
    upper = np.triu(np.ones((count, count), dtype=bool))
    for begin in range(0, draws, chunk):
        part = slice(begin, begin + chunk)
        failed, all_ = (np.pad(np.cumsum(v[part], axis=1), ((0, 0), (1, 0))) for v in (failing, judged))
        # the mean of levels j to k; of level i the largest over j <= i of the least over k >= i
        mean = (failed[:, None, 1:] - failed[:, :-1, None]) / np.maximum(all_[:, None, 1:] - all_[:, :-1, None], 1e-12)
        least = np.minimum.accumulate(np.where(upper, mean, np.inf)[:, :, ::-1], axis=2)[:, :, ::-1]
        fitted[part] = np.where(upper, least, -np.inf).max(axis=1)
    return fitted


def crossing(load: Array, failing: Array, judged: Array, bound: Array) -> Array:
    """By draw the load at which the share of failing requests crosses its bound; all but `bound` by draw and level."""
    fitted, each = monotone(failing, judged), np.arange(len(load))
    beyond = fitted > bound[:, None] + 1e-12
    first = beyond.argmax(axis=1)
    last = np.maximum(first - 1, 0)
    share = (fitted * judged + 0.5) / (judged + 1)
    most = np.maximum(0.5, (1 + bound) / 2)
    near = (fitted >= bound[:, None] / NEAR) & (fitted <= np.minimum(bound * NEAR, most)[:, None])
    near[each, first] = near[each, last] = True
    curve = _log_odds(load, (failing + 0.5) / (judged + 1), judged + 1, near)
    with np.errstate(divide="ignore", invalid="ignore"):
        target = np.log(bound / (1 - bound))
        odds = np.log(share / (1 - share))
        between = (target - odds[each, last]) / (odds[each, first] - odds[each, last])
    straight = load[each, last] + (load[each, first] - load[each, last]) * np.clip(between, 0, 1)
    least, highest = (np.where(near, load, edge) for edge in (np.inf, -np.inf))
    found = curve.reaches(target, straight, least.min(axis=1), highest.max(axis=1))
    return np.where(beyond.any(axis=1), np.where(beyond[:, 0], -np.inf, found), np.inf)


@dataclass(frozen=True)
class _Curve:
    """By draw a parabola over loads: its coefficients at (load - middle) / scale."""

    middle: Array
    scale: Array
    coefficients: Array

    def reaches(self, height: Array, near: Array, least: Array, highest: Array) -> Array:
        """The load near another at which it has a height, between two loads; `near` itself where it does not rise."""
        begin, end = (least - self.middle) / self.scale, (highest - self.middle) / self.scale
        at, slope = (near - self.middle) / self.scale, np.ones_like(near)
        constant, linear, square = self.coefficients.T
        for _ in range(_NEWTON_STEPS):
            slope = linear + 2 * square * at
            rises = slope > 1e-9
            off = constant + linear * at + square * at**2 - height
            at = np.clip(at - np.where(rises, off / np.where(rises, slope, 1), 0), begin, end)
        return np.where(slope > 1e-9, self.middle + self.scale * at, near)


def _log_odds(load: Array, share: Array, weight: Array, used: NDArray[np.bool_]) -> _Curve:
    """The likeliest parabola through the log odds of the used shares; a line where there are fewer than four."""
    middle = np.average(load, axis=1, weights=used * weight)
    offset = np.where(used, load - middle[:, None], 0)
    scale = np.maximum(np.abs(offset).max(axis=1), 1e-12)
    x = offset / scale[:, None]
    powers = np.stack([np.ones_like(x), x, x**2], axis=2)
    held = np.zeros((len(load), 3, 3))
    held[:, 0, 0] = held[:, 1, 1] = 1e-9
    held[:, 2, 2] = np.where(used.sum(axis=1) < _OF_A_PARABOLA, 1e12, 1e-9)
    odds = np.log(share / (1 - share))
    by = used * weight * share * (1 - share)
    for _ in range(_NEWTON_STEPS):
        normal = np.einsum("dl,dli,dlj->dij", by, powers, powers) + held
        found = np.linalg.solve(normal, np.einsum("dl,dli->di", by * odds, powers)[:, :, None])[:, :, 0]
        line = np.clip(np.einsum("dli,di->dl", powers, found), -30, 30)
        fitted = 1 / (1 + np.exp(-line))
        varies = fitted * (1 - fitted)
        odds, by = line + (share - fitted) / varies, used * weight * varies
    return _Curve(middle, scale, found)
