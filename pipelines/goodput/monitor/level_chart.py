"""The level of a series: how far it stands above its own baseline, averaged over the last hours.

The level is charted, not the slope: a slope is noisier than the shift that it has already caused.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from goodput.monitor.baseline import baseline
from goodput.monitor.control_chart import averaged
from goodput.monitor.detector import HISTORY_DAYS
from goodput.monitor.grid import Floats, Ints
from goodput.monitor.inputs import Inputs, Judged, Scores

_SHORT_DAYS = 3.0  # makes false alarms in the second week as rare as later


@dataclass(frozen=True)
class LevelChart:
    """Exponential average of clipped distances from the baseline, in sigma."""

    parts: ClassVar[tuple[str, ...]] = ("usual", "scale")

    def judge(self, inputs: Inputs, rows: Ints, history: slice, today: slice) -> Judged:
        """Usual value and scale, by hour of the day and age since a restart."""
        grid, classes, past = inputs.grid, inputs.calendar.classes, inputs.past[rows, history]
        ages = None if inputs.age_h is None else inputs.age_h[rows]
        aged = None if ages is None else ages[:, history]
        base = baseline(past, classes[history], inputs.floor, aged, grid.an_hour)
        usual = base.at(classes[today], None if ages is None else ages[:, today])
        days = np.isfinite(past).sum(axis=1) / grid.a_day
        scale = np.repeat((base.scale * _doubt(days))[:, None], usual.shape[1], axis=1)
        if inputs.noise is not None:
            scale = np.fmax(scale, inputs.noise[rows, today])
        return {"usual": usual, "scale": scale}

    def residual(self, inputs: Inputs, judged: Judged) -> Floats:
        """Value less what is usual."""
        return np.asarray(inputs.values - judged["usual"])

    def score(self, inputs: Inputs, judged: Judged) -> Floats:
        """The average of the last day, in sigma."""
        return averaged(self.residual(inputs, judged) / judged["scale"], inputs.grid.step_s)

    def drifted(self, inputs: Inputs, by: Floats) -> Inputs:
        """Values with a change on top."""
        return replace(inputs, values=inputs.values + by)

    def accepted(self, inputs: Inputs, scores: Scores, since: slice) -> Inputs:
        """Values before `since` moved by what they strayed in it."""
        strayed = scores.residual[:, since]
        step = float(np.nanmedian(strayed)) if np.isfinite(strayed).any() else 0.0
        return self.drifted(inputs, np.where(np.arange(inputs.grid.windows) < since.start, step, 0.0))


def _doubt(days: Floats) -> Floats:
    """How much wider a short history's own errors make the distance from its baseline, 1 for a full one."""
    widened: Floats = np.sqrt((1 + _SHORT_DAYS / days) / (1 + _SHORT_DAYS / HISTORY_DAYS))
    return widened
