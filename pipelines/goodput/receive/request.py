"""One HTTP request as ASGI gives it: headers, and its body within limits. What a body contains is not looked at."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from typing import Any

from goodput.listen.door import BUSY_RETRY_AFTER_S
from goodput.receive.encoding import CONTENT_TYPES, Encoding
from goodput.receive.limits import Reservation, too_large
from goodput.receive.refusal import RequestRefused

Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]

BODY_TIMEOUT_S = 30.0
_DRAIN_TIMEOUT_S = 5.0
_DRAIN_BYTES = 64 * 2**20


class ClientGone(Exception):
    """The client closed the connection before its request was whole: nobody is left to answer."""


class Request:
    """A request of the OTLP endpoint; its headers by lower-case name, the first one where a name stands twice."""

    def __init__(self, scope: Mapping[str, Any], receive: Receive) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self._headers: dict[bytes, bytes] = dict(reversed(list(scope["headers"])))
        self._receive = receive
        self._ended = False

    def header(self, name: str) -> str:
        """The value of a header, "" where it is not there."""
        return self._headers.get(name.encode(), b"").decode("latin-1").strip()

    @property
    def encoding(self) -> Encoding | None:
        """The content type without its parameters."""
        return CONTENT_TYPES.get(self.header("content-type").partition(";")[0].strip().lower())

    @property
    def gzipped(self) -> bool:
        """Whether the body is compressed. Raises RequestRefused 415 for anything but gzip."""
        coding = self.header("content-encoding").lower()
        if coding not in ("", "identity", "gzip"):
            raise RequestRefused(415, f"content encoding {coding!r} is not supported; gzip and identity are")
        return coding == "gzip"

    async def body(self, max_bytes: int, held: Reservation, timeout_s: float = BODY_TIMEOUT_S) -> bytes:
        """The whole body. Raises RequestRefused 413 or 503, or ClientGone."""
        declared = self.header("content-length")
        if declared.isdecimal() and int(declared) > max_bytes:
            raise too_large(max_bytes)
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(timeout_s):
                while not self._ended:
                    part = await self._part()
                    size += len(part)
                    if size > max_bytes:
                        raise too_large(max_bytes)
                    held.add(len(part))
                    parts.append(part)
        except TimeoutError:
            raise RequestRefused(503, f"the body did not arrive within {timeout_s:g} s", BUSY_RETRY_AFTER_S) from None
        return b"".join(parts)

    async def drain(self) -> bool:
        """Throw away what is left of the body, within reason; whether that was all.

        A client that is still sending when the connection closes never reads its refusal, and sends all again.
        """
        if self._ended or self.header("expect"):  # who waits for leave to send has sent nothing
            return self._ended
        size = 0
        with suppress(TimeoutError):
            async with asyncio.timeout(_DRAIN_TIMEOUT_S):
                while not self._ended and size <= _DRAIN_BYTES:
                    size += len(await self._part())
        return self._ended

    async def _part(self) -> bytes:
        event = await self._receive()
        if event["type"] != "http.request":
            raise ClientGone
        self._ended = not event.get("more_body", False)
        part: bytes = event.get("body", b"")
        return part
