"""Who is let in and for how long: connections in all and per peer, and a deadline for the headers of each request.

Connections on which nobody asks anything cost those who do: they are closed first.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from goodput.settings.listening import Listening

BUSY_RETRY_AFTER_S = 1
HEADERS_S = 10.0
_LINGER_S = 0.5
_BUSY = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: %d\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


@dataclass
class Door:
    """The connections of one server."""

    limits: Listening
    headers_s: float = field(default_factory=lambda: HEADERS_S)
    refused: int = 0
    _inside: dict["GuardedProtocol", str] = field(default_factory=dict)  # peer of each, in the order of coming
    _of_peer: Counter[str] = field(default_factory=Counter)

    def enter(self, connection: "GuardedProtocol", peer: str) -> bool:
        """Whether there is room for a connection; one that waits for headers makes room for it."""
        if self._of_peer[peer] >= self.limits.max_connections_per_peer and not self._put_out(peer):
            self.refused += 1
            return False
        if len(self._inside) >= self.limits.max_connections and not self._put_out(None):
            self.refused += 1
            return False
        self._inside[connection] = peer
        self._of_peer[peer] += 1
        return True

    def leave(self, connection: "GuardedProtocol") -> None:
        """A connection is gone."""
        peer = self._inside.pop(connection, None)
        if peer is not None:
            self._of_peer[peer] -= 1
            if not self._of_peer[peer]:
                del self._of_peer[peer]

    def _put_out(self, peer: str | None) -> bool:
        """Close the oldest connection, of one peer or of any, that is in the middle of its headers."""
        waiting = (one for one, of in self._inside.items() if one.waits_for_headers and peer in (None, of))
        oldest = next(waiting, None)
        if oldest is None:
            return False
        self.leave(oldest)
        oldest.transport.abort()
        return True


class GuardedProtocol(H11Protocol):
    """HTTP/1.1 of which each request has a deadline for its headers, from its first byte or the connection's start."""

    def __init__(self, door: Door, **given: Any) -> None:
        super().__init__(**given)
        self._door = door
        self._deadline: asyncio.TimerHandle | None = None
        self._is_refused = False

    @property
    def waits_for_headers(self) -> bool:
        """Whether a request was begun, or none was yet, that is not known."""
        return self._deadline is not None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Let it in, or say that there is no room."""
        super().connection_made(transport)
        if self._door.enter(self, self.client[0] if self.client else ""):
            self._wait()
        else:
            self._is_refused = True
            transport.write(_BUSY % BUSY_RETRY_AFTER_S)
            self.loop.call_later(_LINGER_S, transport.abort)  # who still sends when it closes never reads why

    def connection_lost(self, exc: Exception | None) -> None:
        """Make room."""
        self._door.leave(self)
        self._end_wait()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes of a request; the first of one begins the wait for its headers."""
        if self._is_refused or self.transport.is_closing():
            return
        before = self.cycle
        if self._deadline is None and (before is None or before.response_complete):
            self._wait()
        super().data_received(data)
        if self.cycle is not before:
            self._end_wait()

    def _wait(self) -> None:
        self._deadline = self.loop.call_later(self._door.headers_s, self.transport.abort)

    def _end_wait(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
