"""What a control chart is: how windows are judged by the history before their day, and how they become a score.

Which days are judged by which history is the detector's work, the same for every chart.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from goodput.monitor.fading import Fading
from goodput.monitor.grid import NAN, Floats, Ints
from goodput.monitor.inputs import ChartReading, Inputs, Judged, Scores
from goodput.settings.metrics import HIGHEST_SCORE

CLIP = HIGHEST_SCORE  # of a window's distance in sigma: no single window makes an alarm
WEIGHT_AN_HOUR = 0.3  # of the newest hour in the average
TAPS_HOURS = 24
REACH_HOURS = 48  # windows before a longer gap no longer count
_KEPT_OF_LONGER = 0.4  # weight of the window before, where windows are longer than an hour: two make an alarm, not one
_TAPS_OF_LONGER, _REACH_OF_LONGER = 6, 4  # windows


Meant = Callable[[Floats], Floats]  # how much of distances, series x windows, somebody meant


class ControlChart(Protocol):
    """One way to chart series of one kind."""

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of what `judge` gives of each window: at least `usual` and `scale`."""
        ...

    def judge(self, inputs: Inputs, rows: Ints, history: slice, today: slice) -> Judged:
        """What windows `today` of series `rows` usually are, by windows `history`: arrays of rows x today.

        Only `inputs.remembered` windows are history; NaN where it says nothing.
        """
        ...

    def residual(self, inputs: Inputs, judged: Judged) -> Floats:
        """How far each window stands from what is usual, on the scale of the metric."""
        ...

    def score(self, inputs: Inputs, judged: Judged) -> Floats:
        """What is compared with thresholds, of each window by itself and those before it; NaN: no verdict."""
        ...

    def score_beyond(self, inputs: Inputs, judged: Judged, meant: Meant) -> Floats:
        """The score of what is left of each distance from the usual when what is meant of it is taken away."""
        ...

    def bound(self, judged: Judged, threshold: float) -> Floats:
        """Value at which the score reaches a threshold if it stays there."""
        ...

    def reading(self, inputs: Inputs, scores: Scores, at: int) -> ChartReading:
        """What stood out in a window of one series."""
        ...

    def drifted(self, inputs: Inputs, by: Floats) -> Inputs:
        """The series with a change on top, on the scale of the metric, positive for the worse."""
        ...

    def accepted(self, inputs: Inputs, scores: Scores, since: slice) -> Inputs:
        """The series as if what became normal in windows `since` had been so before them too."""
        ...


def averaged(distance: Floats, step_s: int) -> Floats:
    """Exponential average of clipped distances over the last windows that have one; NaN where there is none.

    A window without a distance neither counts nor ages the others.
    """
    known = np.isfinite(distance)
    reach = max(REACH_HOURS * 3600 // step_s, _REACH_OF_LONGER)
    clipped = np.where(known, np.clip(distance, -CLIP, CLIP), 0.0)
    (total,) = Fading(_kept(step_s), _taps(step_s), reach).sums([clipped], known)
    return np.where(known, (1 - _kept(step_s)) * total, NAN)


def wandered(distance: Floats, step_s: int) -> Floats:
    """The same average where only how far it wanders is asked for: without the ends that are next to nothing."""
    known = np.isfinite(distance)
    gaps = not known.all()
    order = np.argsort(~known, axis=1, kind="stable") if gaps else None
    moved = distance if order is None else np.take_along_axis(distance, order, axis=1)
    kept, taps = _kept(step_s), _taps(step_s)
    total = (1 - kept) * np.nan_to_num(np.clip(moved, -CLIP, CLIP))
    back = 1
    while back < min(taps, total.shape[1]):  # doubling: weights kept**0, **1; **0 to **3; ...
        total[:, back:] += kept**back * total[:, :-back].copy()
        back *= 2
    return total if order is None else np.where(np.take_along_axis(known, order, axis=1), total, NAN)


def _kept(step_s: int) -> float:
    """What the average keeps of the window before."""
    return _KEPT_OF_LONGER if step_s > 3600 else (1 - WEIGHT_AN_HOUR) ** (step_s / 3600)


def _taps(step_s: int) -> int:
    return max(TAPS_HOURS * 3600 // step_s, _TAPS_OF_LONGER)
