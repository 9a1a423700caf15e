"""Alarms that fire and of which nobody was notified, though nothing suppresses them now.

What was long past when it was computed, or what only another method finds, is recorded and not reported. Whoever reads
the state of alarms instead of messages, such as Prometheus, is to hear as much as channels do.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

_Episode = tuple[str, datetime]


def with_unreported(alarms: Sequence[Mapping[str, Any]], events: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows of `alarms`, where those that fire unreported have in `suppressed` why, by all rows of `alarm_events`."""
    why = _unreported(events)
    return [{**row, **_suppressed(row, why)} for row in alarms]


def _suppressed(row: Mapping[str, Any], why: Mapping[_Episode, Mapping[str, Any]]) -> Mapping[str, Any]:
    event = why.get((row["alarm_id"], row["starts_at"])) if row["state"] == "firing" else None
    if event is None or row["suppressed"] is not None:
        return {}
    return {name: event[name] for name in ("suppressed", "suppressed_by")}


def _unreported(events: Iterable[Mapping[str, Any]]) -> dict[_Episode, Mapping[str, Any]]:
    """The newest firing of every episode of which nobody was notified."""
    every = list(events)
    corrected = {event["corrects"] for event in every}
    fired = [event for event in every if event["transition"] == "firing" and event["event_id"] not in corrected]
    reported = {(event["alarm_id"], event["starts_at"]) for event in fired if event["suppressed"] is None}
    newest = {(e["alarm_id"], e["starts_at"]): e for e in sorted(fired, key=lambda event: event["occurred_at"])}
    return {episode: event for episode, event in newest.items() if episode not in reported}
