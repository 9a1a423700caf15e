"""What there is to say about alarms, for whoever shows them: the list, and one with all that speaks for it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from goodput.cli.database import Row, rows
from goodput.errors import UnknownAlarm

NAMED = "SELECT * FROM alarms WHERE starts_with(alarm_id, $key) ORDER BY alarm_id"
_ALARMS = """
    SELECT * FROM alarms
    WHERE $every OR state IN ('firing', 'pending', 'resolved')
    ORDER BY state <> 'firing', severity, state_since_at DESC, rule, pool, replica, labels
"""
_COUNTS = "SELECT state, count(*) AS alarms FROM alarms GROUP BY state ORDER BY state"
_EVENTS = """
    SELECT transition, occurred_at, suppressed, coalesce(suppressed_by, reason) AS because, summary FROM alarm_events
    WHERE alarm_id = $key ORDER BY occurred_at DESC, recorded_at DESC LIMIT 20
"""
_SERIES = "SELECT * FROM alarm_series WHERE alarm_id = $key ORDER BY window_start"
NONE_YET = "Nothing is watched yet: that begins with the first whole hour, and trends with a week of them."
LIST_COLUMNS = ("alarm", "severity", "state", "since", "series", "what happened")
EVENT_COLUMNS = ("event", "at", "held back", "because", "what happened")


@dataclass(frozen=True)
class Evidence:
    """One alarm: `facts` with their values, `sql` to look at, `events` in their order from the newest."""

    alarm: Row
    facts: Sequence[tuple[str, object]]
    sql: str | None
    events: Sequence[Row]


def listed_alarms(connection: duckdb.DuckDBPyConnection, *, every: bool) -> list[Row]:
    """Alarms, what fires first; inactive and learning ones only where `every` one is asked for."""
    return rows(connection, _ALARMS, {"every": every})


def alarm_counts(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """How many alarms are in which state."""
    return {row["state"]: row["alarms"] for row in rows(connection, _COUNTS)}


def counted_alarms(connection: duckdb.DuckDBPyConnection) -> str:
    """The same in words."""
    return ", ".join(f"{number} {state}" for state, number in alarm_counts(connection).items()) or NONE_YET


def list_line(row: Row) -> tuple[object, ...]:
    """An alarm as a row under `LIST_COLUMNS`."""
    what = row["summary"] if row["starts_at"] is not None else row["why"]
    state = f"{row['state']} ({row['suppressed']})" if row["suppressed"] else row["state"]
    return (row["alarm_id"], row["severity"], state, row["state_since_at"], series_of(row), what)


def explained(connection: duckdb.DuckDBPyConnection, key: str) -> tuple[Row, dict[str, Any], list[Row]]:
    """The alarm whose id begins with `key`, what explains it by name, and its latest events. Raises UnknownAlarm."""
    alarm = one_alarm(rows(connection, NAMED, {"key": key}), key)
    return alarm, json.loads(alarm["explanation"] or "{}"), rows(connection, _EVENTS, {"key": alarm["alarm_id"]})


def evidence(connection: duckdb.DuckDBPyConnection, key: str) -> Evidence:
    """The same as it is shown. Raises UnknownAlarm."""
    alarm, found, events = explained(connection, key)
    sql = found.pop("sql", None)
    return Evidence(alarm, [(name, _fact(value)) for name, value in sorted(found.items())], sql, events)


def drawn_series(connection: duckdb.DuckDBPyConnection, alarm: Row) -> list[Row]:
    """The windows of an alarm's series; none where it did not fire in the last 28 days."""
    return rows(connection, _SERIES, {"key": alarm["alarm_id"]})


def one_alarm(found: list[Row], key: str) -> Row:
    """The one alarm that was found; raises UnknownAlarm."""
    if len(found) != 1:
        raise UnknownAlarm(key, [row["alarm_id"] for row in found])
    return found[0]


def series_of(row: Row) -> str:
    """Metric and labels of the series of an alarm."""
    labels = [f"{name}={word}" for name, word in labels_of(row).items()]
    return " ".join([str(row["metric"] or row["rule"]), *labels])


def labels_of(row: Row) -> dict[str, str]:
    """The labels of an alarm's series by their names."""
    labels: dict[str, str] = json.loads(row["labels"] or "{}")
    return labels


def _fact(value: object) -> object:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return ", ".join(f"{k}: {v}" for k, v in value.items() if v is not None) if isinstance(value, dict) else value
