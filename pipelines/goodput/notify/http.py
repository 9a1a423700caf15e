"""One request to a judged address, bounded in time and size: no redirect, no proxy, no retry, TLS always verified.

The standard library's client does none of those by itself, and lets a connection be made to an address of ours.
"""

import http.client
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from goodput.notify.address import Target

RESPONSE_BYTES = 64 * 1024
_EXCERPT = 200


@dataclass(frozen=True)
class Answer:
    """What a receiver answered; `excerpt` is the printable beginning of its body."""

    status: int
    retry_after: str | None
    excerpt: str


@dataclass(frozen=True)
class Timeouts:
    """Seconds until connected, and until everything is done."""

    connect_s: float = 5.0
    total_s: float = 15.0


class _Pinned(http.client.HTTPConnection):
    """A connection to one of the target's own addresses, whatever its name means by now."""

    def __init__(self, target: Target, limits: Timeouts, context: ssl.SSLContext | None) -> None:
        super().__init__(target.host, target.port, timeout=limits.connect_s)
        self._target, self._limits, self._context = target, limits, context

    def connect(self) -> None:
        """Connect to the first address that can be reached, then speak TLS to the name."""
        raw = self._reach()
        raw.settimeout(self._limits.total_s)
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock = raw
        if self._context is not None:
            name = self._target.host
            tls = self._context.wrap_socket(raw, server_hostname=name, do_handshake_on_connect=False)
            self.sock = tls  # before the handshake, which the deadline may have to end
            tls.do_handshake()

    def _reach(self) -> socket.socket:
        until = time.monotonic() + self._limits.connect_s
        failed: OSError = TimeoutError("timed out")
        for address in self._target.addresses:
            left = until - time.monotonic()
            if left <= 0:
                break
            try:
                return socket.create_connection((address, self._target.port), left)
            except OSError as error:
                failed = error
        raise failed


def post(
    target: Target, body: bytes, headers: Mapping[str, str], limits: Timeouts, *, ca_file: Path | None = None
) -> Answer:
    """Post a body and read the answer's beginning. Raises OSError (TimeoutError past the limits) or HTTPException."""
    context = _trusting(ca_file) if target.tls else None
    connection = _Pinned(target, limits, context)
    try:
        with _deadline(connection, limits.total_s) as passed:
            connection.putrequest("POST", target.path, skip_host=True, skip_accept_encoding=True)
            for name, value in {"Host": target.host_header, **headers, "Content-Length": str(len(body))}.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            response = connection.getresponse()
            if passed.is_set():  # a header that was cut short looks like one that ended
                raise TimeoutError
            return Answer(response.status, response.headers.get("Retry-After"), _beginning(response))
    finally:
        connection.close()


def get(target: Target, limits: Timeouts, max_bytes: int) -> bytes:
    """Get the body of an answer with status 200.

    Raises OSError (TimeoutError past the limits), HTTPException where the answer is no HTTP, and ValueError where it
    has another status or is longer than `max_bytes`.
    """
    connection = _Pinned(target, limits, _trusting(None) if target.tls else None)
    try:
        with _deadline(connection, limits.total_s) as passed:
            connection.putrequest("GET", target.path, skip_host=True, skip_accept_encoding=True)
            connection.putheader("Host", target.host_header)
            connection.putheader("User-Agent", "goodput")
            connection.endheaders()
            response = connection.getresponse()
            if response.status != HTTPStatus.OK:
                moved = " (redirects are not followed: give the final url)" if 300 <= response.status < 400 else ""
                raise ValueError(f"answered {response.status}{moved}")
            body = response.read(max_bytes + 1)
            if passed.is_set():  # an answer that was cut short looks like one that ended
                raise TimeoutError
            if len(body) > max_bytes:
                raise ValueError(f"answers more than {max_bytes} bytes")
            if response.length:
                raise ValueError(f"the answer breaks off after {len(body)} bytes")
    finally:
        connection.close()
    return body


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


@contextmanager
def _deadline(connection: _Pinned, total_s: float) -> Iterator[threading.Event]:
    """Ends the connection after `total_s`, however slowly bytes drip: a socket's own time limit is only of one read."""
    passed = threading.Event()

    def end() -> None:
        passed.set()
        if connection.sock is not None:
            with suppress(OSError):
                socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)

    timer = threading.Timer(total_s, end)
    timer.daemon = True
    timer.start()
    try:
        yield passed
    except (OSError, http.client.HTTPException) as error:
        if passed.is_set() or isinstance(error, TimeoutError):
            raise TimeoutError(f"no answer within {total_s:g} s") from error
        raise
    finally:
        timer.cancel()
