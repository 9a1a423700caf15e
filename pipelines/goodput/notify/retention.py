"""Forgets deliveries that were settled long ago, with the pictures of their events: the outbox grows no further.

What is forgotten must not be sent again. The settings keep everything for longer than a change is news; beyond that,
what a channel last heard of an alarm is kept while it is that the alarm fires, and so is all that came after
something that is kept.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from sqlite3 import Row

from goodput.notify.outbox import Outbox
from goodput.notify.plots import Plots
from goodput.notify.retry import NS

_OLD = "state <> 'pending' AND settled_ns <= :before"
_ANY = f"SELECT 1 FROM deliveries WHERE {_OLD} LIMIT 1"  # noqa: S608
_ALL = f"""
SELECT delivery_id, channel, kind, status, origin, {_OLD} AS old,
    (SELECT json_group_array(alarm_id) FROM concerns WHERE concerns.delivery_id = deliveries.delivery_id) AS alarms
FROM deliveries ORDER BY sequence
"""  # noqa: S608
_THESE = "delivery_id IN (SELECT value FROM json_each(:ids))"
_EVENTS = f"DELETE FROM events WHERE {_THESE} RETURNING event_id"  # noqa: S608
_STILL_KNOWN = "SELECT DISTINCT event_id FROM events WHERE event_id IN (SELECT value FROM json_each(:ids))"


def forget(outbox: Outbox, retention_s: float, plots: Plots) -> int:
    """Remove, inside `writing`, what was settled longer ago than `retention_s`; how many deliveries.

    Raises OutboxUnusable.
    """
    before = {"before": outbox.now_ns() - int(retention_s * NS)}
    if not outbox.rows(_ANY, before):
        return 0
    gone = list(_forgettable(outbox.rows(_ALL, before)))
    ids = {"ids": json.dumps(gone)}
    events = {row["event_id"] for row in outbox.rows(_EVENTS, ids)}
    for table in ("concerns", "deliveries"):
        outbox.rows(f"DELETE FROM {table} WHERE {_THESE}", ids)  # noqa: S608
    known = {row["event_id"] for row in outbox.rows(_STILL_KNOWN, {"ids": json.dumps(sorted(events))})}
    for event_id in events - known:
        with suppress(OSError):  # a picture that stays is of no harm
            plots.file(event_id).unlink(missing_ok=True)
    return len(gone)


def _forgettable(deliveries: Sequence[Row]) -> Iterator[str]:
    """Of all deliveries, in the order in which they were made, those that nothing depends on any more."""
    newest = {line: row["delivery_id"] for row in deliveries if row["kind"] != "reminder" for line in _lines(row)}
    kept: set[str] = set()
    kept_lines: set[tuple[str, str]] = set()  # alarms on channels of which something is kept
    for row in deliveries:
        lines, one = _lines(row), row["delivery_id"]
        if row["old"] and row["kind"] == "reminder":  # no decision depends on it
            yield one
            continue
        stands = row["status"] == "firing" and any(newest[line] == one for line in lines)
        if row["old"] and not stands and row["origin"] not in kept and kept_lines.isdisjoint(lines):
            yield one
        elif row["kind"] != "reminder":
            kept.add(one)
            kept_lines.update(lines)


def _lines(row: Row) -> list[tuple[str, str]]:
    return [(row["channel"], alarm) for alarm in json.loads(row["alarms"])]
