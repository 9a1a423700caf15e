"""The chart of counts: how unlikely the events of the last ten hours are, by what the series' own history makes usual.

Ratios stand on the logit, rates on the logarithm; sigma is that of ten hours like the window, not of the window alone.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from goodput.monitor import counts
from goodput.monitor.control_chart import Meant
from goodput.monitor.counts import Law, Usual
from goodput.monitor.grid import NAN, Floats, Ints
from goodput.monitor.habits import habits
from goodput.monitor.inputs import ChartReading, Inputs, Judged, Scores

_LIKE_USUAL = 2.0  # events as usual that each window's distance is drawn by: one without any is not infinitely far
_NOTHING = 1e-12


@dataclass(frozen=True)
class CountChart:
    """Events of trials, by a law; `sign` -1 where fewer of them are worse."""

    law: Law
    sign: float = 1.0
    parts: ClassVar[tuple[str, ...]] = ("usual", "scale", "clump", "tau", "sway")

    def judge(self, inputs: Inputs, rows: Ints, history: slice, today: slice) -> Judged:
        """Usual value by hour of the day, what strays beyond chance, and sigma of ten hours."""
        x, n = _counted(inputs)
        classes, kept = inputs.calendar.classes, inputs.remembered[rows, history]
        trials = np.where(kept, n[rows, history], 0.0)
        known = habits(x[rows, history], trials, classes[history], self.law, inputs.grid.hours(1))
        p = known.by_class[:, classes[today]]
        v = n[rows, today] / known.clump[:, None] * self.law.chance(p)
        alone = counts.alone(inputs.grid.step_s) / np.where(v > 0, v, NAN)
        return {
            "usual": self._on_scale(p),
            "scale": np.sqrt(alone + known.sway[:, None] ** 2),
            "clump": np.broadcast_to(known.clump[:, None], p.shape),
            "tau": np.broadcast_to(known.tau[:, None], p.shape),
            "sway": np.broadcast_to(known.sway[:, None], p.shape),
        }

    def residual(self, inputs: Inputs, judged: Judged) -> Floats:
        """Distance from what is usual, where a few events as usual are added to those that there were."""
        x, n = _counted(inputs)
        p = self._off_scale(judged["usual"])
        more = _LIKE_USUAL / self.law.chance(p)
        return np.asarray(np.where(n > 0, self._on_scale((x + more * p) / (n + more)) - judged["usual"], NAN))

    def score(self, inputs: Inputs, judged: Judged) -> Floats:
        """How far the events of ten hours lie above the usual."""
        usual = Usual(self.law, self._off_scale(judged["usual"]), judged["clump"], judged["tau"], judged["sway"])
        return self.sign * counts.score(*_counted(inputs), usual, inputs.grid.step_s)

    def score_beyond(self, inputs: Inputs, judged: Judged, meant: Meant) -> Floats:
        """The same of the events that there would have been without it."""
        return self.score(self.drifted(inputs, -meant(self.residual(inputs, judged))), judged)

    def bound(self, judged: Judged, threshold: float) -> Floats:
        """Where ten hours like the window reach a threshold."""
        return np.asarray(judged["usual"] + threshold * judged["scale"])

    def reading(self, _inputs: Inputs, scores: Scores, _at: int) -> ChartReading:
        """The counts, of which nothing else explains any part."""
        return ChartReading("counts", scores.residual[0], scores.scale[0], scores.residual[0])

    def drifted(self, inputs: Inputs, by: Floats) -> Inputs:
        """Events with their odds, or their rate, multiplied."""
        x, n = _counted(inputs)
        times = np.exp(self.sign * by)
        if not self.law.of_trials:
            return replace(inputs, values=inputs.values + by, events=x * times)
        return replace(
            inputs, values=inputs.values + by, events=n * x * times / np.maximum(n - x + x * times, _NOTHING)
        )

    def accepted(self, inputs: Inputs, scores: Scores, since: slice) -> Inputs:
        """Events before `since` as if the odds of all that came in it had held for them too."""
        x, n = _counted(inputs)
        p = self._off_scale(scores.usual)
        counts_in = np.isfinite(p[:, since]) & (n[:, since] > 0)
        came, trials, usual = (np.where(counts_in, part[:, since], 0.0).sum() for part in (x, n, n * p))
        if trials == 0:
            return inputs
        more = _LIKE_USUAL / self.law.chance(usual / trials)
        now = (came + more * usual / trials) / (trials + more)
        step = float(self._on_scale(np.array(now)) - self._on_scale(np.array(usual / trials)))
        return self.drifted(inputs, np.where(np.arange(inputs.grid.windows) < since.start, step, 0.0))

    def _on_scale(self, p: Floats) -> Floats:
        return self.sign * (np.log(p / (1 - p)) if self.law.of_trials else np.log(p))

    def _off_scale(self, usual: Floats) -> Floats:
        there = self.sign * usual
        return np.asarray(1 / (1 + np.exp(-there)) if self.law.of_trials else np.exp(there))


def _counted(inputs: Inputs) -> tuple[Floats, Floats]:
    assert inputs.events is not None  # noqa: S101
    assert inputs.trials is not None  # noqa: S101
    return inputs.events, inputs.trials
