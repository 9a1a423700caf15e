"""One deadline per attempt, whatever the peer does: nothing that drips, hangs or never ends is waited for longer."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from goodput.notify.claims import claim
from goodput.notify.deadline import Deadline
from goodput.notify.drain import Drainer
from goodput.notify.outbox import Outbox, outbox_file
from goodput.notify.senders import Sender
from goodput.plumbing.lake import Lake
from goodput.settings.channels import Channel
from notify.test_outbox import draft, fill

Peer = Callable[[socket.socket], None]
TIMEOUT_S = 0.5
SLACK_S = 0.6  # of a busy machine
LONG_S = 6.0  # what each peer goes on for: many times the deadline


def _drip(connection: socket.socket, begin: bytes, drop: bytes) -> None:
    connection.recv(65536)
    connection.sendall(begin)
    until = time.monotonic() + LONG_S
    while time.monotonic() < until:
        time.sleep(0.05)
        connection.sendall(drop)


def _reads_a_byte_at_a_time(connection: socket.socket) -> None:
    until = time.monotonic() + LONG_S
    while time.monotonic() < until and connection.recv(1):
        time.sleep(0.05)


def _hangs(connection: socket.socket) -> None:
    connection.recv(65536)
    time.sleep(LONG_S)


PEERS: dict[str, Peer] = {
    "nothing": _hangs,
    "status_line": lambda c: _drip(c, b"", b"H"),
    "header": lambda c: _drip(c, b"HTTP/1.1 500 No\r\nX-Slow: ", b"x"),
    "headers": lambda c: _drip(c, b"HTTP/1.1 500 No\r\n", b"a: b\r\n"),
    "continue": lambda c: _drip(c, b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "body_without_length": lambda c: _drip(c, b"HTTP/1.1 500 No\r\n\r\n", b"x"),
    "body_with_close": lambda c: _drip(c, b"HTTP/1.1 500 No\r\nConnection: close\r\nContent-Length: 99\r\n\r\n", b"x"),
    "body_with_length": lambda c: _drip(c, b"HTTP/1.1 500 No\r\nContent-Length: 999999\r\n\r\n", b"x"),
    "chunks": lambda c: _drip(c, b"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
    "chunk_size": lambda c: _drip(c, b"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n", b"0"),
    "trailer": lambda c: _drip(c, b"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"a: b\r\n"),
    "accepted_body": lambda c: _drip(c, b"HTTP/1.1 200 OK\r\n\r\n", b"x"),
}


@contextmanager
def peer(play: Peer) -> Iterator[int]:
    """The port of a peer that plays one connection after another, each in a thread."""
    listener = socket.create_server(("127.0.0.1", 0))

    def one(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            play(connection)

    def serve() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=one, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.close()


def sender(url: str, resolver: Callable[[str, int], list[str]] | None = None, **options: object) -> Sender:
    given = {"kind": "webhook", "url": url, "allow_private": True, "timeout_s": TIMEOUT_S, **options}
    return Sender(Channel.model_validate(given), Path(), *([resolver] if resolver else []))


@pytest.mark.parametrize("way", PEERS)
def test_an_attempt_ends_at_its_deadline(way: str) -> None:
    with peer(PEERS[way]) as port:
        began = time.monotonic()
        sent = sender(f"http://127.0.0.1:{port}/").send("id", b"{}", 0)
        took_s = time.monotonic() - began
    assert took_s < TIMEOUT_S + SLACK_S
    status = 200 if way == "accepted_body" else 500 if way.startswith(("body", "chunk", "trailer")) else None
    assert (sent.delivered, sent.http_status) == (status == 200, status)
    if status is None:
        assert sent.error == f"no answer within {TIMEOUT_S} s"


@pytest.mark.parametrize("way", ["nothing", "drip"])
def test_a_tls_handshake_that_does_not_end(way: str) -> None:
    record = b"\x16\x03\x03\x10\x00"  # a handshake record of 4096 bytes, of which few come
    with peer(_hangs if way == "nothing" else lambda c: _drip(c, record, b"\x02")) as port:
        began = time.monotonic()
        sent = sender(f"https://127.0.0.1:{port}/").send("id", b"{}", 0)
    assert time.monotonic() - began < TIMEOUT_S + SLACK_S
    assert sent.error == f"no answer within {TIMEOUT_S} s"


def test_a_peer_that_takes_the_body_a_byte_at_a_time() -> None:
    with peer(_reads_a_byte_at_a_time) as port:
        began = time.monotonic()
        sent = sender(f"http://127.0.0.1:{port}/").send("id", b"x" * 30_000_000, 0)
    assert time.monotonic() - began < TIMEOUT_S + SLACK_S
    assert sent.error == f"no answer within {TIMEOUT_S} s"


def test_a_name_whose_look_up_does_not_end() -> None:
    def silent(host: str, port: int) -> list[str]:
        time.sleep(LONG_S)
        return ["127.0.0.1"]

    began = time.monotonic()
    sent = sender("http://slow.example/", silent).send("id", b"{}", 0)
    assert time.monotonic() - began < TIMEOUT_S + SLACK_S
    assert sent.error == f"no answer within {TIMEOUT_S} s"


def test_a_look_up_that_took_most_of_the_time_leaves_the_rest_to_all_else() -> None:
    def slow(host: str, port: int) -> list[str]:
        time.sleep(0.4)
        return ["127.0.0.1"]

    with peer(PEERS["headers"]) as port:
        began = time.monotonic()
        sender(f"http://slow.example:{port}/", slow).send("id", b"{}", 0)
    assert time.monotonic() - began < TIMEOUT_S + SLACK_S


@contextmanager
def swallowing() -> Iterator[int]:
    """A port whose queue of connections is full: packets to it are dropped, as by a firewall."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]
        for one in waiting:
            one.close()


def test_a_connection_that_is_never_made_waits_no_longer_than_it_may() -> None:
    with swallowing() as port:
        began = time.monotonic()
        sent = sender(f"http://127.0.0.1:{port}/", connect_timeout_s=60.0).send("id", b"{}", 0)
    assert time.monotonic() - began < TIMEOUT_S + SLACK_S
    assert not sent.delivered


def test_an_address_that_swallows_packets_does_not_hide_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names often have an IPv6 address that leads nowhere before the IPv4 address that answers."""

    def answers(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    connect = socket.create_connection

    def swallows_first(address: tuple[str, int], timeout: float) -> socket.socket:
        if address[0] == "127.0.0.2":
            time.sleep(timeout)
            raise TimeoutError
        return connect(address, timeout)

    monkeypatch.setattr(socket, "create_connection", swallows_first)
    with peer(answers) as port:
        both = sender(f"http://two.example:{port}/", lambda host, p: ["127.0.0.2", "127.0.0.1"], timeout_s=2.0)
        assert both.send("id", b"{}", 0).delivered


def test_what_a_resolver_raises_is_raised_in_time() -> None:
    def unknown(host: str, port: int) -> list[str]:
        raise socket.gaierror(-2, "Name or service not known")

    sent = sender("http://none.example/", unknown).send("id", b"{}", 0)
    assert sent.error == "gaierror: Name or service not known"


def test_the_lease_of_a_delivery_outlasts_its_attempt(tmp_path: Path) -> None:
    """While a receiver drips, another process asks again and again what it may send: nothing, until that has ended."""
    lake = Lake(tmp_path / "lake")
    fill(lake, [draft("a", "x")])
    attempts: list[float] = []

    def drips(connection: socket.socket) -> None:
        attempts.append(time.monotonic())
        PEERS["body_without_length"](connection)

    with peer(drips) as port:
        drainer = Drainer(lake, {"ops": sender(f"http://127.0.0.1:{port}/")}, 5)
        draining = threading.Thread(target=drainer.drain)
        draining.start()
        until = time.monotonic() + 5
        while not attempts and time.monotonic() < until:
            time.sleep(0.005)
        found = []
        while draining.is_alive():
            with Outbox(outbox_file(lake)) as outbox:
                found.append(claim(outbox, "ops", 60))
            time.sleep(0.02)
        draining.join()
    assert len(found) > 3
    assert not any(found)
    assert len(attempts) == 1


def test_a_deadline_counts_down_and_then_refuses() -> None:
    deadline = Deadline(0.2)
    assert 0.1 < deadline.left_s() <= 0.2
    assert deadline.left_s(0.05) <= 0.05
    time.sleep(0.25)
    with pytest.raises(TimeoutError, match=r"no answer within 0\.2 s"):
        deadline.left_s()
