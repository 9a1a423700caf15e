"""Live pages over HTTP: who is answered, with what, and what no address can do."""

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import duckdb
import pytest

from goodput.errors import TokenUnusable
from goodput.listen import http_server
from goodput.listen.token import read_token
from goodput.serve import answers, report_page
from serve.conftest import HOSTILE
from serve.served import Served, serving

MAIN = [sys.executable, "-c", "from goodput.cli.main import main; main()", "serve"]
TOKEN = "0123456789abcdef"


def basic(password: str) -> str:
    return f"Basic {b64encode(f'anyone:{password}'.encode()).decode()}"


@pytest.mark.parametrize("path", ["/", "/requests", "/alarms", "/generation", "/metrics", "/healthz", "/nothing"])
def test_every_answer_has_the_headers_of_security(served: Served, path: str) -> None:
    for method in ("GET", "HEAD"):
        answer = served.get(path, method)
        assert answer.status == (404 if path == "/nothing" else 200)
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert "server" not in answer.headers
        assert (answer.text == "") == (method == "HEAD")


def test_prometheus_scrapes_what_the_command_prints(served: Served, lake: Path) -> None:
    answer = served.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    printed = subprocess.run(
        [*MAIN[:-1], "export", "prometheus", "--lake", str(lake)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert sorted(answer.text.splitlines()) == sorted(printed.splitlines())
    assert len(printed.splitlines()) > 100
    assert served.get("/metrics").text == answer.text, "and again, on the same database"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"])
def test_nothing_can_be_changed(served: Served, method: str) -> None:
    answer = served.get("/requests", method)
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        *(("localhost", 200), ("LOCALHOST:1", 200), ("127.0.0.1", 200), ("[::1]:8787", 200), ("192.0.2.7:80", 200)),
        *(("goodput.example.com", 200), ("attacker.example", 421), ("127.0.0.1.attacker.example", 421)),
        *(("localhost@attacker.example", 421), ("localhost.attacker.example:8787", 421), ("", 421)),
        *((f"localhost:{port}", 421) for port in ("8787@attacker.example", "80, attacker.example", "", "x", "8787/")),
        *((name, 421) for name in ("[::1", "[::1]x", "[::1]:80@x", "::1", "127.0.0.1, localhost", "a@localhost")),
    ],
)
def test_a_name_that_is_not_ours_is_refused(lake: Path, host: str, status: int) -> None:
    with serving(lake, hosts=["goodput.example.com"]) as served:
        assert served.get("/generation", host=host).status == status


def test_without_the_token_nothing_is_told(lake: Path) -> None:
    with serving(lake, TOKEN) as served:
        for given in ("", "Bearer", f"Bearer {TOKEN}x", f"bearer {TOKEN}", basic("x"), "Basic !", f"Basic {TOKEN}"):
            for path in ("/", "/requests", "/alarms/a1b2c3d4e5f6/series.png", "/generation", "/nothing"):
                answer = served.get(path, authorization=given)
                assert answer.status == 401, (given, path)
                assert answer.headers["www-authenticate"].startswith("Basic ")
                assert "chat" not in answer.text
        for given in (f"Bearer {TOKEN}", basic(TOKEN)):
            assert served.get("/requests", authorization=given).status == 200
        assert json.loads(served.get("/healthz").text) == {"status": "ok", "published": True}


def test_the_report_is_made_once_for_all_who_ask_at_the_same_time(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    write = report_page.write_report
    monkeypatch.setattr(report_page, "write_report", lambda *given: made.append("page") or write(*given))
    with serving(lake) as served, ThreadPoolExecutor(8) as readers:
        answers = list(readers.map(lambda _: served.get("/"), range(16)))
        assert {answer.status for answer in answers} == {200}
        assert len({answer.text for answer in answers}) == len(made) == 1
        known = served.get("/", if_none_match=f'"x", W/{answers[0].headers["etag"]}')
        assert (known.status, known.text) == (304, "")
        assert served.get("/", if_none_match='"x"').status == 200


@pytest.mark.parametrize(
    "path",
    [
        *("/../../etc/passwd", "/requests/../../../etc/passwd", "/requests/..%2f..%2fetc%2fpasswd", "/%2e%2e/x"),
        *("/alarms/..%2f..%2fgoodput.toml", "/static/page.js", "/assets/shell.html", "//etc/passwd", "/requests/%00"),
        *("/requests/' OR 1=1 --".replace(" ", "%20"), "/alarms/%25", "/alarms/_", "/alarms/%27%20OR%20true%20--"),
        *("/requests/%ff", "/alarms/%ff", "/requests/", "/alarms/"),
    ],
)
def test_no_address_leads_out_of_the_pages(served: Served, path: str) -> None:
    answer = served.get(path)
    assert answer.status in {400, 404, 307}, answer.text
    assert "root:" not in answer.text
    assert "landing" not in answer.text


@pytest.mark.parametrize(
    "query",
    [
        "workload=' OR '1'='1",
        "workload=chat' UNION SELECT * FROM goodput --",
        "route=$from_at",
        "tenant=x'); COPY (SELECT 1) TO '/tmp/x",
        "attributes.a\"b'c=x",
        "attributes.=x",
        "attributes.$[*]=x",
        "attributes.\\=x",
        "after=2026-11-20T09:00:00Z ' OR true --",
        "model=\x00",
        "pool=" + "x" * 20_000,
    ],
)
def test_a_value_is_never_sql(served: Served, query: str) -> None:
    name, _, value = query.partition("=")
    answer = served.get(f"/requests?from=2026-11-20&until=2026-11-21&{quote(name)}={quote(value)}")
    assert answer.status in {200, 400}, answer.text
    if answer.status == 200 and name != "after":
        assert ">0 requests" in answer.text


def test_a_request_says_what_explain_says(lake: Path, served: Served) -> None:
    with duckdb.connect(lake / "goodput.duckdb", read_only=True) as connection:
        ((key, attempt),) = connection.execute(
            "SELECT request_key, delivering_attempt_id FROM requests WHERE verdict = 'slow' ORDER BY ALL LIMIT 1"
        ).fetchall()
    command = [*MAIN[:3], "explain", key, "--lake", str(lake)]
    wide = {**os.environ, "COLUMNS": "2000"}
    told = subprocess.run(command, capture_output=True, text=True, check=True, env=wide).stdout
    for asked in (key, attempt):
        page = served.get(f"/requests/{quote(asked, safe='')}").text
        headline, *others = told.splitlines()
        assert headline.replace("'", "&#39;") in page
        for word in {word for line in others for word in line.split("  ") if word.strip("─ ")}:
            assert word.strip().replace("'", "&#39;") in page, word


def test_what_is_not_there_is_said(served: Served) -> None:
    assert "no request, attempt" in served.get("/requests/nothing").text
    assert "no alarm is called" in served.get("/alarms/nothing").text
    assert served.get("/alarms/nothing/series.png").status == 404
    assert served.get("/requests?from=yesterday").status == 400


def test_a_choice_that_is_given_twice_is_refused_and_not_half_of_it_shown(served: Served) -> None:
    day = "from=2026-11-20&until=2026-11-21"
    twice = served.get(f"/requests?{day}&pool=chat&pool=rag")
    assert twice.status == 400
    assert "pool chat and pool rag: a choice has one value" in twice.text
    assert served.get(f"/requests?{day}&from=2026-11-19").status == 400
    for alike in ("pool=chat&pool=chat", "pool=&pool=chat"):
        assert served.get(f"/requests?{day}&{alike}").text == served.get(f"/requests?{day}&pool=chat").text


def test_an_alarm_shows_its_evidence(served: Served) -> None:
    listed = served.get("/alarms").text
    assert '<a href="/alarms/a1b2c3d4e5f6">' in listed
    page = served.get("/alarms/a1b2c3d4e5f6").text
    for part in ("p99 of ttft of chat is twice its usual 0.6 s", "slope_ratio_per_h", "SELECT 1 &lt; 2", "firing"):
        assert part in page
    assert "/requests?from=2026-11-20T09%3A00%3A00Z&amp;until=2026-11-20T10%3A00%3A00Z&amp;pool=chat" in page
    picture = served.get("/alarms/a1b2c3d4e5f6/series.png")
    assert picture.body.startswith(b"\x89PNG")
    assert picture.headers["content-type"] == "image/png"


def test_names_of_telemetry_are_text(served: Served) -> None:
    for path in ("/alarms", "/alarms/ffffffffffff", f"/requests?pool={quote(HOSTILE)}", f"/requests/{quote(HOSTILE)}"):
        page = served.get(path).text
        assert "<img src=x" not in page
        assert "owned" in page
        assert page.count("<script>") == page.count("</script>") <= 1, "none but its own"


def test_before_anything_is_published_it_says_what_to_do_and_then_shows_it(lake: Path, tmp_path: Path) -> None:
    empty = tmp_path / "lake"
    with serving(empty) as served:
        for path in ("/", "/requests", "/alarms", "/generation"):
            answer = served.get(path)
            assert (answer.status, answer.headers["retry-after"]) == (503, "15")
            assert "goodput run" in answer.text
            assert 'http-equiv="refresh"' in answer.text
        assert json.loads(served.get("/healthz").text) == {"status": "ok", "published": False}
        empty.symlink_to(lake, target_is_directory=True)
        assert served.get("/").status == 200
        assert served.get("/requests").status == 200


def test_a_database_that_cannot_be_read_is_not_well(copy: Path) -> None:
    file = copy / "goodput.duckdb"
    with serving(copy) as served:
        assert served.get("/healthz").status == 200
        (copy / "next").write_bytes(b"no database" * 5000)
        os.replace(copy / "next", file)
        assert served.get("/healthz").status == 503
        assert served.get("/alarms").status == 500


def test_who_still_waits_when_the_server_stops_is_told_to_come_again(
    lake: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(http_server, "GRACE_S", 0)
    asked, done = threading.Event(), threading.Event()

    def slow(*_: object, **__: object) -> None:
        asked.set()
        done.wait(20)

    monkeypatch.setattr(answers, "alarms", slow)
    with ThreadPoolExecutor(1) as reader:
        with serving(lake) as served:
            waiting = reader.submit(served.get, "/alarms")
            assert asked.wait(20)
        answer = waiting.result(20)
        done.set()
    assert (answer.status, answer.headers["retry-after"]) == (503, "1")
    assert answer.text == "the server is stopping: ask again when it is back\n"
    assert not [record for record in caplog.records if record.exc_info], "no traceback"


@pytest.mark.parametrize("name", ["GOODPUT_SERVE_TOKEN", "GOODPUT_RECEIVE_TOKEN"])
def test_a_token_that_can_be_guessed_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, TOKEN)
    assert read_token(None, name) == TOKEN
    file = tmp_path / "token"
    file.write_text(f"{TOKEN[:15]}\n")
    with pytest.raises(TokenUnusable, match="a token of 15 characters can be guessed: it needs 16") as refused:
        read_token(file, name)
    assert str(file) in str(refused.value)


GENERATION = re.compile(r' data-generation="[^"]+"')


def test_answers_are_whole_while_runs_publish(copy: Path) -> None:
    """A hundred answers while the database is replaced; the list and its counts are of one generation."""
    file = copy / "goodput.duckdb"
    with serving(copy) as served, ThreadPoolExecutor(4) as readers:
        first = served.get("/generation").text
        asked = ["/alarms", "/requests?from=2026-11-20&until=2026-11-21", "/generation", "/alarms/a1b2c3d4e5f6"]
        under_way = [readers.submit(served.get, asked[n % 4]) for n in range(100)]
        replaced = 0
        while not under_way[-1].done():
            next_file = copy / "next"
            next_file.write_bytes(file.read_bytes())
            os.replace(next_file, file)
            replaced += 1
            time.sleep(0.1)  # opening one takes longer than replacing it: answers must come between
        answers = [one.result() for one in under_way]
        assert {answer.status for answer in answers} == {200}
        assert replaced > 5
        for path in (0, 1, 3):  # what is published is the same each time, and so is every answer but for its generation
            assert len({GENERATION.sub("", answer.text, count=1) for answer in answers[path::4]}) == 1
        assert len({answer.text for answer in answers[2::4]}) > 3
        assert served.get("/generation").text != first


def test_it_listens_beyond_this_machine_with_a_token_only(lake: Path, tmp_path: Path) -> None:
    command = [*MAIN, "--lake", str(lake), "--host", "0.0.0.0", "--port", "0"]
    environment = {name: value for name, value in os.environ.items() if name != "GOODPUT_SERVE_TOKEN"}
    refused = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert refused.returncode == 2
    assert "could read what is published" in refused.stderr
    assert "GOODPUT_SERVE_TOKEN" in refused.stderr
    environment["GOODPUT_SERVE_TOKEN"] = TOKEN
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=environment)
    try:
        assert process.stderr
        said = process.stderr.readline()
        port = int(said.rpartition(":")[2])
        assert TOKEN not in said
        assert Served(port).get("/alarms").status == 401
        assert Served(port).get("/alarms", authorization=basic(TOKEN)).status == 200
        process.terminate()
        assert process.wait(20) == 0
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.1", port), 5)
    finally:
        process.kill()
        process.communicate()
