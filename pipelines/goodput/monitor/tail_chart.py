"""Level and tail of a latency: its p99 above what is usual, and its p99 above what its p95 lets one expect.

A tail that grows alone is found by the second long before the first: most of what p99 strays, p95 strays with it. It
is armed only on series where that is so.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from goodput.monitor.charted import Charted, moved_before
from goodput.monitor.control_chart import Meant, averaged
from goodput.monitor.grid import NAN, Floats, Ints
from goodput.monitor.inputs import ChartReading, Inputs, Judged, Scores
from goodput.monitor.level_chart import LevelChart
from goodput.settings.metrics import Quantile

LEAST_SHARE = 0.3  # of p99's variance that p95 explains: below it the tail's chart finds what the level's finds


@dataclass(frozen=True)
class LevelAndTailChart:
    """The greater of two averages: of the level, and of the tail beyond the body."""

    quantile: Quantile
    parts: ClassVar[tuple[str, ...]] = (
        *LevelChart.parts,
        *("tail_usual", "tail_scale", "tail_strays", "body", "body_moved", "share"),
    )

    def judge(self, inputs: Inputs, rows: Ints, history: slice, today: slice) -> Judged:
        """What the level's chart knows, and of the tail the value to expect of this body and sigma around it."""
        charted = Charted(inputs, rows, history, today, self.quantile)
        return {**self._level.level(charted), **self._tail(charted)}

    @property
    def _level(self) -> LevelChart:
        return LevelChart(self.quantile)

    def _tail(self, charted: Charted) -> Judged:
        body = charted.covariate(charted.inputs.body)
        draws = 1 / self.quantile.above - 1 / self.quantile.above_body
        fit = charted.fitted((body,))
        armed = np.where(fit.share >= LEAST_SHARE, 1.0, NAN)[:, None]
        by_window = np.ones(fit.usual.shape)
        return {
            "tail_usual": fit.usual + fit.explained,
            "tail_scale": charted.scale(fit, draws) * armed,
            "tail_strays": fit.strays[:, None] * by_window,
            "body": fit.explained,
            "body_moved": body.moved,
            "share": fit.share[:, None] * by_window,
        }

    def residual(self, inputs: Inputs, judged: Judged) -> Floats:
        """Value less what is usual at this load."""
        return self._level.residual(inputs, judged)

    def score(self, inputs: Inputs, judged: Judged) -> Floats:
        """The greater of the two; of series whose whole law drifts, with no body, the level's alone."""
        level = self._level.score(inputs, judged)
        return level if inputs.body is None else np.fmax(level, self.tail_score(inputs, judged))

    def tail_score(self, inputs: Inputs, judged: Judged) -> Floats:
        """The average of the tail's distance from what its body lets one expect; NaN where it is not armed."""
        return averaged((inputs.values - judged["tail_usual"]) / judged["tail_scale"], inputs.grid.step_s)

    def score_beyond(self, inputs: Inputs, judged: Judged, meant: Meant) -> Floats:
        """The greater of the two, each of what is left of its own distances."""
        level = self._level.score_beyond(inputs, judged, meant)
        residual = inputs.values - judged["tail_usual"]
        return np.fmax(level, averaged((residual - meant(residual)) / judged["tail_scale"], inputs.grid.step_s))

    def bound(self, judged: Judged, threshold: float) -> Floats:
        """The lower one of the two charts."""
        tail = judged["tail_usual"] + threshold * judged["tail_scale"]
        return np.fmin(self._level.bound(judged, threshold), tail)

    def reading(self, inputs: Inputs, scores: Scores, at: int) -> ChartReading:
        """The chart whose average is the greater one, and what load and body explain of the value."""
        judged = scores.judged
        level = self._level.reading(inputs, scores, at)
        explained = {**level.explained, "body": judged["body"][0]}
        tail, whole = (part[0, at] for part in (self.tail_score(inputs, judged), self._level.score(inputs, judged)))
        if not tail > whole:
            return replace(level, explained=explained)
        residual, strays = inputs.values[0] - judged["tail_usual"][0], float(judged["tail_strays"][0, at])
        return ChartReading("tail", residual, judged["tail_scale"][0], level.over, strays, explained)

    def drifted(self, inputs: Inputs, by: Floats) -> Inputs:
        """Body and tail with a change on top: the tail says nothing then."""
        return replace(self._level.drifted(inputs, by), body=None)

    def accepted(self, inputs: Inputs, scores: Scores, since: slice) -> Inputs:
        """Values and body before `since` moved by what each strayed in it."""
        assert inputs.body is not None  # noqa: S101
        body = moved_before(inputs.body, since, scores.judged["body_moved"])
        return replace(self._level.accepted(inputs, scores, since), body=body)
