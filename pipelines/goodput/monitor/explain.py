"""Explains an alarm as data: how far, since when, in which shape, how steep, what else moved, and where to look.

Only facts belong here; their sentence is `words`' work.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from goodput.monitor.causes import Operation, last_operation, likely_cause
from goodput.monitor.detector import averaged
from goodput.monitor.grid import Floats, Grid, medians
from goodput.monitor.scales import on_scale
from goodput.monitor.shape import Shape, median_slope, shape_of
from goodput.monitor.transitions import spans
from goodput.monitor.watched import Watched
from goodput.monitor.where_to_look import sql_to_look_at

Fact = float | int | str | bool | None | list[str] | dict[str, Any]
_TAIL_ONLY = 0.25  # the median moved by less than this part of what the tail did
_MOST_PEERS = 10


@dataclass(frozen=True)
class Context:
    """What an alarm is explained with: limits by (workload, metric), operations by time, and all other alarms."""

    grid: Grid
    limits: Mapping[tuple[str, str], float]
    operations: Sequence[Operation]
    everything: Sequence[Watched]


def explain(one: Watched, at: int, context: Context) -> dict[str, Fact]:
    """Facts of one alarm as of a window, such as the one that fired; a fact that is not known is left out."""
    facts: dict[str, Fact] = {
        "evaluated_at": _told(context.grid.end_s(at)),
        "value": _number(one.values[at]),
        "usual": _number(one.usual[at]),
        "score": _number(one.score[at]),
        "threshold": one.threshold,
    }
    if one.requests is not None:
        facts["requests"] = int(one.requests[at])
    if one.trend is not None and one.panel is not None:
        facts |= _of_trend(one, at, context)
    elif one.kind == "absence":
        facts["onset_at"] = _told(_began_s(one, at, context))
    facts |= _around(one, at, context)
    facts |= _after_what(one, at, facts, context)
    facts["sql"] = sql_to_look_at(one, facts, context.grid.end_s(at))
    return {name: fact for name, fact in facts.items() if fact is not None}


def _of_trend(one: Watched, at: int, context: Context) -> dict[str, Fact]:
    assert one.trend is not None  # noqa: S101
    assert one.panel is not None  # noqa: S101
    grid, residual = context.grid, _since_the_last(one, one.trend.residual[0, : at + 1])
    shape = shape_of(residual, grid.an_hour)
    level = float(averaged(one.trend.residual[:, : at + 1] / one.trend.scale[:, : at + 1], grid.step_s)[0, at])
    excess = _averaged_residual(residual, grid)
    facts: dict[str, Fact] = {
        "scale": one.panel.kind.scale,
        "sigma": _number(one.trend.scale[0, at]),
        "level_sigma": _number(level),
        "onset_at": _told(grid.end_s(at - shape.onset - 1)),
        "shape": shape.kind,
        "slope_per_hour": _number(shape.slope) if shape.kind == "ramp" else None,
        "median_slope_per_hour": _number(median_slope(residual, grid.an_hour)),
        "excess": _number(excess),
    }
    if one.panel.kind.scale == "log":
        facts["excess_ratio"] = _number(np.expm1(_upward(one, excess)))
    facts |= _beside(one, at, shape, excess)
    return facts | _leads_to(one, at, shape, context)


def _since_the_last(one: Watched, residual: Floats) -> Floats:
    """Residuals without those up to the end of an earlier episode: what was over is no part of what happens now."""
    ended = [e.resolved for e in one.episodes if e.resolved is not None and e.resolved < len(residual) - 1]
    return np.where(np.arange(len(residual)) > max(ended, default=-1), residual, np.nan)


def _upward(one: Watched, moved: float) -> float:
    assert one.panel is not None  # noqa: S101
    return moved if one.panel.kind.worse == "up" else -moved


def _averaged_residual(residual: Floats, grid: Grid) -> float:
    """Newest level of the residual itself, by the weights of the score but without its clipping."""
    told = residual[np.isfinite(residual)][-24 * grid.an_hour :]
    weights = 0.7 ** (np.arange(len(told))[::-1] / grid.an_hour)
    return float((told * weights).sum() / weights.sum()) if len(told) else float("nan")


def _beside(one: Watched, at: int, shape: Shape, excess: float) -> dict[str, Fact]:
    """How the median of the same quantity changed since the onset: the whole distribution moved, or its tail alone."""
    assert one.panel is not None  # noqa: S101
    if one.panel.beside is None:
        return {}
    grid, median = one.panel.grid, np.log(one.panel.beside[one.row])
    since = np.arange(max(at - shape.onset, 0), at + 1)[-6 * grid.an_hour :]
    before = [since - day * grid.a_day for day in range(1, 8)]
    usual = medians(np.stack([_at(median, windows) for windows in before], axis=1))
    change = float(medians((_at(median, since) - usual)[None, :])[0])
    if not np.isfinite(change):
        return {}
    return {"median_change_ratio": _number(np.expm1(change)), "tail_only": abs(change) < _TAIL_ONLY * abs(excess)}


def _at(values: Floats, windows: np.ndarray[Any, np.dtype[np.int64]]) -> Floats:
    return np.where(windows >= 0, values[np.maximum(windows, 0)], np.nan)


def _leads_to(one: Watched, at: int, shape: Shape, context: Context) -> dict[str, Fact]:
    """Hours until the series' limit at the slope that it has now; 0: it is there."""
    assert one.panel is not None  # noqa: S101
    workload = dict(one.labels).get("workload", "")
    limit = context.limits.get((workload, str(one.metric)), context.limits.get(("", str(one.metric))))
    if limit is None or one.panel.kind.per == "replica" or not np.isfinite(one.values[at]):
        return {}
    there, here = on_scale(one.panel.kind.scale, np.array([limit, one.values[at]]))
    left = float(_upward(one, there - here))
    facts: dict[str, Fact] = {"limit": limit}
    if left <= 0:
        return facts | {"hours_to_limit": 0.0}
    return facts | {"hours_to_limit": _number(left / shape.slope)} if shape.slope > 0 else facts


def _around(one: Watched, at: int, context: Context) -> dict[str, Fact]:
    at_s = context.grid.end_s(at)
    peers = sorted({_name(other) for other in context.everything if _fires_beside(other, one, at_s, context.grid)})
    facts: dict[str, Fact] = {"peers_firing": peers[:_MOST_PEERS], "peers": len(peers)}
    return facts


def _after_what(one: Watched, at: int, facts: Mapping[str, Fact], context: Context) -> dict[str, Fact]:
    """The operation that most likely began it, and the last one before the alarm, as far as any is known."""
    at_s, labels = context.grid.end_s(at), dict(one.labels)
    onset_at = facts.get("onset_at")
    onset_s = datetime.fromisoformat(onset_at).timestamp() if isinstance(onset_at, str) else _began_s(one, at, context)
    cause = likely_cause(context.operations, one.metric, labels, onset_s, at_s)
    last = last_operation(context.operations, labels, at_s)
    named = (("likely_cause", cause), ("last_operation", last))
    return {name: operation.told for name, operation in named if operation is not None}


def _began_s(one: Watched, at: int, context: Context) -> int:
    """When the condition that holds in a window began to."""
    begun = [e.pending for e in one.episodes if e.pending <= at]
    return context.grid.end_s(max(begun, default=at) - 1)


def _fires_beside(other: Watched, one: Watched, at_s: int, grid: Grid) -> bool:
    """Whether another series that has the metric or the pool in common fires at an instant."""
    mine, its = dict(one.labels), dict(other.labels)
    related = other.metric == one.metric or (mine.get("pool") is not None and mine.get("pool") == its.get("pool"))
    if not related or (other.metric, other.labels) == (one.metric, one.labels):
        return False
    return any(starts_s <= at_s and (ends_s is None or at_s < ends_s) for _, starts_s, ends_s in spans(other, grid))


def _name(one: Watched) -> str:
    return " ".join([str(one.metric), *(f"{name}={value}" for name, value in one.labels)])


def _number(value: Any) -> float | None:
    return float(f"{float(value):.6g}") if value is not None and np.isfinite(value) else None


def _told(at_s: int) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
