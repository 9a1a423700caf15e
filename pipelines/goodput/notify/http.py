"""One request to a judged address, bounded in time and size: no redirect, no proxy, no retry, TLS always verified.

The standard library's client does none of those by itself, and lets a connection be made to an address of ours.
"""

import http.client
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from goodput.notify.address import Target
from goodput.notify.deadline import Deadline, TimedSocket

RESPONSE_BYTES = 64 * 1024
_EXCERPT = 200
_EXCERPT_S = 2.0  # that a body is waited for once the status is there: the status is the answer


@dataclass(frozen=True)
class Answer:
    """What a receiver answered; `excerpt` is the printable beginning of its body."""

    status: int
    retry_after: str | None
    excerpt: str


class _Pinned(http.client.HTTPConnection):
    """A connection to one of the target's own addresses, whatever its name means by now."""

    def __init__(self, target: Target, deadline: Deadline, connect_s: float, context: ssl.SSLContext | None) -> None:
        super().__init__(target.host, target.port)
        self._target, self._deadline, self._connect_s, self._context = target, deadline, connect_s, context
        self._timed: TimedSocket

    def connect(self) -> None:
        """Connect to the first address that can be reached, then speak TLS to the name."""
        connected = self._reach()
        try:
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._context is not None:
                connected.settimeout(self._deadline.left_s())  # of the whole handshake: the ssl module counts down
                connected = self._context.wrap_socket(connected, server_hostname=self._target.host)
        except BaseException:
            connected.close()
            raise
        self.sock = self._timed = TimedSocket(connected, self._deadline)

    def read_for(self, at_most_s: float) -> None:
        """Wait for so long at most for what is still to come."""
        self._timed.deadline = Deadline(self._deadline.left_s(at_most_s))

    def _reach(self) -> socket.socket:
        """Each address gets an equal share of the time, so that one that swallows packets does not hide the next."""
        within = Deadline(self._deadline.left_s(self._connect_s))
        failed: OSError = TimeoutError(within.message)
        for tried, address in enumerate(self._target.addresses):
            try:
                share_s = within.left_s() / (len(self._target.addresses) - tried)
                return socket.create_connection((address, self._target.port), share_s)
            except OSError as error:
                failed = error
        raise failed


def post(  # noqa: PLR0913  (a request and its bounds)
    target: Target,
    body: bytes,
    headers: Mapping[str, str],
    deadline: Deadline,
    *,
    connect_s: float,
    ca_file: Path | None = None,
) -> Answer:
    """Post a body and read the answer's beginning. Raises OSError (TimeoutError past the deadline) or HTTPException."""
    all_headers = {"Host": target.host_header, **headers, "Content-Length": str(len(body))}
    with _connection(target, deadline, connect_s, ca_file) as connection:
        connection.putrequest("POST", target.path, skip_host=True, skip_accept_encoding=True)
        for name, value in all_headers.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        with connection.getresponse() as response:
            connection.read_for(_EXCERPT_S)
            return Answer(response.status, response.headers.get("Retry-After"), _beginning(response))


def get(target: Target, deadline: Deadline, max_bytes: int, *, connect_s: float) -> bytes:
    """Get the body of an answer with status 200.

    Raises OSError (TimeoutError past the deadline), HTTPException where the answer is no HTTP, and ValueError where it
    has another status or is longer than `max_bytes`.
    """
    with _connection(target, deadline, connect_s, None) as connection:
        connection.putrequest("GET", target.path, skip_host=True, skip_accept_encoding=True)
        connection.putheader("Host", target.host_header)
        connection.putheader("User-Agent", "goodput")
        connection.endheaders()
        with connection.getresponse() as response:
            if response.status != HTTPStatus.OK:
                moved = " (redirects are not followed: give the final url)" if 300 <= response.status < 400 else ""
                raise ValueError(f"answered {response.status}{moved}")
            body = response.read(max_bytes + 1)
            if len(body) > max_bytes:
                raise ValueError(f"answers more than {max_bytes} bytes")
            if response.length:
                raise ValueError(f"the answer breaks off after {len(body)} bytes")
    return body


@contextmanager
def _connection(target: Target, deadline: Deadline, connect_s: float, ca_file: Path | None) -> Iterator[_Pinned]:
    """A connection that is closed in the end; whatever was too slow in it is reported as one thing."""
    connection = _Pinned(target, deadline, connect_s, _trusting(ca_file) if target.tls else None)
    try:
        yield connection
    except TimeoutError as error:
        raise TimeoutError(deadline.message) from error
    finally:
        connection.close()


def _trusting(ca_file: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:  # names no file by itself
        raise OSError(error.errno, f"ca_file {ca_file} cannot be used: {error.strerror or error}") from error


def _beginning(response: http.client.HTTPResponse) -> str:
    body = b""
    with suppress(OSError, http.client.HTTPException):  # the status is the answer
        while len(body) < RESPONSE_BYTES and (chunk := response.read1(RESPONSE_BYTES - len(body))):
            body += chunk
    text = body[: 4 * _EXCERPT].decode("utf-8", "replace")
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:_EXCERPT]
