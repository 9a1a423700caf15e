"""The OTLP/HTTP endpoint as an ASGI application: which request is answered how.

Sockets and signals are the server's; what is on disk when, is `commit`'s and `files`'.
"""

import asyncio
import base64
import binascii
import hmac
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from goodput.collect.otlp.fields import Signal
from goodput.collect.otlp.limits import Limits
from goodput.collect.otlp.single import Framed, Unreadable
from goodput.receive.commit import GroupCommit
from goodput.receive.encoding import CONTENT_TYPES, NAMES, PATHS, Encoding, Kind
from goodput.receive.limits import BUSY_RETRY_AFTER_S, Reservation, Room, TokenBucket, gunzip
from goodput.receive.refusal import RequestRefused
from goodput.receive.request import ClientGone, Receive, Request, Send
from goodput.settings.model import Settings

HEALTH = "/health"
STORAGE_RETRY_AFTER_S = 2  # an SDK gives an export 10 s in all; asked to wait longer than that, it drops it
_CHECKING_THREADS = 2  # of this many bodies at once there is a decompressed and a decoded copy

_COUNTED = {"traces": "spans", "logs": "log records", "metrics": "metrics"}

Headers = list[tuple[bytes, bytes]]
_CLOSE = (b"connection", b"close")


@dataclass
class Tally:
    """What was received since the start: requests and records accepted, requests refused by status."""

    accepted: int = 0
    records: Counter[str] = field(default_factory=Counter)
    refused: Counter[int] = field(default_factory=Counter)

    def __str__(self) -> str:
        held = ", ".join(f"{self.records[name]} {what}" for name, what in _COUNTED.items())
        refused = ", ".join(f"{count} with {status}" for status, count in sorted(self.refused.items()))
        return f"{self.accepted} request(s) accepted ({held}); {refused or 'none'} refused"


class OtlpEndpoint:
    """POST /v1/traces, /v1/metrics and /v1/logs, and Langfuse's path of traces; GET /health.

    A message is acknowledged once it is on disk. A token may come as that of `Bearer` or, since SDKs of Langfuse send
    nothing else, as the password of `Basic`, which is their secret key.

    `report` is called once when storing begins to fail, and once when it works again.
    """

    def __init__(
        self, settings: Settings, commit: GroupCommit, token: str | None, report: Callable[[str], None]
    ) -> None:
        self.tally = Tally()
        self._max_body_bytes = settings.receive.max_body_bytes
        self._message_limits = Limits(max_line_bytes=settings.limits.max_line_bytes)
        self._rate = TokenBucket(settings.receive.max_requests_per_s)
        self._room = Room(settings.receive.max_pending_bytes)
        self._commit = commit
        self._token = token.encode() if token else None
        self._report = report
        self._failing = False
        self._checking = ThreadPoolExecutor(_CHECKING_THREADS, thread_name_prefix="check")

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        request = Request(scope, receive)
        encoding = request.encoding or Encoding.JSON
        headers: Headers = []
        try:
            try:
                status, body = 200, await self._answer(request)
            except RequestRefused as refused:
                status, body = self._refusal(refused, encoding, headers)
                if not await request.drain():
                    headers.append(_CLOSE)
            except asyncio.CancelledError:  # the server stops and has waited long enough
                stopping = RequestRefused(503, "the receiver is stopping", BUSY_RETRY_AFTER_S)
                status, body = self._refusal(stopping, encoding, headers)
                headers.append(_CLOSE)
        except ClientGone:
            return
        headers.append((b"content-type", encoding.content_type.encode()))
        headers.append((b"content-length", str(len(body)).encode()))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _refusal(self, refused: RequestRefused, encoding: Encoding, headers: Headers) -> tuple[int, bytes]:
        self.tally.refused[refused.status] += 1
        headers += _headers_of(refused)
        return refused.status, refused.body(encoding)

    async def _answer(self, request: Request) -> bytes:
        if request.path == HEALTH and request.method in ("GET", "HEAD"):
            return b'{"status":"ok"}'
        signal = PATHS.get(request.path)
        if signal is None:
            raise RequestRefused(404, f"no such path; there are {', '.join(PATHS)} and {HEALTH}")
        if request.method != "POST":
            raise RequestRefused(405, f"{request.path} takes POST")
        self._authorise(request)
        self._rate.take()
        if request.encoding is None:
            raise RequestRefused(415, f"the content type has to be one of {', '.join(CONTENT_TYPES)}")
        with Reservation(self._room) as held:
            await self._take_in(request, Kind(signal, request.encoding), held)
        return request.encoding.empty

    def _authorise(self, request: Request) -> None:
        if self._token and not hmac.compare_digest(_token_of(request.header("authorization")), self._token):
            raise RequestRefused(401, "the header `authorization: Bearer TOKEN` is missing or holds another token")

    async def _take_in(self, request: Request, kind: Kind, held: Reservation) -> None:
        gzipped = request.gzipped
        body = await request.body(self._max_body_bytes, held)
        loop = asyncio.get_running_loop()
        framed = await loop.run_in_executor(self._checking, self._checked, body, gzipped, kind)
        if framed.records:  # a message that holds nothing is welcome, and nothing to keep
            held.add(len(framed.content))
            await self._store(kind, framed.content)
        self.tally.accepted += 1
        self.tally.records[NAMES[kind.signal]] += framed.records

    def _checked(self, body: bytes, gzipped: bool, kind: Kind) -> Framed:
        message = gunzip(body, self._max_body_bytes) if gzipped else body
        try:
            return kind.encoding.framed(message, kind.signal, self._message_limits)
        except Unreadable as error:
            raise RequestRefused(400, _meant(kind.signal, str(error))) from error

    async def _store(self, kind: Kind, content: bytes) -> None:
        try:
            await self._commit.store(kind, content)
        except OSError as error:
            if not self._failing:
                self._failing = True
                self._report(
                    f"cannot write to the landing zone: {error.strerror or error}; answering 503 until it works"
                )
            raise RequestRefused(
                503, "the landing zone cannot be written to at the moment", STORAGE_RETRY_AFTER_S
            ) from error
        if self._failing:
            self._failing = False
            self._report("the landing zone can be written to again")


def _token_of(authorization: str) -> bytes:
    scheme, _, given = authorization.partition(" ")
    if scheme == "Bearer":
        return given.encode("latin-1")
    if scheme == "Basic":
        with suppress(binascii.Error):
            return base64.b64decode(given, validate=True).partition(b":")[2]
    return b""


def _meant(signal: Signal, reason: str) -> str:
    other = next((path for path, meant in PATHS.items() if reason.startswith(meant.root) and meant is not signal), None)
    return f"{reason}; these go to {other}" if other else reason


def _headers_of(refused: RequestRefused) -> Headers:
    headers: Headers = []
    if refused.retry_after_s is not None:
        headers.append((b"retry-after", str(refused.retry_after_s).encode()))
    if refused.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if refused.status == 405:
        headers.append((b"allow", b"POST"))
    return headers
