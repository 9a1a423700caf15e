"""Alarm transitions as stage `monitor` leaves them in the lake: one change of state of one alarm.

Reading them belongs here; which are notified where is decided in `decide`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from goodput.errors import LakeUnreadable
from goodput.plumbing.lake import Lake

_LABELS = ("metric", "workload", "pool", "replica", "labels")
_FIGURES = ("value", "usual", "score", "threshold")
_COLUMNS = (
    *("event_id", "alarm_id", "transition", "rule", "severity", "occurred_at", "starts_at", "ends_at", "recorded_at"),
    *("suppressed", "corrects", "summary", "explanation", *_LABELS, *_FIGURES),
)


@dataclass(frozen=True)
class Transition:
    """One row of `alarm_events`; `firing`: whether the alarm fires from here on, corrections taken into account."""

    event_id: str
    alarm_id: str
    transition: str  # firing, resolved, corrected or heartbeat
    firing: bool
    rule: str
    severity: str
    occurred_at: datetime
    starts_at: datetime
    recorded_at: datetime
    ends_at: datetime | None = None
    suppressed: str | None = None
    corrects: str | None = None
    summary: str = ""
    explanation: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    figures: Mapping[str, float] = field(default_factory=dict)


def read_transitions(lake: Lake) -> dict[str, list[Transition]]:
    """Transitions of each alarm in the order in which they became known, each event once. Raises LakeUnreadable."""
    rows: dict[str, dict[str, Any]] = {}
    for path in lake.catalog["alarm_events"].all_files():
        try:
            read = pq.ParquetFile(path).read(list(_COLUMNS)).to_pylist()
        except (OSError, pa.ArrowException) as error:
            raise LakeUnreadable(Path(path), str(error)) from error
        rows |= {row["event_id"]: row for row in read}
    return histories(rows.values())


def histories(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[Transition]]:
    """Rows of `alarm_events` as transitions by alarm, in the order in which they became known."""
    alarms: dict[str, list[Mapping[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: (row["recorded_at"], row["occurred_at"], row["event_id"])):
        alarms.setdefault(row["alarm_id"], []).append(row)
    return {alarm: list(_with_state(known)) for alarm, known in alarms.items()}


def _with_state(rows: Iterable[Mapping[str, Any]]) -> Iterator[Transition]:
    """The state after each event is what the last event says that has not been corrected by then."""
    holding: dict[str, tuple[datetime, bool]] = {}
    for row in rows:
        if row["transition"] == "corrected":
            holding.pop(row["corrects"], None)
        else:
            holding[row["event_id"]] = (row["occurred_at"], row["transition"] != "resolved")
        yield _transition(row, bool(holding) and max(holding.values(), key=lambda held: held[0])[1])


def _transition(row: Mapping[str, Any], firing: bool) -> Transition:
    return Transition(
        event_id=row["event_id"],
        alarm_id=row["alarm_id"],
        transition=row["transition"],
        firing=firing,
        rule=row["rule"],
        severity=row["severity"],
        occurred_at=row["occurred_at"],
        starts_at=row["starts_at"],
        recorded_at=row["recorded_at"],
        ends_at=row["ends_at"],
        suppressed=row["suppressed"],
        corrects=row["corrects"],
        summary=row["summary"],
        explanation=row["explanation"] or "",
        labels=_labels(row),
        figures={name: row[name] for name in _FIGURES if row[name] is not None},
    )


def _labels(row: Mapping[str, Any]) -> dict[str, str]:
    """Metric, place and what else tells the series apart; events of before such other labels were kept have none."""
    others: dict[str, str] = json.loads(row.get("labels") or "{}")
    return {name: row[name] for name in _LABELS if name != "labels" and row[name]} | others
