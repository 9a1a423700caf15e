"""`goodput receive` as a process: how it starts, how it ends, and what is left when it is killed."""

import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.client import HTTPException
from pathlib import Path

import pytest

from receive.sender import CONTINUE, PROTOBUF, Sender, eventually, landed, span_ids, spans

MAIN = [sys.executable, "-c", "from goodput.cli.main import main; main()", "receive"]
Start = Callable[..., tuple[subprocess.Popen[str], Sender]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[tuple[subprocess.Popen[str], Sender]] = []

    def begin(largest_file_bytes: int | None = None) -> tuple[subprocess.Popen[str], Sender]:
        limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({largest_file_bytes},) * 2); "
        command = [MAIN[0], MAIN[1], (limit if largest_file_bytes else "") + MAIN[2], *MAIN[3:]]
        command += ["--landing", str(tmp_path), "--port", "0", "--no-grpc"]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
        assert process.stderr
        port = re.search(r"http://127\.0\.0\.1:(\d+)", process.stderr.readline())
        assert port
        process.stderr.readline()
        started.append((process, Sender(int(port[1]))))
        return started[-1]

    yield begin
    for process, sender in started:
        sender.connection.close()
        process.kill()
        process.communicate()


def test_what_was_acknowledged_survives_a_kill(start: Start, tmp_path: Path) -> None:
    process, first = start()
    acknowledged: list[str] = []

    def load() -> None:
        with Sender(first.port) as sender:
            try:
                while True:
                    batch = spans(5)
                    if sender.send(batch.SerializeToString(), content_type=PROTOBUF).status == 200:
                        sent = batch.resource_spans[0].scope_spans[0].spans
                        acknowledged.extend(span.span_id.hex() for span in sent)
            except (OSError, HTTPException):
                return

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert eventually(lambda: len(acknowledged) > 200)
    process.kill()
    for thread in threads:
        thread.join()
    assert set(acknowledged) <= set(span_ids(landed(tmp_path)))


def test_a_request_under_way_is_finished_before_a_clean_end(start: Start, tmp_path: Path) -> None:
    process, sender = start()
    body = spans(2).SerializeToString()
    sender.connection.putrequest("POST", "/v1/traces")
    sender.connection.putheader("content-type", PROTOBUF)
    sender.connection.putheader("content-length", str(len(body)))
    sender.connection.putheader("expect", "100-continue")
    sender.connection.endheaders()
    assert sender.connection.sock.recv(len(CONTINUE)) == CONTINUE
    sender.connection.send(body[:10])
    process.send_signal(signal.SIGTERM)
    time.sleep(0.2)
    sender.connection.send(body[10:])
    assert sender.connection.getresponse().status == 200
    _, said = process.communicate(timeout=10)
    assert process.returncode == 0
    assert said.startswith("stopped: 1 request(s) accepted (2 spans,")
    assert len(span_ids(landed(tmp_path))) == 2


def test_a_write_beyond_the_largest_file_is_refused_and_cut_off(start: Start, tmp_path: Path) -> None:
    _, sender = start(largest_file_bytes=4000)
    batches = [spans(40).SerializeToString() for _ in range(3)]  # of about 2.4 kB
    answers = [sender.send(batch, content_type=PROTOBUF) for batch in batches]
    assert [answer.status for answer in answers] == [200, 503, 200]
    assert int(answers[1].headers["retry-after"]) > 0
    read = landed(tmp_path)
    assert [(len(outcome.spans), outcome.reader.torn_tail_bytes) for outcome in read] == [(40, 0), (40, 0)]


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        (["--host", "0.0.0.0"], "whoever reaches this machine could send telemetry"),
        (["--token-file", "empty"], "empty: no token"),
        (["--token-file", "nowhere"], "nowhere: cannot be read"),
    ],
)
def test_it_does_not_start_where_it_would_not_be_safe(tmp_path: Path, given: list[str], wrong: str) -> None:
    (tmp_path / "empty").write_text("\n")
    refused = run(*given, cwd=tmp_path)
    assert refused.returncode == 2
    assert wrong in refused.stderr
    assert not (tmp_path / "landing").exists()


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*MAIN, *arguments], capture_output=True, text=True, check=False, timeout=30, cwd=cwd)
