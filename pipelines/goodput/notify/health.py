"""How delivery is: what is undelivered, why, since when, and what to do about it. Reads the outbox, changes nothing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from sqlite3 import Row

from goodput.notify.deliveries import instant
from goodput.notify.outbox import Outbox
from goodput.notify.retry import NS

_LATE_S = 900.0  # a page that has waited longer is a fault
_NEWS_S = 7 * 86400.0  # a dead letter that is older has been seen
_COUNTS = """
SELECT channel, state, count(*) AS n, max(settled_ns) AS last_ns FROM deliveries GROUP BY channel, state
"""
_UNDELIVERED = """
SELECT * FROM deliveries WHERE state IN ('pending', 'dead') ORDER BY severity = 'page' DESC, sequence
"""
_TODO = (
    ((401, 403), "fix the secret or token that the receiver expects"),
    ((404, 405), "fix the url: the receiver knows no such path"),
    ((410,), "the receiver is gone: remove the channel or give it another url"),
    ((429,), "the receiver wants less: fewer alarms by `match`, or larger groups by `group_by`"),
)
_TODO_BY_ERROR = (
    ("refused to connect", "fix the url, or set allow_private = true where the receiver is your own"),
    ("certificate", "fix the receiver's certificate, or name your own authority in ca_file"),
    ("Fix the environment", "fix the environment variable or file that the settings name"),
    ("redirects", "give the final url in the settings"),
)


@dataclass(frozen=True)
class ChannelHealth:
    """Counts of one channel, and when it last delivered."""

    channel: str
    delivered: int
    pending: int
    dead: int
    suppressed: int
    last_delivered_at: datetime | None


@dataclass(frozen=True)
class Undelivered:
    """One delivery that has not reached its channel."""

    channel: str
    state: str
    severity: str
    status: str
    summary: str
    since: datetime
    attempts: int
    next_attempt_at: datetime | None
    error: str
    to_do: str
    is_fault: bool  # a dead letter of these days, or a page that waits too long


def channel_health(outbox: Outbox, names: Sequence[str]) -> list[ChannelHealth]:
    """A line for each channel of the settings, then for each that only the outbox knows."""
    counts: dict[str, dict[str, int]] = {name: {} for name in names}
    last: dict[str, int | None] = {}
    for row in outbox.rows(_COUNTS):
        counts.setdefault(row["channel"], {})[row["state"]] = row["n"]
        if row["state"] == "delivered":
            last[row["channel"]] = row["last_ns"]
    return [
        ChannelHealth(
            channel=name,
            delivered=found.get("delivered", 0),
            pending=found.get("pending", 0),
            dead=found.get("dead", 0),
            suppressed=found.get("suppressed", 0) + found.get("superseded", 0),
            last_delivered_at=instant(last.get(name)),
        )
        for name, found in counts.items()
    ]


def undelivered(outbox: Outbox) -> Iterator[Undelivered]:
    """What has not reached its channel, pages first."""
    now = outbox.now_ns()
    for row in outbox.rows(_UNDELIVERED):
        dead = row["state"] == "dead"
        is_page, waited_s = row["severity"] == "page", (now - max(row["enqueued_ns"], row["not_before_ns"])) / NS
        next_ns = max(row["next_attempt_ns"], row["not_before_ns"], row["leased_until_ns"] or 0)
        since = instant(row["enqueued_ns"])
        assert since is not None  # noqa: S101
        yield Undelivered(
            **{name: row[name] for name in ("channel", "state", "severity", "status", "summary", "attempts")},
            since=since,
            next_attempt_at=None if dead else instant(next_ns or None),
            error=row["error"] or ("held back" if row["not_before_ns"] > now else "not tried yet"),
            to_do=_to_do(row, dead),
            is_fault=now - row["enqueued_ns"] < _NEWS_S * NS if dead else is_page and waited_s > _LATE_S,
        )


def _to_do(row: Row, dead: bool) -> str:
    status, error = row["http_status"], row["error"] or ""
    known = next((to_do for statuses, to_do in _TODO if status in statuses), None)
    known = known or next((to_do for text, to_do in _TODO_BY_ERROR if text in error), None)
    if dead:
        channel = row["channel"]
        return f"{known or 'see what the receiver wants'}, then: goodput notify --requeue {channel}"
    return known or "nothing: it is tried again"
