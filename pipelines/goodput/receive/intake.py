"""Taking in one message, whichever protocol brought it: who may send, how much, and that it is on disk.

How a refusal is worded on the wire is the protocol's.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from goodput.collect.otlp.fields import Signal
from goodput.collect.otlp.limits import Limits
from goodput.collect.otlp.single import SingleMessage, Unreadable
from goodput.listen.token import is_let_in
from goodput.receive.commit import GroupCommit
from goodput.receive.encoding import NAMES, PATHS, Kind
from goodput.receive.limits import Reservation, Room, TokenBucket, gunzip
from goodput.receive.refusal import RequestRefused
from goodput.settings.model import Settings

STORAGE_RETRY_AFTER_S = 2  # an SDK gives an export 10 s in all; asked to wait longer than that, it drops it
_CHECKING_THREADS = 2  # of this many bodies at once there is a decompressed and a decoded copy
_COUNTED = {"traces": "spans", "logs": "log records", "metrics": "metrics"}


@dataclass
class Tally:
    """What was received since the start: requests and records accepted, requests refused by status.

    `body_bytes` are of accepted requests as they were sent, `storing_s` the time from their last byte to the disk.
    """

    accepted: int = 0
    records: Counter[str] = field(default_factory=Counter)
    refused: Counter[int] = field(default_factory=Counter)
    body_bytes: int = 0
    storing_s: float = 0.0

    def copy(self) -> "Tally":
        """The same as of now."""
        return replace(self, records=self.records.copy(), refused=self.refused.copy())

    def __str__(self) -> str:
        held = ", ".join(f"{self.records[name]} {what}" for name, what in _COUNTED.items())
        refused = ", ".join(f"{count} with {status}" for status, count in sorted(self.refused.items()))
        return f"{self.accepted} request(s) accepted ({held}); {refused or 'none'} refused"


class Intake:
    """What all protocols share: a message is taken in once it is on disk.

    `report` is called once when storing begins to fail, and once when it works again.
    """

    def __init__(
        self, settings: Settings, commit: GroupCommit, token: str | None, report: Callable[[str], None]
    ) -> None:
        self.tally = Tally()
        self.max_body_bytes = settings.receive.max_body_bytes
        self._message_limits = Limits(max_line_bytes=settings.limits.max_line_bytes)
        self._rate = TokenBucket(settings.receive.max_requests_per_s)
        self._room = Room(settings.receive.max_pending_bytes)
        self._commit = commit
        self._token = token.encode() if token else None
        self._report = report
        self.is_failing = False  # the landing zone cannot be written to
        self._checking = ThreadPoolExecutor(_CHECKING_THREADS, thread_name_prefix="check")

    def admit(self, token: bytes) -> None:
        """Let a request in. Raises RequestRefused 401 for another token, 429 beyond the rate."""
        if not is_let_in(token, self._token):
            raise RequestRefused(401, "the header `authorization: Bearer TOKEN` is missing or holds another token")
        self._rate.take()

    def reserve(self) -> Reservation:
        """What a request holds of the room for bodies."""
        return Reservation(self._room)

    async def take_in(self, kind: Kind, body: bytes, held: Reservation, *, gzipped: bool = False) -> None:
        """Return when the message is on disk. Raises RequestRefused."""
        began_s = time.monotonic()
        loop = asyncio.get_running_loop()
        framed = await loop.run_in_executor(self._checking, self._checked, body, gzipped, kind)
        if framed.records:  # a message that holds nothing is welcome, and nothing to keep
            held.add(len(framed.content))
            await self._store(kind, framed.content)
        self.tally.accepted += 1
        self.tally.records[NAMES[kind.signal]] += framed.records
        self.tally.body_bytes += len(body)
        self.tally.storing_s += time.monotonic() - began_s

    def refuse(self, error: Exception) -> RequestRefused:
        """What a request that ended by an error is refused with; counted. Nobody foresaw some, which are reported."""
        refused = error
        if not isinstance(refused, RequestRefused):
            self._report(f"a request ended with an error that nobody foresaw: {type(error).__name__}; answered 500")
            refused = RequestRefused(500, "the receiver cannot take this message in")
        self.tally.refused[refused.status] += 1
        return refused

    def _checked(self, body: bytes, gzipped: bool, kind: Kind) -> SingleMessage:
        message = gunzip(body, self.max_body_bytes) if gzipped else body
        try:
            return kind.encoding.framed(message, kind.signal, self._message_limits)
        except Unreadable as error:
            raise RequestRefused(400, _meant(kind.signal, str(error))) from error

    async def _store(self, kind: Kind, content: bytes) -> None:
        try:
            await self._commit.store(kind, content)
        except OSError as error:
            if not self.is_failing:
                self.is_failing = True
                self._report(
                    f"cannot write to the landing zone: {error.strerror or error}; answering 503 until it works"
                )
            raise RequestRefused(
                503, "the landing zone cannot be written to at the moment", STORAGE_RETRY_AFTER_S
            ) from error
        if self.is_failing:
            self.is_failing = False
            self._report("the landing zone can be written to again")


def _meant(signal: Signal, reason: str) -> str:
    other = next((path for path, meant in PATHS.items() if reason.startswith(meant.root) and meant is not signal), None)
    return f"{reason}; these go to {other}" if other else reason
