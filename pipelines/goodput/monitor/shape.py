"""What a series did before it fired: since when, as a ramp or a step, how steep, and where that leads.

Computed after the alarm, to explain it: nothing here decides whether there is one.
"""

from dataclasses import dataclass

import numpy as np

from goodput.monitor.grid import Floats, Grid

_LOOK_BACK_HOURS, _LEAST_WINDOWS = 48, 8  # in which the onset is looked for
_SLOPE_HOURS, _LEAST_OF_SLOPE = 12, 4


@dataclass(frozen=True)
class Shape:
    """Best of all ramps and steps: `onset` counts windows back from the last, `slope` is per hour on the scale."""

    kind: str
    onset: int
    slope: float
    level: float


def shape_of(residual: Floats, grid: Grid) -> Shape:
    """Shape of the last 48 hours of residuals (NaN left out), the last of them being the window that fired."""
    recent = residual[-grid.hours(_LOOK_BACK_HOURS, _LEAST_WINDOWS) :]
    at = np.flatnonzero(np.isfinite(recent))
    values, hours = recent[at], at.astype(np.float64) * grid.step_h
    best = min(_fits(values, hours), key=lambda fit: fit[0])
    _, kind, since, size = best
    onset = int(len(recent) - 1 - round(since / grid.step_h))
    level = size * (hours[-1] - since) if kind == "ramp" else size
    return Shape(kind, max(onset, 0), size if kind == "ramp" else 0.0, float(level))


def _fits(values: Floats, hours: Floats) -> list[tuple[float, str, float, float]]:
    """(sum of squares, kind, onset hour, slope or height) of every onset; before it the series is as usual."""
    found = []
    for begins in hours[:-1]:
        since = np.maximum(hours - begins, 0.0)
        slope = float((values * since).sum() / (since**2).sum())
        found.append((float(((values - slope * since) ** 2).sum()), "ramp", float(begins), slope))
        later = hours > begins
        height = float(values[later].mean())
        found.append((float(((values - height * later) ** 2).sum()), "step", float(begins), height))
    return found or [(0.0, "step", float(hours[-1]), float(values[-1]))]


def median_slope(residual: Floats, grid: Grid) -> float | None:
    """Theil-Sen slope of the last 12 hours, per hour: the median of the slopes between all pairs of windows."""
    recent = residual[-grid.hours(_SLOPE_HOURS, _LEAST_OF_SLOPE) :]
    at = np.flatnonzero(np.isfinite(recent))
    if len(at) < 3:
        return None
    first, second = np.triu_indices(len(at), 1)
    return float(np.median((recent[at[second]] - recent[at[first]]) / ((at[second] - at[first]) * grid.step_h)))
