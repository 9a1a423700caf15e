"""Operations mark series: what steps up at one asks whether that is accepted, and pages once it is worse than allowed.

A step that stays within what was allowed is no fault, nor is what chance adds to it in the days before it is accepted;
a drift that begins with a deployment soon leaves behind where it began.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from goodput.monitor.causes import MARKS, OpsEvent, concerns
from goodput.monitor.grid import Flags, Floats, Grid, Ints, medians
from goodput.monitor.panel import natural, worse
from goodput.monitor.rule_kind import rule_kind
from goodput.monitor.rule_series import RuleSeries, spans

_LEVEL_HOURS = 4  # whose median is the level after an operation: one spike is none, and a drift has not gone far
_STOOD_FROM_HOURS, _STOOD_UNTIL_HOURS = 72, 24  # before a window: the median there of what is being learnt as usual


@dataclass(frozen=True)
class Allowed:
    """An episode that nobody is paged of from `from_s` until its level is worse than allowed, or it is over (inf).

    When it fired it stood `step_ratio` of the usual above that, where `most_ratio` was allowed.
    """

    from_s: int
    until_s: float
    mark: OpsEvent
    step_ratio: float
    most_ratio: float


@dataclass(frozen=True)
class _Judged:
    """Of each window: whether it is worse than allowed, how large the step is, and how large it may be."""

    is_worse: Flags
    step_ratio: Floats
    most_ratio: Floats


def allowed_steps(one: RuleSeries, operations: Sequence[OpsEvent], allowed_step_ratio: float) -> Iterator[Allowed]:
    """Pages of a series that would be none without the steps at its operations, of `allowed_step_ratio` at most each.

    Such a page begins when a step is larger, or what is left beyond the steps reaches the threshold by itself.
    """
    if one.severity != "page" or one.panel is None or not rule_kind(one.kind).learns_baseline:
        return
    if one.panel.kind.worse != "up" or one.panel.kind.per == "replica" or not allowed_step_ratio:
        return
    paged = list(spans(one))
    marks = [done for done in operations if done.kind in MARKS and concerns(done, dict(one.labels))]
    if not paged or not marks:
        return
    judged = _judged(one, marks, allowed_step_ratio)
    for episode, starts_s, ends_s in paged:
        mark = next((done for done in reversed(marks) if done.at_s <= starts_s), None)
        at, until = episode.firing or 0, len(judged.is_worse) if episode.resolved is None else episode.resolved + 1
        beyond = np.flatnonzero(judged.is_worse[at:until])
        until_s = float("inf") if not len(beyond) else one.grid.end_s(at + int(beyond[0]))
        if mark is not None and until_s > starts_s:
            last_s = min(until_s, float("inf") if ends_s is None else ends_s)
            yield Allowed(starts_s, last_s, mark, float(judged.step_ratio[at]), float(judged.most_ratio[at]))


def _judged(one: RuleSeries, marks: Sequence[OpsEvent], allowed_step_ratio: float) -> _Judged:
    """What is made of each window. A level is as unsure as its series is noisy: by a sigma at least."""
    assert one.trend is not None  # noqa: S101
    assert one.chart is not None  # noqa: S101
    assert one.inputs is not None  # noqa: S101
    assert one.panel is not None  # noqa: S101
    kind, usual = one.panel.kind, one.trend.usual
    most = worse(kind, natural(kind, usual) * (1 + allowed_step_ratio)) - usual
    at = np.unique(one.grid.index(np.array([int(done.at_s) for done in marks])))
    at = at[(at >= 0) & (at < one.grid.windows)]

    def steps(residual: Floats) -> Floats:
        return _steps(residual, at, one.grid)

    left = one.chart.score_beyond(
        one.inputs.of(one.row), one.trend.judged, lambda residual: np.clip(steps(residual), 0.0, most)
    )
    step, largest = steps(one.trend.residual), most + one.trend.scale
    is_worse: Flags = ((left >= one.threshold) | (step > largest))[0]

    def above(moved: Floats) -> Floats:
        ratio: Floats = (natural(kind, usual + moved) / natural(kind, usual) - 1)[0]
        return ratio

    return _Judged(is_worse, above(step), above(largest))


def _steps(residual: Floats, at: Ints, grid: Grid) -> Floats:
    """How far one series stands above the usual since the last of its operations: 1 x windows.

    It is the median of the first hours after it, and no more than what has stood since, once that is learnt as usual.
    """
    windows = np.arange(residual.shape[1])
    began = np.searchsorted(at, windows, side="right") - 1
    since = at[np.maximum(began, 0)] if len(at) else windows
    level_windows = grid.hours(_LEVEL_HOURS)
    until = np.minimum(windows, since + level_windows - 1)
    first = _medians(residual[0], since, until + 1, level_windows)
    far, near = grid.hours(_STOOD_FROM_HOURS), grid.hours(_STOOD_UNTIL_HOURS)
    stood = _medians(residual[0], windows - far, windows - near, far - near)
    level = np.where(windows - since >= far, np.fmin(first, stood), first)
    steps: Floats = np.where(began >= 0, np.nan_to_num(level), 0.0)[None]
    return steps


def _medians(values: Floats, since: Ints, until: Ints, longest: int) -> Floats:
    """Medians of the windows from `since` to before `until` of each; NaN where there are none."""
    places = since[:, None] + np.arange(longest)
    inside = (places >= 0) & (places < until[:, None])
    return medians(np.where(inside, values[np.clip(places, 0, len(values) - 1)], np.nan))
