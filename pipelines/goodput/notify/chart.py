"""What a plot of one alarm shows, taken from the relations that say it. Drawing it is `plot`'s work."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

Numbers = Sequence[float | None]


@dataclass(frozen=True)
class Mark:
    """An instant that a plot marks, and what it was."""

    at: datetime
    what: str


@dataclass(frozen=True)
class AlarmChart:
    """One alarm; by window (`starts`): `value`, `usual`, `bound` and `score`, None where there is none."""

    title: str
    quantity: str
    starts: Sequence[datetime]
    window_s: int
    value: Numbers
    usual: Numbers
    bound: Numbers
    score: Numbers
    threshold: float | None
    severity: str
    fired_at: datetime
    over_at: datetime | None = None
    onset_at: datetime | None = None
    operation: Mark | None = None


def chart_of(alarm: Mapping[str, Any], series: Sequence[Mapping[str, Any]]) -> AlarmChart:
    """Chart of a row of `alarms` or `alarm_events`; `series` has its rows of `alarm_series` in order, at least one."""
    facts = json.loads(alarm["explanation"] or "{}")
    done = facts.get("likely_cause") or facts.get("last_operation")
    return AlarmChart(
        title=alarm["summary"],
        quantity=series[0]["quantity"],
        starts=[row["window_start"] for row in series],
        window_s=series[0]["window_s"],
        **{name: [row[name] for row in series] for name in ("value", "usual", "bound", "score")},
        threshold=alarm["threshold"],
        severity=alarm["severity"],
        fired_at=alarm["starts_at"],
        over_at=alarm["ends_at"],
        onset_at=datetime.fromisoformat(facts["onset_at"]) if "onset_at" in facts else None,
        operation=done and Mark(datetime.fromisoformat(done["occurred_at"]), done["kind"].replace("_", " ")),
    )
