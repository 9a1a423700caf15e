"""Who may send what now: a delivery is claimed for a while, then settled. The rules of order and of waiting are here.

What is claimed by a process that dies is free again in time; a wait that a clock before its beginning sees is over.
"""

from dataclasses import dataclass
from uuid import uuid4

from goodput.notify.outbox import Outbox
from goodput.notify.retry import NS

# What may be sent now: waited for its time, leased by nobody, and nothing before it of the same alarm is undelivered.
_NEXT = """
SELECT delivery_id FROM deliveries AS d
WHERE d.channel = :channel AND d.state = 'pending'
    AND (d.not_before_ns <= :now OR d.enqueued_ns > :now)
    AND (d.next_attempt_ns <= :now OR d.attempted_ns > :now)
    AND (d.leased_until_ns IS NULL OR d.leased_until_ns <= :now OR d.leased_ns > :now)
    AND NOT EXISTS (SELECT 1 FROM rests AS r
        WHERE r.channel = d.channel AND r.until_ns > :now AND r.since_ns <= :now)
    AND NOT EXISTS (SELECT 1 FROM concerns AS mine
        JOIN concerns AS other ON other.alarm_id = mine.alarm_id
        JOIN deliveries AS before ON before.delivery_id = other.delivery_id
        WHERE mine.delivery_id = d.delivery_id AND before.channel = d.channel
            AND before.state = 'pending' AND before.sequence < d.sequence)
ORDER BY d.severity = 'page' DESC, d.sequence
LIMIT 1
"""
_CLAIM = """
UPDATE deliveries SET attempts = attempts + 1, attempted_ns = :now, leased_ns = :now, leased_until_ns = :until,
    lease = :lease
WHERE delivery_id = :id
RETURNING delivery_id, channel, severity, body, attempts, enqueued_ns, lease
"""
# A success counts whoever reports it, a failure only of whoever still holds the delivery.
_SETTLE = """
UPDATE deliveries SET state = :state, http_status = :status, error = :error, latency_ns = :latency,
    next_attempt_ns = :next, leased_until_ns = NULL, lease = NULL, settled_ns = iif(:state = 'pending', NULL, :now)
WHERE delivery_id = :id
    AND iif(:state = 'delivered', state <> 'delivered', state = 'pending' AND lease = :lease)
"""
_REST = "INSERT OR REPLACE INTO rests VALUES (:channel, :now, :until)"


@dataclass(frozen=True)
class Claimed:
    """A delivery that this process has leased."""

    delivery_id: str
    channel: str
    severity: str
    body: bytes
    attempts: int  # this one included
    enqueued_ns: int
    lease: str


@dataclass(frozen=True)
class SendingOutcome:
    """How an attempt ended; of a failed one, when the next is due, or that there is none."""

    state: str  # delivered, pending or dead
    http_status: int | None = None
    error: str | None = None
    wait_s: float = 0.0
    rest_s: float = 0.0  # of the whole channel


def claim(outbox: Outbox, channel: str, lease_s: float) -> Claimed | None:
    """The next delivery of a channel that is due, leased for `lease_s`; None where none is. Raises OutboxUnusable."""
    with outbox.writing():
        now = outbox.now_ns()
        found = outbox.rows(_NEXT, {"channel": channel, "now": now})
        if not found:
            return None
        values = {"now": now, "until": now + int(lease_s * NS), "lease": uuid4().hex, "id": found[0]["delivery_id"]}
        (row,) = outbox.rows(_CLAIM, values)
    return Claimed(**dict(row))


def settle(outbox: Outbox, claimed: Claimed, outcome: SendingOutcome, latency_ns: int) -> None:
    """Note how an attempt ended. Raises OutboxUnusable."""
    now = outbox.now_ns()
    ended = {
        "state": outcome.state,
        "status": outcome.http_status,
        "error": outcome.error,
        "latency": latency_ns,
        "next": now + int(outcome.wait_s * NS),
        "now": now,
        "id": claimed.delivery_id,
        "lease": claimed.lease,
    }
    with outbox.writing():
        outbox.rows(_SETTLE, ended)
        if outcome.rest_s > 0:
            until = now + int(outcome.rest_s * NS)
            outbox.rows(_REST, {"channel": claimed.channel, "now": now, "until": until})
