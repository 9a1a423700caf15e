"""Explains an alarm as data: how far, since when, in which shape, how steep, what else moved, and where to look.

What only one kind of rule knows is in its module; the parts of sentences are in `words`.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import numpy as np

from goodput.monitor.alarm_context import AlarmContext
from goodput.monitor.causes import MARKS, last_operation, likely_cause
from goodput.monitor.rule_kind import rule_kind
from goodput.monitor.rule_series import RuleSeries, began_s, spans
from goodput.monitor.words import beside_clause, operation_clause, timestamp
from goodput.settings.metrics import symptoms_first

Fact = float | int | str | bool | None | list[str] | dict[str, Any]
_MOST_PEERS = 10


def explain(one: RuleSeries, at: int, context: AlarmContext) -> dict[str, Fact]:
    """Facts of one alarm as of a window, such as the one that fired; a fact that is not known is left out."""
    facts: dict[str, Fact] = {
        "evaluated_at": timestamp(one.grid.end_s(at)),
        "value": number(one.values[at]),
        "usual": number(one.usual[at]),
        "score": number(one.score[at]),
        "threshold": one.threshold,
    }
    if one.requests is not None:
        facts["requests"] = int(one.requests[at])
    kind = rule_kind(one.kind)
    facts |= kind.facts(one, at, context)
    facts |= _around(one, at, context)
    facts |= _after_what(one, at, facts, context)
    facts["what_to_do"] = kind.what_to_do(one)
    facts["sql"] = kind.evidence_sql(one, facts, one.grid.end_s(at))
    return {name: fact for name, fact in facts.items() if fact is not None}


def _around(one: RuleSeries, at: int, context: AlarmContext) -> dict[str, Fact]:
    at_s = one.grid.end_s(at)
    beside = {
        (symptoms_first(other.metric), _name(other)) for other in context.fired if _fires_beside(other, one, at_s)
    }
    peers = [name for _, name in sorted(beside)]
    facts: dict[str, Fact] = {"peers_firing": peers[:_MOST_PEERS], "peers": len(peers)}
    return facts


def _after_what(one: RuleSeries, at: int, facts: Mapping[str, Fact], context: AlarmContext) -> dict[str, Fact]:
    """The operation that most likely began it, and the last one before the alarm, as far as any is known."""
    at_s, labels = one.grid.end_s(at), dict(one.labels)
    onset_at = facts.get("onset_at")
    onset_s = datetime.fromisoformat(onset_at).timestamp() if isinstance(onset_at, str) else began_s(one, at)
    cause = likely_cause(context.operations, one.metric, labels, (onset_s, one.grid.step_s), at_s)
    last = last_operation(context.operations, labels, at_s)
    named = (("likely_cause", cause), ("last_operation", last))
    found: dict[str, Fact] = {name: operation.as_fact for name, operation in named if operation is not None}
    is_known_step = facts.get("shape") == "step" and not facts.get("began_earlier")
    if cause is not None and cause.kind in MARKS and is_known_step:
        found["accept_with"] = f"goodput alarms accept {one.named['alarm_id']} --from {onset_at}"
    return found


def _fires_beside(other: RuleSeries, one: RuleSeries, at_s: int) -> bool:
    """Whether another series that has the metric or the pool in common fires at an instant."""
    mine, its = dict(one.labels), dict(other.labels)
    related = other.metric == one.metric or (mine.get("pool") is not None and mine.get("pool") == its.get("pool"))
    if not related or (other.metric, other.labels) == (one.metric, one.labels):
        return False
    return any(starts_s <= at_s and (ends_s is None or at_s < ends_s) for _, starts_s, ends_s in spans(other))


def _name(one: RuleSeries) -> str:
    return " ".join([str(one.metric), *(f"{name}={value}" for name, value in one.labels)])


def number(value: Any) -> float | None:
    """A number as a fact, to six digits; None where it is not finite."""
    return float(f"{float(value):.6g}") if value is not None and np.isfinite(value) else None


def summary(one: RuleSeries, facts: Mapping[str, Fact]) -> str:
    """What happened to which series, how far and since when, what fires beside it, and what was done before it."""
    return rule_kind(one.kind).headline(one, facts) + beside_clause(facts) + operation_clause(facts)
