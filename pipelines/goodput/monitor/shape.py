"""What a series did before it fired: since when, as a ramp or a step, and how steep.

Computed after the alarm, to explain it: nothing here decides whether there is one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from goodput.monitor.grid import Floats, Grid, Ints

_LOOK_BACK = ((48, 8), (192, 32))  # hours, and windows at least, in which an onset is looked for: then farther back
_SHAPE_HOURS, _LEAST_OF_SHAPE = _LOOK_BACK[0]
_SLOPE_HOURS, _LEAST_OF_SLOPE = 12, 4


@dataclass(frozen=True)
class Onset:
    """The first window that left the usual, counted from the first of the series; `is_earlier`: or one before it."""

    window: int
    is_earlier: bool = False


@dataclass(frozen=True)
class Shape:
    """A ramp, with its `slope` per hour on the scale, or a step."""

    kind: str
    slope: float = 0.0


@dataclass(frozen=True)
class _Fits:
    """By how much each onset lessens the sum of squares, as a step and as a ramp; 0 for what is for the better."""

    step: Floats
    ramp: Floats
    left: float  # variance that the best of them leaves

    @property
    def either(self) -> Floats:
        """As the better of the two."""
        return np.maximum(self.step, self.ramp)


def onset_of(residual: Floats, grid: Grid, marks: Sequence[float] = ()) -> Onset:
    """Onset of the best of all ramps and steps up to the last window of `residual`, the one that fired (NaN left out).

    Operations at `marks`, in windows, may have meant a step: what fits from there is taken, unless another onset fits
    better than the best of so many would by chance alone.
    """
    at, is_earlier = np.empty(0, dtype=np.int64), False
    for hours, least in _LOOK_BACK:
        first = max(len(residual) - grid.hours(hours, least), 0)
        at = first + np.flatnonzero(np.isfinite(residual[first:]))
        fits = _fits(residual[at], (at - at[-1]) * grid.step_h, grid.step_h)
        begun = _at_a_mark(fits, at, marks)
        is_earlier = begun == 0  # what lies before was not looked at, or never judged
        if not is_earlier or not np.isfinite(residual[:first]).any():
            break
    return Onset(int(at[begun]), is_earlier)


def shape_of(residual: Floats, grid: Grid, onset: Onset) -> Shape:
    """Shape since its onset of the last 48 hours of residuals."""
    first = max(len(residual) - grid.hours(_SHAPE_HOURS, _LEAST_OF_SHAPE), onset.window)
    at = first + np.flatnonzero(np.isfinite(residual[first:]))
    since = (at - onset.window + 0.5) * grid.step_h
    values = residual[at]
    slope = float((values * since).sum() / (since**2).sum())
    as_ramp = slope * float((values * since).sum())
    as_step = float(values.sum()) ** 2 / len(values)
    return Shape("ramp", slope) if len(at) > 1 and slope > 0 and as_ramp > as_step else Shape("step")


def _fits(values: Floats, hours: Floats, step_h: float) -> _Fits:
    """Of every onset: a step holds from its window on, a ramp is nothing where that begins, half a window before it."""
    begins = hours - step_h / 2
    sums = (hours**0, values, hours, hours**2, values * hours)
    windows, total, hour, squares, products = (np.cumsum(each[::-1])[::-1] for each in sums)  # from each on
    rises = products - begins * total
    slope = rises / (squares - 2 * begins * hour + windows * begins**2)
    step = np.where(total > 0, total**2 / windows, 0.0)
    ramp = np.where((slope > 0) & (windows > 1), rises * slope, 0.0)  # of one window a ramp is a step
    left = float((values**2).sum() - max(step.max(), ramp.max())) / max(len(values) - 2, 1)
    return _Fits(step, ramp, max(left, 0.0))


def _at_a_mark(fits: _Fits, at: Ints, marks: Sequence[float]) -> int:
    """Place of the onset among windows `at`: the first that lies mostly after a mark or the next one, or the best."""
    best = int(fits.either.argmax())
    held = [int(np.searchsorted(at, mark - 0.5)) for mark in marks if at[0] <= mark < at[-1] + 1]
    near = [place for first in held for place in (first, first + 1) if place < len(at)]
    marked = max(near, key=lambda place: float(fits.either[place]), default=best)
    by_chance = 2 * np.log(2 * len(at)) * fits.left
    return marked if fits.either[best] - fits.either[marked] <= by_chance else best


def median_slope(residual: Floats, grid: Grid) -> float | None:
    """Theil-Sen slope of the last 12 hours, per hour: the median of the slopes between all pairs of windows."""
    recent = residual[-grid.hours(_SLOPE_HOURS, _LEAST_OF_SLOPE) :]
    at = np.flatnonzero(np.isfinite(recent))
    if len(at) < 3:
        return None
    first, second = np.triu_indices(len(at), 1)
    return float(np.median((recent[at[second]] - recent[at[first]]) / ((at[second] - at[first]) * grid.step_h)))
