"""The level of a series: how far it stands above what is usual at its hour and its load, averaged over the last hours.

The level is charted, not the slope: a slope is noisier than the shift that it has already caused.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from goodput.monitor.charted import Charted, moved_before
from goodput.monitor.control_chart import Meant, averaged
from goodput.monitor.grid import Floats, Ints
from goodput.monitor.inputs import ChartReading, Inputs, Judged, Scores
from goodput.settings.metrics import Quantile


@dataclass(frozen=True)
class LevelChart:
    """Exponential average of clipped distances from the baseline and what the load explains, in sigma."""

    quantile: Quantile | None = None
    parts: ClassVar[tuple[str, ...]] = ("usual", "load", "scale", "strays")

    def judge(self, inputs: Inputs, rows: Ints, history: slice, today: slice) -> Judged:
        """Usual value by hour of the day and age since a restart, what the load adds to it, and sigma of the rest."""
        return self.level(Charted(inputs, rows, history, today, self.quantile))

    def level(self, charted: Charted) -> Judged:
        """The same of series and windows together."""
        draws = 0.0 if self.quantile is None else 1 / self.quantile.above
        fit = charted.fitted(charted.load)
        scale = charted.scale(fit, draws)
        strays = np.broadcast_to(fit.strays[:, None], fit.usual.shape)
        return {"usual": fit.usual, "load": fit.explained, "scale": scale, "strays": strays}

    def residual(self, inputs: Inputs, judged: Judged) -> Floats:
        """Value less what is usual at this load."""
        return np.asarray(inputs.values - judged["usual"] - judged["load"])

    def score(self, inputs: Inputs, judged: Judged) -> Floats:
        """The average of the last day, in sigma."""
        return averaged(self.residual(inputs, judged) / judged["scale"], inputs.grid.step_s)

    def score_beyond(self, inputs: Inputs, judged: Judged, meant: Meant) -> Floats:
        """The same average of what is left."""
        residual = self.residual(inputs, judged)
        return averaged((residual - meant(residual)) / judged["scale"], inputs.grid.step_s)

    def bound(self, judged: Judged, threshold: float) -> Floats:
        """What is usual at this load, and so many sigma."""
        return np.asarray(judged["usual"] + judged["load"] + threshold * judged["scale"])

    def reading(self, _inputs: Inputs, scores: Scores, at: int) -> ChartReading:
        """The level, and what the load explains of it."""
        load, strays = scores.judged["load"][0], float(scores.judged["strays"][0, at])
        explained = {} if self.quantile is None else {"load": load}
        return ChartReading("level", scores.residual[0], scores.scale[0], scores.residual[0] + load, strays, explained)

    def drifted(self, inputs: Inputs, by: Floats) -> Inputs:
        """Values with a change on top."""
        return replace(inputs, values=inputs.values + by)

    def accepted(self, inputs: Inputs, scores: Scores, since: slice) -> Inputs:
        """Values before `since` moved by what they strayed in it."""
        return replace(inputs, values=moved_before(inputs.values, since, scores.residual))
