"""Operations mark series: what steps up at one asks whether that is accepted, and pages once it is worse than allowed.

A step that stays within what was allowed is no fault, and a drift that begins with a deployment soon leaves it behind.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from goodput.monitor.causes import MARKS, OpsEvent, likely_cause
from goodput.monitor.grid import NAN, Flags, Grid, medians
from goodput.monitor.panel import natural, worse
from goodput.monitor.rule_kind import rule_kind
from goodput.monitor.rule_series import RuleSeries, spans
from goodput.monitor.shape import shape_of
from goodput.monitor.states import Episode

_NEAR_S = 4 * 3600  # an onset is known to within hours
_LEVEL_HOURS = 4  # whose median is the level since the operation: one spike is none


@dataclass(frozen=True)
class Allowed:
    """An episode that nobody is paged of from `from_s` until its level is worse than allowed, or it is over (inf)."""

    from_s: int
    until_s: float
    mark: OpsEvent


def allowed_steps(
    one: RuleSeries, grid: Grid, operations: Sequence[OpsEvent], allowed_step_ratio: float
) -> Iterator[Allowed]:
    """Pages of a series that follow an operation and rose by no more than `allowed_step_ratio` of what is usual.

    A level is as unsure as its series is noisy: it is worse than allowed once it is so by a sigma.
    """
    panel = one.panel
    if one.severity != "page" or one.trend is None or panel is None or not rule_kind(one.kind).learns_baseline:
        return
    if panel.kind.worse != "up" or panel.kind.per == "replica" or not allowed_step_ratio:
        return
    for episode, starts_s, ends_s in spans(one, grid):
        at = episode.firing or 0
        onset = at - shape_of(one.trend.residual[0, : at + 1], grid.an_hour).onset
        onset_s = grid.end_s(onset - 1)
        near = [done for done in operations if done.kind in MARKS and abs(done.at_s - onset_s) <= _NEAR_S]
        mark = likely_cause(near, one.metric, dict(one.labels), onset_s, starts_s)
        if mark is not None:
            beyond = np.flatnonzero(_is_worse(one, episode, onset, grid, allowed_step_ratio))
            until_s = float("inf") if not len(beyond) else grid.end_s(at + int(beyond[0]))
            if until_s > starts_s:
                yield Allowed(starts_s, min(until_s, float("inf") if ends_s is None else ends_s), mark)


def _is_worse(one: RuleSeries, episode: Episode, onset: int, grid: Grid, allowed_step_ratio: float) -> Flags:
    """Whether the level since `onset` is beyond what is allowed, and a sigma more, in each window of the episode."""
    assert one.trend is not None  # noqa: S101
    assert one.panel is not None  # noqa: S101
    first = episode.firing or 0
    last = len(one.score) if episode.resolved is None else episode.resolved + 1
    windows = np.arange(first, last)[:, None] - np.arange(_LEVEL_HOURS * grid.an_hour)
    risen = medians(np.where(windows >= onset, one.trend.residual[0, np.maximum(windows, 0)], NAN))
    kind, usual = one.panel.kind, one.trend.usual[0, first:last]
    most = worse(kind, natural(kind, usual) * (1 + allowed_step_ratio)) - usual
    beyond: Flags = risen > most + one.trend.scale[0, first:last]
    return beyond
