"""What there is to say about alarms, for whoever shows them: the list, and one with all that speaks for it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from goodput.ask.database import Row, asked
from goodput.errors import UnknownAlarm

NONE_YET = (
    "Nothing is watched yet: bounds are with the first hour that telemetry has from end to end, "
    "trends with a week of such hours."
)
LIST_COLUMNS = ("alarm", "severity", "state", "since", "series", "what happened")
EVENT_COLUMNS = ("event", "at", "held back", "because", "what happened")


@dataclass(frozen=True)
class AlarmEvidence:
    """One alarm: `facts` with their values, `sql` to look at, `events` in their order from the newest."""

    alarm: Row
    facts: Sequence[tuple[str, object]]
    sql: str | None
    events: Sequence[Row]


def listed_alarms(connection: duckdb.DuckDBPyConnection, *, every: bool) -> list[Row]:
    """Alarms, what fires first; inactive and learning ones only where `every` one is asked for."""
    return asked(connection, "listed_alarms", {"every": every})


def named_alarms(connection: duckdb.DuckDBPyConnection, key: str) -> list[Row]:
    """Alarms whose id begins with `key`: all of them with ""."""
    return asked(connection, "named_alarms", {"key": key})


def alarm_counts(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """How many alarms are in which state."""
    return {row["state"]: row["alarms"] for row in asked(connection, "alarm_states")}


def counted_alarms(connection: duckdb.DuckDBPyConnection) -> str:
    """The same in words."""
    return ", ".join(f"{number} {state}" for state, number in alarm_counts(connection).items()) or NONE_YET


def list_line(row: Row) -> tuple[object, ...]:
    """An alarm as a row under `LIST_COLUMNS`."""
    what = row["summary"] if row["starts_at"] is not None else row["why"]
    state = f"{row['state']} ({row['suppressed']})" if row["suppressed"] else row["state"]
    said = f"{what}; {held_back(row)}" if row["suppressed_by"] else what
    return (row["alarm_id"], row["severity"], state, row["state_since_at"], series_of(row), said)


def held_back(row: Row) -> str | None:
    """Why nobody is notified of an alarm, and by what; None where nothing holds it back."""
    if not row["suppressed"]:
        return None
    by = f": {row['suppressed_by']}" if row["suppressed_by"] else ""
    return f"{row['suppressed'].replace('_', ' ')}{by}"


def explained(connection: duckdb.DuckDBPyConnection, key: str) -> tuple[Row, dict[str, Any], list[Row]]:
    """The alarm whose id begins with `key`, what explains it by name, and its latest events. Raises UnknownAlarm."""
    alarm = one_alarm(named_alarms(connection, key), key)
    return (
        alarm,
        json.loads(alarm["explanation"] or "{}"),
        asked(connection, "latest_alarm_events", {"key": alarm["alarm_id"]}),
    )


def evidence(connection: duckdb.DuckDBPyConnection, key: str) -> AlarmEvidence:
    """The same as it is shown. Raises UnknownAlarm."""
    alarm, found, events = explained(connection, key)
    sql = found.pop("sql", None)
    return AlarmEvidence(alarm, [(name, _fact(value)) for name, value in sorted(found.items())], sql, events)


def drawn_series(connection: duckdb.DuckDBPyConnection, alarm: Row) -> list[Row]:
    """The windows of an alarm's series; none where it did not fire in the last 28 days."""
    return asked(connection, "drawn_windows", {"key": alarm["alarm_id"]})


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
