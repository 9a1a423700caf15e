"""Empties the outbox: each channel in a thread of its own, so that one that hangs delays no other.

Any number of processes may drain at once. A delivery is leased while it is sent; leases of a process that dies expire.
"""

import random
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from goodput.notify.claims import Claimed, SendingOutcome, claim, settle
from goodput.notify.outbox import Clock, Outbox, outbox_file
from goodput.notify.retry import NS, RetryLimits, backoff_s, retry_after_s
from goodput.notify.senders import Sender, SendResult, rests
from goodput.plumbing.lake import Lake

_AT_ONCE = 16  # channels
_SPARE_S = 15.0  # from the end of an attempt, which has a deadline, to its record: then another process may send it


@dataclass(frozen=True)
class Drained:
    """What became of the attempts."""

    delivered: int = 0
    failed: int = 0
    dead: int = 0

    def __add__(self, other: "Drained") -> "Drained":
        return Drained(self.delivered + other.delivered, self.failed + other.failed, self.dead + other.dead)


@dataclass(frozen=True)
class Drainer:
    """Sends what is due over `senders` (channel -> how to send); beyond `budget_s` no attempt is begun."""

    lake: Lake
    senders: Mapping[str, Sender]
    budget_s: float
    clock: Clock = time.time_ns

    def drain(self) -> Drained:
        """Send until nothing is due or the budget is spent. Raises OutboxUnusable."""
        if not self.senders:
            return Drained()
        until = time.monotonic() + self.budget_s
        with ThreadPoolExecutor(min(len(self.senders), _AT_ONCE), "notify") as threads:
            return sum(threads.map(partial(self._channel, until=until), self.senders), Drained())

    def _channel(self, name: str, *, until: float) -> Drained:
        sender = self.senders[name]
        done = Drained()
        with Outbox(outbox_file(self.lake), self.clock) as outbox:
            while time.monotonic() < until:
                claimed = claim(outbox, name, sender.channel.timeout_s + _SPARE_S)
                if claimed is None:
                    break
                began = time.monotonic_ns()
                sent = sender.send(claimed.delivery_id, claimed.body, self.clock())
                outcome = _outcome(sender, claimed, sent, self.clock())
                settle(outbox, claimed, outcome, time.monotonic_ns() - began)
                done += Drained(sent.delivered, not sent.delivered, outcome.state == "dead")
        return done


def _outcome(sender: Sender, claimed: Claimed, sent: SendResult, now_ns: int) -> SendingOutcome:
    if sent.delivered:
        return SendingOutcome("delivered", sent.http_status)
    patience = RetryLimits(sender.channel.max_attempts, sender.channel.max_age_s)
    if sent.final or patience.is_spent(claimed.attempts, (now_ns - claimed.enqueued_ns) / NS):
        return SendingOutcome("dead", sent.http_status, sent.error)
    asked_s = retry_after_s(sent.retry_after, datetime.fromtimestamp(now_ns / NS, UTC))
    wait_s = backoff_s(claimed.attempts, claimed.severity, asked_s, random.SystemRandom())
    return SendingOutcome("pending", sent.http_status, sent.error, wait_s, asked_s or 0.0 if rests(sent) else 0.0)
