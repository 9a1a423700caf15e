"""Alarms and their transitions as rows of the published relations; columns follow schemas/alarms.yaml and its kin."""

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from goodput.monitor.alarm_context import AlarmContext
from goodput.monitor.explain import explain, summary
from goodput.monitor.grid import DAY_S, Floats
from goodput.monitor.method import METHOD
from goodput.monitor.observed_transition import ObservedTransition
from goodput.monitor.rule_kind import rule_kind
from goodput.monitor.rule_series import RuleSeries, spans
from goodput.monitor.states import Episode
from goodput.monitor.suppression import BUDGET_S, SILENCED, Suppression
from goodput.monitor.transitions import EpisodeTransition
from goodput.plumbing.fingerprint import fingerprint
from goodput.settings.alarms import rules_of
from goodput.settings.model import Settings

_NAMES = ("rule", "severity", "metric", "workload", "pool", "replica", "labels")


def methods_of(every_series: Iterable[RuleSeries], settings: Settings) -> dict[str, str]:
    """By rule the fingerprint of how its alarms are judged: all of the settings that changes their verdicts."""
    alarms = settings.alarms
    rules = rules_of(alarms)
    calendar = (alarms.window_s, alarms.time_zone, alarms.days_off, [s.model_dump() for s in alarms.excluded])
    kinds = {one.rule: one.kind for one in every_series}
    given = {name: rule.model_dump() for name, rule in rules.items() if name in kinds}
    return {
        name: fingerprint(METHOD, name, given.get(name), rule_kind(kind).judged_by(settings), calendar)
        for name, kind in kinds.items()
    }


def observed_transition(
    change: EpisodeTransition, context: AlarmContext, method: str, suppression: Suppression | None
) -> ObservedTransition:
    """One transition with its explanation, as it would be recorded; `suppression` is what its alarm has now.

    What fired while nothing suppressed it, and is first seen while it is silenced, is silenced too.
    """
    one = change.series
    if suppression is not None and suppression.kind == SILENCED and change.transition == "firing":
        change = replace(change, suppression=change.suppression or suppression)
    return ObservedTransition(
        str(one.named["alarm_id"]),
        change.transition,
        _at(change.at_s),
        _at(change.starts_s),
        lambda: _explained(change, context, method),
        None if change.suppression is None else change.suppression.kind,
        on=change.ends_s is None and suppression is None,
        learned=rule_kind(one.kind).learns_baseline,
    )


def _explained(change: EpisodeTransition, context: AlarmContext, method: str) -> dict[str, Any]:
    one = change.series
    assert change.episode.firing is not None  # noqa: S101
    facts = explain(one, change.episode.firing, context)
    return {
        **{name: one.named[name] for name in _NAMES},
        "kind": one.kind,
        **{name: facts.get(name) for name in ("value", "usual", "score", "threshold")},
        "ends_at": None if change.ends_s is None or change.transition == "firing" else _at(change.ends_s),
        "suppressed_by": change.suppression and change.suppression.by,
        "reason": change.reason,
        "method": method,
        "summary": summary(one, facts),
        "explanation": json.dumps(facts, sort_keys=True),
    }


def alarm_row(
    one: RuleSeries,
    context: AlarmContext,
    until_s: int,
    suppression: Suppression | None,
    page_budget: int,
) -> dict[str, Any] | None:
    """State of one alarm at `until_s`, and what suppresses it now; None where another metric watches the series."""
    grid, until = one.grid, one.grid.until(until_s)
    fired = list(spans(one))
    of_late = sum(starts_s > until_s - BUDGET_S for _, starts_s, _ in fired)
    why = rule_kind(one.kind).unarmed(one, until, of_late, page_budget)
    if why == "not needed now" and not fired:
        return None
    judged = np.flatnonzero(np.isfinite(one.score[:until]))
    state, since_s = _state(one, until_s, learning=why is not None and not _known(one.score, until, grid.a_day))
    row: dict[str, Any] = {
        **one.named,
        "kind": one.kind,
        "window_s": one.grid.step_s,
        "state": state,
        "state_since_at": None if since_s is None else _at(since_s),
        "threshold": one.threshold,
        "why": why,
        "suppressed": None,
        "suppressed_by": None,
    }
    if state == "firing" and suppression is not None:
        row |= {"suppressed": suppression.kind, "suppressed_by": suppression.by}
    if len(judged):
        row |= _newest(one, int(judged[-1]))
    if fired:
        episode, starts_s, ends_s = fired[-1]
        row |= {"starts_at": _at(starts_s), "ends_at": None if ends_s is None else _at(ends_s)}
        facts = explain(one, int(judged[-1]) if ends_s is None else episode.firing or 0, context)
        row |= {"summary": summary(one, facts), "explanation": json.dumps(facts, sort_keys=True)}
    return row


def _known(score: Floats, until: int, a_day: int) -> bool:
    return bool(np.isfinite(score[max(until - a_day, 0) : until]).any())


def _state(one: RuleSeries, until_s: int, *, learning: bool) -> tuple[str, int | None]:
    grid = one.grid
    last: Episode | None = one.episodes[-1] if one.episodes else None
    if last is not None and last.firing is None:
        return "pending", grid.end_s(last.pending)
    if last is not None and last.firing is not None and last.resolved is None:
        return "firing", grid.end_s(last.firing)
    ended_s = grid.end_s(last.resolved) if last is not None and last.resolved is not None else None
    if ended_s is not None and until_s - ended_s < DAY_S:
        return "resolved", ended_s
    return ("learning" if learning else "inactive"), ended_s


def _newest(one: RuleSeries, at: int) -> dict[str, Any]:
    sigma = None if one.trend is None else one.trend.scale[0, at]
    numbers = {"value": one.values[at], "usual": one.usual[at], "score": one.score[at], "sigma": sigma}
    known = {name: float(value) for name, value in numbers.items() if value is not None and np.isfinite(value)}
    requests = {} if one.requests is None else {"requests": int(one.requests[at])}
    return {"evaluated_at": _at(one.grid.end_s(at)), **known, **requests}


def _at(at_s: int) -> datetime:
    return datetime.fromtimestamp(at_s, UTC)
