"""Half-open requests, drip-fed headers and crowds of connections do not keep a legitimate sender waiting."""

import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from goodput.errors import CertificateUnusable, SettingsError
from goodput.listen import door
from goodput.listen.tls import tls_of
from goodput.receive.refusal import RequestRefused
from goodput.settings.load import load_settings
from goodput.settings.model import Settings
from receive.conftest import Receive, Receiver
from receive.sender import LINE, landed

HALF = b"POST /v1/traces HTTP/1.1\r\nhost: a\r\nx-slow: "


@contextmanager
def crowd(
    receiver: Receiver, count: int, begin: bytes = HALF, address: str = "127.0.0.2"
) -> Iterator[list[socket.socket]]:
    """Connections from another address that begin a request and do not end it."""
    made = []
    for _ in range(count):
        one = socket.create_connection(("127.0.0.1", receiver.port), 5, source_address=(address, 0))
        with suppress(OSError):
            one.sendall(begin)
        made.append(one)
    try:
        yield made
    finally:
        for one in made:
            one.close()


def closed(connection: socket.socket, within_s: float) -> bool:
    connection.settimeout(within_s)
    try:
        return connection.recv(65536) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


def took_s(receiver: Receiver) -> float:
    began = time.monotonic()
    assert receiver.connect().send(LINE).status == 200
    return time.monotonic() - began


@pytest.mark.parametrize("begin", [HALF, b"", b"P"])
def test_1100_half_open_requests_of_one_peer_delay_nobody(receive: Receive, begin: bytes) -> None:
    receiver = receive()
    with crowd(receiver, 1100, begin):
        assert took_s(receiver) < 2
    assert len(landed(receiver.landing)) == 1


def test_half_open_requests_of_many_peers_make_room_for_who_asks(receive: Receive) -> None:
    receiver = receive(max_connections=50)
    with crowd(receiver, 30, address="127.0.0.2"), crowd(receiver, 30, address="127.0.0.3"):
        for _ in range(5):
            assert took_s(receiver) < 2


def test_headers_have_a_deadline_however_they_drip(receive: Receive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "HEADERS_S", 0.5)
    receiver = receive()
    with crowd(receiver, 1) as (dripping,):
        began = time.monotonic()
        with suppress(OSError):
            while time.monotonic() - began < 3:
                dripping.sendall(b"x")
                time.sleep(0.05)
                if closed(dripping, 0.01):
                    break
        assert time.monotonic() - began < 2
        assert closed(dripping, 1)


def test_a_second_request_on_a_connection_has_the_deadline_too(receive: Receive) -> None:
    receiver = receive(max_connections_per_peer=1)
    sender = receiver.connect()
    assert sender.send(LINE).status == 200
    sender.connection.sock.sendall(HALF)
    time.sleep(0.2)
    assert took_s(receiver) < 2, "the half-open request made room"
    assert closed(sender.connection.sock, 2)


def test_a_peer_beyond_its_connections_is_told_when_to_come_again(receive: Receive) -> None:
    receiver = receive(max_connections_per_peer=2)
    busy = [receiver.connect() for _ in range(2)]
    assert [sender.send(LINE).status for sender in busy] == [200, 200]
    refused = receiver.connect().send(LINE)
    assert (refused.status, refused.headers["retry-after"]) == (503, "1")
    busy[0].connection.close()
    time.sleep(0.1)
    assert took_s(receiver) < 2


@pytest.mark.parametrize("status", [429, 503])
def test_what_is_worth_a_retry_always_says_when(status: int) -> None:
    assert RequestRefused(status, "busy").retry_after_s == 1
    assert RequestRefused(status, "busy", 7).retry_after_s == 7
    assert RequestRefused(400, "bad").retry_after_s is None


@pytest.mark.parametrize("body", [b"", b" ", b"\n", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("path", ["/v1/traces", "/v1/logs", "/v1/metrics"])
def test_an_empty_body_is_no_json(receiver: Receiver, path: str, body: bytes) -> None:
    answer = receiver.connect().send(body, path)
    assert (answer.status, b"is empty, which is no JSON" in answer.body) == (400, True)


def test_an_error_that_nobody_foresaw_is_a_500_that_is_reported_in_one_line(
    receive: Receive, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("with what was sent")

    receiver = receive()
    monkeypatch.setattr("goodput.receive.intake.Intake._checked", broken)
    answer = receiver.connect().send(LINE)
    assert answer.status == 500
    assert b"with what was sent" not in answer.body
    assert receiver.said == ["a request ended with an error that nobody foresaw: ZeroDivisionError; answered 500"]
    assert "Traceback" not in capfd.readouterr().err


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    files = ["-keyout", folder / "key.pem", "-out", folder / "cert.pem"]
    subprocess.run([*made, "-days", "2", *name, *files], check=True, capture_output=True)
    return folder / "cert.pem", folder / "key.pem"


def test_over_tls_it_is_the_same(receive: Receive, certificate: tuple[Path, Path]) -> None:
    cert, key = map(str, certificate)
    receiver = receive(tls_certificate=cert, tls_key=key)
    context = ssl.create_default_context(cafile=cert)
    request = b"POST /v1/traces HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s"
    with (
        crowd(receiver, 20, b"\x16\x03\x01"),
        socket.create_connection(("127.0.0.1", receiver.port), 5) as raw,
        context.wrap_socket(raw, server_hostname="localhost") as sender,
    ):
        sender.sendall(request % (len(LINE), LINE))
        assert sender.recv(4096).startswith(b"HTTP/1.1 200")
    assert len(landed(receiver.landing)) == 1
    with socket.create_connection(("127.0.0.1", receiver.port), 5) as plain:
        plain.sendall(request % (len(LINE), LINE))
        assert not plain.recv(4096).startswith(b"HTTP")


def test_a_certificate_that_is_none_is_said_at_once(tmp_path: Path, certificate: tuple[Path, Path]) -> None:
    cert, key = map(str, certificate)
    for pair in ((str(tmp_path / "none"), key), (key, key), (cert, cert)):
        given = Settings.model_validate({"receive": {"tls_certificate": pair[0], "tls_key": pair[1]}})
        with pytest.raises(CertificateUnusable, match="cannot be used"):
            tls_of("receive", given.receive, given.base)
    (tmp_path / "goodput.toml").write_text('[receive]\ntls_certificate = "cert.pem"\n')
    with pytest.raises(SettingsError, match="both tls_certificate and tls_key"):
        load_settings(tmp_path / "goodput.toml")
