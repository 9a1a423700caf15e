"""One attempt against a receiver that plays every failure, and what each answer leads to."""

import base64
import errno
import hashlib
import hmac
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from goodput.notify.senders import Sender, SendResult
from goodput.settings.channels import Channel
from notify.receiver import HUGE_TAKEN, Play, Script, drip, hang, huge, receiving, reset, self_signed

OLD, NEW = (f"whsec_{base64.b64encode(bytes(range(n, n + 32))).decode()}" for n in (0, 100))
BODY = '{"text":"p99 überall ✓"}'.encode()


def channel(port: int, **options: Any) -> Channel:
    url = f"http://127.0.0.1:{port}/hooks/alarms"
    given = {"kind": "webhook", "url": url, "allow_private": True, "timeout_s": 10.0, **options}
    return Channel.model_validate(given)


def sent(*plays: int | tuple[int, dict[str, str]] | Play, **options: Any) -> tuple[SendResult, Script]:
    script = Script(list(plays))
    with receiving(script) as port:
        return Sender(channel(port, **options), Path()).send("msg-1", BODY, time.time_ns()), script


@pytest.mark.parametrize("status", [200, 202, 204])
def test_what_is_taken_is_delivered(status: int) -> None:
    outcome, script = sent(status)
    assert outcome == SendResult(True, status)
    assert (script.got[0].path, script.got[0].body) == ("/hooks/alarms", BODY)


@pytest.mark.parametrize(
    ("play", "final"),
    [
        *((status, False) for status in (500, 503, 429, 408, 401, 404, 301)),
        *((status, True) for status in (400, 410, 422)),
    ],
)
def test_what_is_refused_is_tried_again_unless_the_same_would_be_refused_again(play: int, final: bool) -> None:
    outcome, script = sent(play)
    assert (outcome.delivered, outcome.http_status, outcome.final) == (False, play, final)
    assert f"answered {play}" in str(outcome.error)
    assert len(script.got) == 1


def test_a_redirect_is_not_followed() -> None:
    elsewhere = Script()
    with receiving(elsewhere) as other:
        outcome, script = sent((307, {"Location": f"http://127.0.0.1:{other}/"}))
    assert not outcome.delivered
    assert "give the final url" in str(outcome.error)
    assert (len(script.got), len(elsewhere.got)) == (1, 0)


@pytest.mark.parametrize(("play", "expected"), [(hang, "no answer"), (drip, "no answer"), (reset, "reset")])
def test_a_receiver_that_does_not_answer_is_left_in_time(play: Play, expected: str) -> None:
    began = time.monotonic()
    outcome, _ = sent(play, timeout_s=0.5)
    assert (outcome.delivered, outcome.final) == (False, False)
    assert expected in str(outcome.error)
    assert time.monotonic() - began < 2.5  # and the receiver's own end


def test_of_an_endless_answer_little_is_read() -> None:
    HUGE_TAKEN.clear()
    outcome, _ = sent(huge)
    assert outcome == SendResult(True, 200)
    deadline = time.monotonic() + 2
    while not HUGE_TAKEN and time.monotonic() < deadline:
        time.sleep(0.01)
    assert HUGE_TAKEN[0] < 16_000_000  # the 64 KiB that were read, and what the sockets hold


def test_nothing_that_listens() -> None:
    with receiving(Script()) as port:
        pass
    outcome = Sender(channel(port), Path()).send("msg-1", BODY, 0)
    assert (outcome.delivered, outcome.final, outcome.error) == (
        *(False, False),
        "ConnectionRefusedError: Connection refused",
    )


def test_what_the_receiver_asks_for_is_handed_on() -> None:
    outcome, _ = sent((429, {"Retry-After": "7"}))
    assert outcome.retry_after == "7"


def test_signatures_are_those_of_standard_webhooks_by_each_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_SECRET_OLD", OLD)
    monkeypatch.setenv("HOOK_SECRET_NEW", NEW)
    _, script = sent(signing_secrets=[{"env": "HOOK_SECRET_OLD"}, {"env": "HOOK_SECRET_NEW"}])
    got = script.got[0]
    for secret in (OLD, NEW):
        assert Webhook(secret).verify(got.body, got.headers) == {"text": "p99 überall ✓"}
    with pytest.raises(WebhookVerificationError):
        Webhook("whsec_" + base64.b64encode(bytes(32)).decode()).verify(got.body, got.headers)
    key = base64.b64decode(OLD.removeprefix("whsec_"))
    signed = f"msg-1.{got.headers['webhook-timestamp']}.".encode() + BODY
    by_hand = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert got.headers["webhook-signature"].split(" ")[0] == f"v1,{by_hand}"
    assert got.headers["webhook-id"] == "msg-1"


def test_the_example_of_the_standard() -> None:
    """The worked example in the reference implementation's documentation."""
    from goodput.notify.sign import signed_headers  # noqa: PLC0415

    headers = signed_headers(
        "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}', ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]
    )
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize(
    ("secret", "wrong"),
    [
        ({"env": "NO_SUCH_VARIABLE"}, "no variable NO_SUCH_VARIABLE"),
        ({"file": "nowhere"}, "cannot be read"),
        ({"clear": "whsec_dG9vIHNob3J0"}, "24 to 64 random bytes"),
        ({"clear": "hunter2hunter2hunter2hunter2"}, "24 to 64 random bytes"),
    ],
)
def test_a_secret_that_is_not_one_is_reported_and_not_shown(secret: dict[str, str], wrong: str) -> None:
    outcome, script = sent(signing_secrets=[secret])
    assert not outcome.delivered
    assert not outcome.final
    assert wrong in str(outcome.error)
    assert "hunter2" not in str(outcome.error)
    assert not script.got


TOKEN = "xoxb-9Kq7ZtP2mWv4R8sLdY6h"
HOOK = "/services/T0C4NARY/B0C4NARY/qZx8vN3kLmT5wRy7"


def echoing(answer: str) -> Play:
    def play(connection: Any) -> None:
        body = answer.encode()
        connection.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

    return play


ECHOES = {
    "as it is": f"no such token {TOKEN}",
    "the url": f"POST http://127.0.0.1{HOOK}?key={TOKEN} is unknown",
    "encoded": f"unknown {HOOK.replace('/', '%2F')} {''.join(f'%{ord(c):02x}' for c in TOKEN)}",
    "header": f"Authorization: Bearer {TOKEN}",
    "json": json.dumps({"error": {"path": HOOK, "token": TOKEN}}),
    "json escaped": json.dumps({"error": HOOK}).replace("/", "\\\\/"),
    "masked": f"token {TOKEN[:8]}***** is revoked",
    "the end of it": f"token ends in {TOKEN[-4:]}",
    "the middle of it": f"token (...{TOKEN[9:16]}...)",
    "lower case": f"invalid {TOKEN.lower()} {HOOK.lower()}",
    "spaced": " ".join(TOKEN),
    "in pieces": "-".join(TOKEN[n : n + 3] for n in range(0, len(TOKEN), 3)),
    "base64": base64.b64encode(TOKEN.encode()).decode(),
    "hex": TOKEN.encode().hex(),
    "basic": "Basic " + base64.b64encode(f"user:{TOKEN}".encode()).decode(),
    "the signing secret": f"cannot verify with {OLD}",
    "the key itself": base64.b64decode(OLD.removeprefix("whsec_")).hex(),
    "a part of the path": f"no hook {HOOK.rpartition('/')[2]} in {HOOK.split('/')[2]}",
}


def shared(error: str, secret: str) -> int:
    """The longest run of letters and digits that a text has in common with a secret, cases apart."""
    text, key = ("".join(c for c in of.lower() if c.isalnum()) for of in (error, secret))
    return max(n for n in range(len(key) + 1) if any(key[i : i + n] in text for i in range(len(key) - n + 1)))


@pytest.mark.parametrize("way", ECHOES)
def test_what_a_receiver_echoes_of_a_secret_is_not_kept(way: str) -> None:
    script = Script([echoing(ECHOES[way])])
    with receiving(script) as port:
        url = {"clear": f"http://127.0.0.1:{port}{HOOK}"}
        outcome = Sender(
            channel(port, url=url, bearer_token={"clear": TOKEN}, signing_secrets=[{"clear": OLD}]), Path()
        ).send("msg-1", BODY, 0)
    assert str(outcome.error).startswith("answered 403")
    for secret in (TOKEN, HOOK.rpartition("/")[2], OLD.removeprefix("whsec_"), "T0C4NARY"):
        encoded = base64.b64encode(secret.encode()).decode()
        assert max(shared(str(outcome.error), form) for form in (secret, encoded, secret.encode().hex())) < 4


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ("invalid_blocks", "invalid_blocks"),
        ("no such key: R0UTINGKEY", "no such key ***"),
        ("Bad Request: field 'summary' is missing, line 12", "Bad Request field 'summary' is missing line 12"),
        ('{"status":"error","message":"start time must be before end time"}',
         "status error message start time must be before end time"),
        ("<html><title>502 Bad Gateway</title></html>", "html title 502 Bad Gateway /title /html"),
    ],
)  # fmt: skip
def test_what_a_receiver_says_in_words_is_kept(answer: str, kept: str) -> None:
    outcome, script = sent(echoing(answer), kind="pagerduty", routing_key={"clear": "R0UTINGKEY"})
    assert json.loads(script.got[0].body)["routing_key"] == "R0UTINGKEY"
    assert outcome.error == f"answered 403: {kept}"


def test_a_secret_in_a_file_is_read_for_each_attempt(tmp_path: Path) -> None:
    script = Script()
    (tmp_path / "token").write_text("first\n")
    with receiving(script) as port:
        sender = Sender(channel(port, bearer_token={"file": "token"}), tmp_path)
        sender.send("a", BODY, 0)
        (tmp_path / "token").write_text("second")
        sender.send("b", BODY, 0)
    assert [got.headers["authorization"] for got in script.got] == ["Bearer first", "Bearer second"]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for alarms.example with its key in one file."""
    return self_signed(tmp_path_factory.mktemp("tls"), "DNS:alarms.example")


@pytest.mark.parametrize(
    ("host", "trusted", "delivered", "expected"),
    [
        ("alarms.example", True, True, "None"),
        ("other.example", True, False, "certificate is not valid for 'other.example'"),
        ("alarms.example", False, False, "CERTIFICATE_VERIFY_FAILED"),
    ],
)
def test_the_certificate_is_that_of_the_name_not_of_the_address(
    certificate: Path, host: str, trusted: bool, delivered: bool, expected: str
) -> None:
    script = Script()
    with receiving(script, certificate) as port:
        trust = {"ca_file": str(certificate)} if trusted else {}
        given = {"kind": "webhook", "url": f"https://{host}:{port}/", "allow_private": True, **trust}
        outcome = Sender(Channel.model_validate(given), Path(), lambda name, port: ["127.0.0.1"]).send("id", b"{}", 0)
    assert outcome.delivered == delivered
    assert expected in str(outcome.error) or expected.lower() in str(outcome.error).lower()
    assert len(script.got) == delivered


def test_no_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setitem(os.environ, name, "http://127.0.0.1:9")
    assert sent(200)[0].delivered


def test_lines_go_to_a_file_and_a_torn_one_is_left_alone(tmp_path: Path) -> None:
    sender = Sender(Channel.model_validate({"kind": "file", "path": "alarms/log.jsonl"}), tmp_path)
    assert sender.send("a", b'{"a":1}\n', 0).delivered
    with (tmp_path / "alarms/log.jsonl").open("a") as torn:
        torn.write('{"b":')
    assert sender.send("c", b'{"c":3}\n', 0).delivered
    assert (tmp_path / "alarms/log.jsonl").read_text() == '{"a":1}\n{"b":\n{"c":3}\n'


def test_a_disk_that_takes_a_part_of_a_line_has_not_taken_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """write(2) takes what there is room for; the rest of the line has to be offered again, and that fails."""
    room, write = [5], os.write

    def nearly_full(descriptor: int, data: bytes) -> int:
        if not room:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data[: room.pop()])

    sender = Sender(Channel.model_validate({"kind": "file", "path": "log.jsonl"}), tmp_path)
    with monkeypatch.context() as full:
        full.setattr(os, "write", nearly_full)
        outcome = sender.send("a", b'{"a":1}\n', 0)
    assert (outcome.delivered, outcome.error) == (False, "OSError: No space left on device")
    assert sender.send("a", b'{"a":1}\n', 0).delivered
    assert (tmp_path / "log.jsonl").read_text() == '{"a":\n{"a":1}\n'


def test_a_picture_that_slack_cannot_fetch_costs_the_picture_and_not_the_message() -> None:
    """It refuses the whole message: invalid_blocks, "downloading image failed"."""
    header = {"type": "header", "text": {"type": "plain_text", "text": "p99"}}
    shown = {"text": "p99", "blocks": [header, {"type": "image", "image_url": "https://x/y.png", "alt_text": "p99"}]}
    for plays, delivered, bodies in (
        ([400], True, [shown, {**shown, "blocks": [header]}]),
        ([400, 400], False, [shown, {**shown, "blocks": [header]}]),
        ([500], False, [shown]),
    ):
        script = Script(list(plays))
        with receiving(script) as port:
            url = {"clear": f"http://127.0.0.1:{port}/"}
            slack = Channel.model_validate({"kind": "slack", "url": url, "allow_private": True})
            outcome = Sender(slack, Path()).send("a", json.dumps(shown).encode(), 0)
        assert outcome.delivered is delivered
        assert [json.loads(got.body) for got in script.got] == bodies


def test_a_ca_file_that_is_not_there_is_named() -> None:
    given = {"kind": "webhook", "url": "https://127.0.0.1:9/", "allow_private": True, "ca_file": "none.pem"}
    outcome = Sender(Channel.model_validate(given), Path("/etc")).send("a", b"{}", 0)
    assert "ca_file /etc/none.pem cannot be used: No such file" in str(outcome.error)


def test_a_missing_secret_is_reported_before_anybody_is_looked_up() -> None:
    def nobody(host: str, port: int) -> list[str]:
        raise AssertionError(host)

    given = {"kind": "pagerduty", "routing_key": {"env": "NO_SUCH_VARIABLE"}}
    outcome = Sender(Channel.model_validate(given), Path(), nobody).send("a", b"{}", 0)
    assert "no variable NO_SUCH_VARIABLE" in str(outcome.error)


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    outcome = Sender(Channel.model_validate({"kind": "file", "path": "a/b"}), tmp_path).send("a", b"{}\n", 0)
    assert (outcome.delivered, outcome.final) == (False, False)
