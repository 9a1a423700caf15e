"""Series on one grid of windows: whole UTC days, a row per series, NaN where a window has no value.

What a value means, and whether more of it is bad, is decided before a grid is made: here more is always worse.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
DAY_S = 86400
NAN = float("nan")


@dataclass(frozen=True)
class Grid:
    """Times of a grid: `days` whole days of windows of `step_s` seconds from the UTC midnight `start_s`."""

    start_s: int
    days: int
    step_s: int = 3600

    @property
    def a_day(self) -> int:
        """Windows in a day."""
        return DAY_S // self.step_s

    @property
    def step_h(self) -> float:
        """Hours of a window."""
        return self.step_s / 3600

    def hours(self, hours: float, least: int = 1) -> int:
        """Windows in so many hours, `least` where windows are too long for more."""
        return max(round(hours * 3600 / self.step_s), least)

    @property
    def windows(self) -> int:
        """Windows in all."""
        return self.days * self.a_day

    def index(self, at_s: Ints) -> Ints:
        """Window that begins at, or holds, an instant in Unix seconds."""
        return (at_s - self.start_s) // self.step_s

    def until(self, at_s: int) -> int:
        """Windows that are over by an instant in Unix seconds."""
        return min((at_s - self.start_s) // self.step_s, self.windows)

    def end_s(self, window: int) -> int:
        """End of a window in Unix seconds: when its verdict can be given."""
        return self.start_s + (window + 1) * self.step_s

    def days_before(self, onset: int, at: int) -> range:
        """How many days back from windows up to `at` lie the seven days that nothing since window `onset` is in."""
        nearest = (at - onset) // self.a_day + 1
        return range(nearest, nearest + 7)


def grid_of(first_s: int, last_s: int, step_s: int) -> Grid:
    """The smallest grid that holds the windows beginning at `first_s` up to `last_s`."""
    start_s = first_s // DAY_S * DAY_S
    return Grid(start_s, (last_s - start_s) // DAY_S + 1, step_s)


def medians(values: Floats) -> Floats:
    """Medians along the last axis, NaN left out; NaN where nothing is left."""
    ordered = np.sort(values, axis=-1)  # NaN goes to the end
    known = np.isfinite(values).sum(axis=-1, keepdims=True)
    low = np.take_along_axis(ordered, np.maximum((known - 1) // 2, 0), axis=-1)
    high = np.take_along_axis(ordered, np.minimum(known // 2, values.shape[-1] - 1), axis=-1)
    middle: Floats = np.where(known > 0, (low + high) / 2, NAN)[..., 0]
    return middle
