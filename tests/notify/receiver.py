"""A receiver of webhooks on loopback that plays one failure after another, and keeps what it was sent."""

import http.server
import shutil
import socket
import ssl
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

Play = Callable[[socket.socket], None]


@dataclass(frozen=True)
class Got:
    path: str
    headers: dict[str, str]
    body: bytes
    status: int | None


@dataclass
class Script:
    """What to answer to each request, in order; then 200 for ever."""

    plays: list[int | tuple[int, dict[str, str]] | Play] = field(default_factory=list)
    got: list[Got] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    delay_s: float = 0.0

    def next(self) -> int | tuple[int, dict[str, str]] | Play:
        with self.lock:
            return self.plays.pop(0) if self.plays else 200

    @property
    def ids(self) -> list[str]:
        """webhook-id of each request that was answered with 2xx."""
        return [got.headers["webhook-id"] for got in self.got if got.status == 200]


class _Handler(http.server.BaseHTTPRequestHandler):
    script: Script

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(self.script.delay_s)
        play = self.script.next()
        status = play if isinstance(play, int) else play[0] if isinstance(play, tuple) else None
        headers = {name.lower(): value for name, value in self.headers.items()}
        with self.script.lock:
            self.script.got.append(Got(self.path, headers, body, status))
        if status is None:
            assert callable(play)
            play(self.connection)
            self.close_connection = True
            return
        self.send_response(status)
        for name, value in (play[1] if isinstance(play, tuple) else {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: object) -> None:
        pass


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        pass  # clients that leave are part of the play


@contextmanager
def receiving(script: Script, certificate: Path | None = None) -> Iterator[int]:
    """The receiver's port."""
    server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"script": script}))
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def self_signed(folder: Path, alternative: str) -> Path:
    """A certificate for a name (DNS:) or an address (IP:) with its key, in one file."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl, which makes the certificate, is not installed")
    name = ["-subj", "/CN=receiver.example", "-addext", f"subjectAltName={alternative}"]
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    subprocess.run(
        [*made, "-days", "2", *name, "-keyout", folder / "key", "-out", folder / "certificate"],
        check=True,
        capture_output=True,
    )
    both = folder / "both.pem"
    both.write_text((folder / "certificate").read_text() + (folder / "key").read_text())
    return both


def hang(connection: socket.socket) -> None:
    time.sleep(3)


def drip(connection: socket.socket) -> None:
    """A header line that never ends, a byte at a time."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    for _ in range(60):
        time.sleep(0.05)
        connection.sendall(b"x")


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def huge(connection: socket.socket) -> None:
    """A body without end."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
    sent = 0
    try:
        while sent < 1_000_000_000:
            sent += connection.send(b"x" * 65536)
    except OSError:
        HUGE_TAKEN.append(sent)


HUGE_TAKEN: list[int] = []
