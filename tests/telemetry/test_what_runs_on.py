"""What processes that run on report of themselves: the receiver and `goodput notify --watch`, interval by interval."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from goodput.cli import notify
from goodput.cli.main import app
from goodput.errors import OutboxUnusable
from goodput.notify import deliver as deliver_module
from goodput.plumbing.workspace import Workspace
from goodput.receive.files import LandingFiles
from goodput.run import run
from goodput.telemetry import recorder as _slow_to_import  # noqa: F401  (no part of what is timed here)
from goodput.telemetry import traced as traced_module
from notify.receiver import Script, hang
from receive.conftest import receiving
from receive.sender import PROTOBUF, Sender, eventually, spans
from telemetry.collector import Collector, collecting
from telemetry.test_a_run_tells import LINES, SETTINGS

MAIN = [sys.executable, "-c", "from goodput.cli.main import main; main()"]
BATCHES = [spans(3).SerializeToString(), spans(2).SerializeToString()]


@pytest.fixture(autouse=True)
def _rested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traced_module._Pause, "resting_until", 0.0)


def total(collector: Collector, name: str, **attributes: str) -> float:
    """Sum of a gauge over all intervals."""
    wanted = {f"goodput.{key}": value for key, value in attributes.items()}
    return sum(point.value for point in collector.points if (point.name, point.attributes) == (name, wanted))


def is_told(collector: Collector, requests: int) -> bool:
    return total(collector, "goodput.received.requests", outcome="accepted") == requests


def test_intervals_of_the_receiver_add_up_to_what_it_took_in_and_refused(tmp_path: Path) -> None:
    with collecting() as collector:
        endpoint = {"endpoint": collector.url}
        with receiving(tmp_path / "landing", telemetry=endpoint, interval_s=0.3) as receiver:
            sender = receiver.connect()
            assert sender.send(BATCHES[0], content_type=PROTOBUF).status == 200
            assert eventually(lambda: is_told(collector, 1))  # before its end
            assert sender.send(BATCHES[1], content_type=PROTOBUF).status == 200
            assert sender.send(b"{", path="/v1/logs").status == 400
    assert {(span.name, span.parent_id, span.error) for span in collector.spans} == {("goodput receive", b"", None)}
    assert len({span.trace_id for span in collector.spans}) == len(collector.spans) > 1
    assert sum(span.attributes["goodput.accepted"] for span in collector.spans) == 2
    assert sum(span.attributes["goodput.refused"] for span in collector.spans) == 1
    assert is_told(collector, 2)
    assert total(collector, "goodput.received.requests", outcome="refused") == 1
    assert total(collector, "goodput.received.records", signal="traces") == 5
    assert total(collector, "goodput.received.bytes") == sum(map(len, BATCHES))
    stored = [point.value for point in collector.points if point.name == "goodput.received.duration"]
    assert len(stored) == 2  # of intervals in which something came
    assert all(0 < seconds < 10 for seconds in stored)
    (record,) = collector.records
    attributes = {"goodput.status": 400, "goodput.requests": 1}
    assert (record.event, record.severity, record.attributes) == ("goodput.request.refused", "WARN", attributes)


def test_a_landing_zone_that_cannot_be_written_to_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(LandingFiles, "append", full)
    with (
        collecting() as collector,
        receiving(tmp_path / "landing", telemetry={"endpoint": collector.url}) as receiver,
    ):
        assert receiver.connect().send(BATCHES[0], content_type=PROTOBUF).status == 503
    (span,) = collector.spans
    assert (span.error, span.attributes["goodput.refused"]) == ("LandingUnwritable", 1)
    assert {record.event for record in collector.records} == {"goodput.request.refused", "goodput.landing.unwritable"}


def test_a_collector_that_hangs_delays_no_answer_and_the_end_by_its_budget(tmp_path: Path) -> None:
    with collecting(Script([hang] * 20)) as collector:
        endpoint = {"endpoint": collector.url, "run_budget_s": 0.5}
        with receiving(tmp_path / "landing", telemetry=endpoint, interval_s=0.1) as receiver:
            for _ in range(20):
                began_s = time.monotonic()
                assert receiver.connect().send(BATCHES[0], content_type=PROTOBUF).status == 200
                assert time.monotonic() - began_s < 1
                time.sleep(0.05)
            began_s = time.monotonic()
        assert time.monotonic() - began_s < 0.5 + 2  # a second for a busy machine, a second for the server itself


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_receiver_that_is_stopped_reports_the_rest(tmp_path: Path, stop: signal.Signals) -> None:
    with collecting() as collector:
        text = f'landing = ["landing"]\n[telemetry]\nendpoint = "{collector.url}"\n'
        (tmp_path / "goodput.toml").write_text(text)
        command = [*MAIN, "receive", "--port", "0", "--no-grpc"]
        with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr
            port = int(process.stderr.readline().partition("127.0.0.1:")[2].partition(",")[0])
            with Sender(port) as sender:
                assert sender.send(BATCHES[0], content_type=PROTOBUF).status == 200
            process.send_signal(stop)
            _, text = process.communicate(timeout=20)
    assert process.returncode == 0, text
    (span,) = collector.spans
    assert (span.name, span.attributes["goodput.accepted"]) == ("goodput receive", 1)
    assert collector.value("goodput.received.records", signal="traces") == 3


def watch(project: Path, monkeypatch: pytest.MonkeyPatch, rounds: int, fails: bool = False) -> Collector:
    """What `goodput notify --watch` reports that is interrupted after so many rounds, in intervals of about three."""
    deliver, done = deliver_module.deliver, []

    def interrupted(*given: object) -> object:
        done.append(1)
        if len(done) > rounds:
            raise KeyboardInterrupt
        if fails:
            raise OutboxUnusable(project / "outbox", "it is no database")
        return deliver(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(deliver_module, "deliver", interrupted)
    monkeypatch.setattr(notify, "INTERVAL_S", 0.6)
    monkeypatch.setattr(notify, "_PAUSE_S", 0.2)
    (project / "landing").mkdir()
    (project / "landing/rows.csv").write_text("\n".join(LINES) + "\n")
    (project / "goodput.toml").write_text(SETTINGS)
    run(Workspace(project / "goodput.toml"), deliver=False)
    with collecting() as collector:
        hook = (
            f'kind = "webhook"\nallow_private = true\nmatch = {{ severity = "none" }}\nurl = "{collector.url}/hook"\n'
        )
        own = f'[telemetry]\nendpoint = "{collector.url}"\n[channels.well]\n{hook}'
        (project / "goodput.toml").write_text(SETTINGS + own)
        CliRunner().invoke(app, ["notify", "--watch", "--config", str(project / "goodput.toml")])
    return collector


def test_rounds_of_deliveries_are_a_trace_an_interval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collector = watch(tmp_path, monkeypatch, 5)
    assert {(span.name, span.parent_id) for span in collector.spans} == {("goodput notify", b"")}
    whole, last = collector.spans[:-1], collector.spans[-1]
    assert len(whole) >= 1
    assert [span.error for span in whole] == [None] * len(whole)
    assert (last.error, last.attributes["goodput.exit"]) == ("KeyboardInterrupt", 130)
    enqueued = [span.attributes.get("goodput.enqueued", 0) for span in collector.spans]
    assert enqueued == [1] + [0] * len(whole)
    assert total(collector, "goodput.delivery.attempts", outcome="delivered") == 1
    assert total(collector, "goodput.delivery.attempts", outcome="failed") == 0
    assert total(collector, "goodput.deliveries", state="pending") == 0


def test_rounds_that_fail_are_their_intervals_status_and_one_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collector = watch(tmp_path, monkeypatch, 5, fails=True)
    assert {span.error for span in collector.spans[:-1]} == {"OutboxUnusable"}
    (record,) = collector.records
    assert (record.event, record.attributes["goodput.problem"]) == ("goodput.alarms.undelivered", "OutboxUnusable")
    assert str(tmp_path).encode() not in collector.bodies
