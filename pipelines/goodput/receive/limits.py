"""How much is let in: requests per second, bytes held at once, bytes of one body. Nothing is read or answered here."""

import time
import zlib
from collections.abc import Callable
from math import ceil

from goodput.listen.door import BUSY_RETRY_AFTER_S
from goodput.receive.refusal import RequestRefused


class TokenBucket:
    """Lets `per_s` requests in each second, and as many at once after a pause."""

    def __init__(self, per_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_s = per_s
        self._capacity = max(per_s, 1.0)
        self._clock = clock
        self._tokens = self._capacity
        self._seen_s = clock()

    def take(self) -> None:
        """Let one request in. Raises RequestRefused 429 with the seconds until the next one may come."""
        now = self._clock()
        self._tokens = min(self._capacity, self._tokens + (now - self._seen_s) * self._per_s)
        self._seen_s = now
        if self._tokens < 1:
            wait_s = max(1, ceil((1 - self._tokens) / self._per_s))
            raise RequestRefused(429, f"more than {self._per_s:g} requests per second (max_requests_per_s)", wait_s)
        self._tokens -= 1


class Room:
    """Bytes of bodies that may be in memory at once, over all requests."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.held_bytes = 0


class Reservation:
    """What one request holds of the room; all of it is given back at the end of the `with` block."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._bytes = 0

    def __enter__(self) -> "Reservation":
        return self

    def __exit__(self, *_: object) -> None:
        self._room.held_bytes -= self._bytes

    def add(self, count: int) -> None:
        """Hold so many bytes more. Raises RequestRefused 503 where there is no room."""
        if self._room.held_bytes + count > self._room.max_bytes:
            message = f"more than {self._room.max_bytes} bytes are waiting to be written (max_pending_bytes)"
            raise RequestRefused(503, message, BUSY_RETRY_AFTER_S)
        self._room.held_bytes += count
        self._bytes += count


def too_large(max_bytes: int, what: str = "the body") -> RequestRefused:
    """The refusal of a body beyond the limit."""
    return RequestRefused(413, f"{what} is larger than {max_bytes} bytes (max_body_bytes); send smaller batches")


def gunzip(body: bytes, max_bytes: int) -> bytes:
    """Decompress one gzip stream. Raises RequestRefused 413 beyond `max_bytes`, 400 where it is none."""
    decompressor = zlib.decompressobj(wbits=31)
    try:
        content = decompressor.decompress(body, max_bytes + 1)
    except zlib.error as error:
        raise RequestRefused(400, f"the body is no gzip: {error}") from error
    if len(content) > max_bytes:
        raise too_large(max_bytes, "the decompressed body")
    if not decompressor.eof or decompressor.unused_data:
        raise RequestRefused(400, "the body is not one whole gzip stream")
    return content
