"""`goodput connect` as a command: what it prints, how it ends, and what it may reach."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from collect.telemetry import CHAT
from connect.bytes import ACME, call, runner, scoped, write
from goodput.collect.otlp import gather
from goodput.connect import fetch, look

Run = Callable[..., Any]
METRICS = '# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{model_name="m"} 3\nmine 1\n'


@pytest.fixture
def goodput(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(tmp_path, monkeypatch, capsys)


def test_it_prints_tables_and_settings_and_writes_nothing(goodput: Run, tmp_path: Path) -> None:
    write(tmp_path / "in/a.jsonl", scoped("acme", "1", *(call(n, CHAT) for n in range(2))))
    ended = goodput("connect", "in")
    assert ended.returncode == 0
    lines = [line.rstrip() for line in ended.stdout.splitlines()]
    assert lines[0] == "in: 1 file of 1 looked at"
    assert "genai    acme   1        client        2  0 %      0 %    0 %" in ended.stdout
    assert lines[-3:] == [f'landing = ["{tmp_path}/in"]', 'lake = "lake"', ""]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]


def test_it_looks_at_the_folder_that_one_stands_in(goodput: Run, tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", scoped("acme", "1", call(0, CHAT)))
    ended = goodput("connect", ".")
    assert ended.returncode == 0
    assert f'landing = ["{tmp_path}"]' in ended.stdout.splitlines()


def test_json_holds_every_finding(goodput: Run, tmp_path: Path) -> None:
    write(tmp_path / "in/a.jsonl", scoped("acme", "1", call(0, CHAT), call(1, ACME, name="acme")))
    found = json.loads(goodput("connect", "in", "--format", "json").stdout)
    assert found["emitters"][0]["records"] == 1
    assert found["files"][0]["ignored"] == {"span_is_no_request": 1}
    assert found["unread_calls"][0]["attributes"][0]["distinct_values"] == 1


def test_settings_that_are_there_are_used(goodput: Run, tmp_path: Path) -> None:
    write(tmp_path / "in/a.jsonl", scoped("acme", "1", call(0, {"acme.model": "m"}, name="acme")))
    (tmp_path / "goodput.toml").write_text(
        '[dialects.acme]\nlayer = "client"\nmatch = { name = "acme" }\nfields = { model = "acme.model" }\n'
    )
    assert "dialects.acme" in goodput("connect", "in").stdout


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "0 files of 0 looked at"),  # an empty folder
        (b"\x00\x01\xfe\xff" * 5000, "neither OTLP nor any format"),
        (b"\x1f\x8b\x08broken", "does not look like OTLP"),
        (b"", "1 file of 1 looked at"),
        (b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "' + b"x" * 5000 + b'"}]}]}]}\n', "line_unreadable"),
    ],
    ids=["empty folder", "binary", "damaged gzip", "empty file", "huge line"],
)
def test_nothing_readable_ends_with_1(goodput: Run, tmp_path: Path, content: bytes | None, expected: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "goodput.toml").write_text("[limits]\nmax_line_bytes = 1000\n[receive]\nmax_body_bytes = 1000\n")
    if content is not None:
        (tmp_path / "in/file").write_bytes(content)
    ended = goodput("connect", "in")
    assert ended.returncode == 1
    assert expected in ended.stdout
    why = "there is no file in it yet." if content is None else "nothing in it can be read."
    assert f"in: {why}" in ended.stderr


def test_a_link_that_leads_nowhere_is_remarked(goodput: Run, tmp_path: Path) -> None:
    write(tmp_path / "in/a.jsonl", scoped("acme", "1", call(0, CHAT)))
    (tmp_path / "in/lost").symlink_to(tmp_path / "nowhere")
    ended = goodput("connect", "in")
    assert ended.returncode == 0
    assert "is a link that leads nowhere" in ended.stdout


def test_what_is_not_there_is_bad_usage(goodput: Run) -> None:
    ended = goodput("connect", "nowhere")
    assert ended.returncode == 2
    assert "nowhere: is not there." in ended.stderr


def test_names_cannot_steer_the_terminal(goodput: Run, tmp_path: Path) -> None:
    hostile = "\x1b]0;owned\x07\x9b2J"
    attributes = {f"llm.{hostile}tokens": 1, "session_id": "x", f"{hostile}.user.id": "x"}
    known = call(1, {**CHAT, "gen_ai.request.model": f"m{hostile}", f"{hostile}.session_id": "x"})
    write(tmp_path / "in/a.jsonl", scoped(f"s{hostile}", hostile, call(0, attributes, name=f"n{hostile}"), known))
    write(tmp_path / f"in/{hostile[:2]}.jsonl", json.dumps({hostile: 1}))
    ended = goodput("connect", "in")
    assert ended.returncode == 0
    assert not [letter for letter in ended.stdout + ended.stderr if not letter.isprintable() and letter != "\n"]
    assert "\\x1b]0;owned" in ended.stdout


def test_a_sample_says_that_it_is_one(goodput: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "in/a.jsonl", *(scoped("acme", "1", call(n, {**CHAT, "x": "y" * 4000})) for n in range(4000)))
    assert "This is a sample" not in goodput("connect", "in").stdout
    monkeypatch.setattr(gather, "_ROWS_AT_ONCE", 100)
    monkeypatch.setattr(look, "USUAL", look.Bounds(rows_of_a_file=10))
    ended = goodput("connect", "in")
    assert "This is a sample" in ended.stdout
    assert "looked at in part" in ended.stdout


@pytest.fixture
def served() -> Iterator[Callable[..., str]]:
    """Serves one answer at an address of this machine."""
    servers: list[HTTPServer] = []

    def serve(body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> str:
        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                time.sleep(float((headers or {}).get("Delay", 0)))
                self.send_response(status)
                for name, value in (headers or {"Content-Length": str(len(body))}).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                return

        server = HTTPServer(("127.0.0.1", 0), Answer)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}"

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


def test_a_metrics_endpoint_is_read_once(goodput: Run, served: Callable[..., str], tmp_path: Path) -> None:
    url = served(METRICS.encode()) + "/metrics"
    ended = goodput("connect", "--allow-private", url, "--format", "json")
    assert ended.returncode == 0
    found = json.loads(ended.stdout)
    assert found["beside"]["engine metrics"] == {"rows": 1, "remark": "vllm"}
    assert found["unknown_metrics"] == ["mine"]
    assert list(tmp_path.iterdir()) == []


def test_a_file_behind_a_url_is_read_like_a_file(goodput: Run, served: Callable[..., str]) -> None:
    url = served(scoped("acme", "1", call(0, CHAT)).encode() + b"\n") + "/exports/traces.jsonl?day=1"
    found = json.loads(goodput("connect", "--allow-private", url, "--format", "json").stdout)
    assert found["files"][0]["path"] == "traces.jsonl"
    assert found["emitters"][0]["scope"] == "acme"


def test_addresses_inside_are_refused_unless_they_are_allowed(goodput: Run, served: Callable[..., str]) -> None:
    url = served(METRICS.encode())
    ended = goodput("connect", url)
    assert ended.returncode == 2
    assert "--allow-private for an address of your own" in ended.stderr
    ended = goodput("connect", "--allow-private", "http://169.254.169.254/latest/meta-data")
    assert ended.returncode == 2
    assert "metadata service" in ended.stderr


@pytest.mark.parametrize(
    ("status", "headers", "expected"),
    [
        (404, None, "answered 404"),
        (302, {"Location": "http://127.0.0.1:1/"}, "answered 302 (redirects are not followed: give the final url)"),
        (200, {"Content-Length": "50"}, "the answer breaks off after 30 bytes"),
        (200, {"Delay": "1"}, "no answer within 0.3 s"),
        (200, {}, "answers more than 20 bytes"),
    ],
)
def test_an_answer_that_is_none_is_refused(  # noqa: PLR0917
    goodput: Run,
    served: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    status: int,
    headers: dict[str, str] | None,
    expected: str,
) -> None:
    monkeypatch.setattr(fetch, "TOTAL_S", 0.3)
    monkeypatch.setattr(fetch, "MAX_BYTES", 20 if headers == {} else 2000)
    ended = goodput("connect", "--allow-private", served(b"x" * 30, status, headers))
    assert ended.returncode == 2
    assert expected in ended.stderr
