"""When telemetry is sent, where to, and that an ill collector costs a run no more than its budget and one line."""

import gc
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from unittest.mock import patch

import pytest

from goodput.errors import SettingsError
from goodput.plumbing.workspace import Workspace
from goodput.settings.load import load_settings
from goodput.settings.telemetry import OwnTelemetry
from goodput.telemetry import recorder as _slow_to_import  # noqa: F401  (no part of what is timed here)
from goodput.telemetry import traced as traced_module
from goodput.telemetry.traced import traced
from goodput.telemetry.wanted import wanted
from notify.receiver import Script, drip, hang, receiving, self_signed
from telemetry.collector import Collector, collecting

ROOT = Path(__file__).parents[2]
EVERYTHING = {"traces", "metrics", "logs"}
ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
PORT_OF_NOBODY = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def _rested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traced_module._Pause, "resting_until", 0.0)


@pytest.fixture
def own() -> Iterator[Collector]:
    with collecting() as collector:
        yield collector


def workspace(folder: Path, settings: str = "") -> Workspace:
    (folder / "goodput.toml").write_text(f"[telemetry]\n{settings}\n")
    return Workspace(folder / "goodput.toml")


def tell(at_work: Workspace) -> None:
    """A trace with a quantity and a record."""
    with traced(at_work, "goodput run"):
        at_work.telemetry.put("goodput.lag", 5)
        at_work.telemetry.record("warning", "one", "warning")


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Our own lines; those of libraries are kept from standard error, though not from pytest."""
    return [record.getMessage() for record in caplog.records if record.name.startswith("goodput")]


# Whether


@pytest.mark.parametrize(
    ("settings", "environ", "expected"),
    [
        ({}, {}, set()),
        ({"endpoint": PORT_OF_NOBODY}, {}, EVERYTHING),
        ({}, {ENDPOINT: PORT_OF_NOBODY}, EVERYTHING),
        ({}, {ENDPOINT: ""}, set()),
        ({}, {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": PORT_OF_NOBODY}, {"traces"}),
        ({}, {ENDPOINT: PORT_OF_NOBODY, "OTEL_METRICS_EXPORTER": "none"}, {"traces", "logs"}),
        ({}, {ENDPOINT: PORT_OF_NOBODY, "OTEL_METRICS_EXPORTER": "prometheus"}, {"traces", "logs"}),
        ({}, {"OTEL_LOGS_EXPORTER": "console,otlp"}, {"logs"}),
        ({"enabled": False}, {ENDPOINT: PORT_OF_NOBODY}, set()),
        ({"endpoint": PORT_OF_NOBODY}, {"OTEL_SDK_DISABLED": "true"}, set()),
        ({}, {ENDPOINT: PORT_OF_NOBODY, "OTEL_SDK_DISABLED": "TRUE"}, set()),
        ({}, {ENDPOINT: PORT_OF_NOBODY, "OTEL_SDK_DISABLED": "false"}, EVERYTHING),
    ],
)
def test_nothing_is_sent_unless_an_endpoint_is_named(
    settings: Mapping[str, object], environ: Mapping[str, str], expected: set[str]
) -> None:
    assert wanted(OwnTelemetry.model_validate(settings), environ) == expected


def test_disabled_is_stronger_than_the_endpoint_of_the_settings(
    tmp_path: Path, own: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    tell(workspace(tmp_path, f'endpoint = "{own.url}"'))
    assert not own.script.got


QUIET = """
import socket, sys
from pathlib import Path
def refuse(*_): raise AssertionError("connects")
socket.socket.connect = refuse
from goodput.plumbing.workspace import Workspace
from goodput.run import run
run(Workspace(Path("goodput.toml")))
print([name for name in sys.modules if name.split(".")[0] in ("opentelemetry", "requests")])
"""


@pytest.mark.parametrize("more", ["", '[telemetry]\nenabled = false\nendpoint = "http://127.0.0.1:9"\n'])
def test_a_run_that_nobody_listens_to_imports_no_sdk_and_connects_to_nothing(tmp_path: Path, more: str) -> None:
    (tmp_path / "landing").mkdir()
    (tmp_path / "goodput.toml").write_text(more)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "pipelines")}
    command = [sys.executable, "-c", QUIET]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# Where to


def test_the_variables_of_the_standard_are_honoured(
    tmp_path: Path, own: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        ENDPOINT: f"{own.url}/base/",
        "OTEL_EXPORTER_OTLP_HEADERS": "x-scope=one%20two,authorization=Basic%20abc",
        "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": f"{own.url}/elsewhere/v1/logs",
        "HTTP_PROXY": PORT_OF_NOBODY,
        "OTEL_SERVICE_NAME": "numbers",
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test,service.version=mine",
    }.items():
        monkeypatch.setenv(name, value)
    tell(workspace(tmp_path))
    assert {got.path for got in own.script.got} == {"/base/v1/traces", "/base/v1/metrics", "/elsewhere/v1/logs"}
    assert {(h["x-scope"], h["authorization"]) for h in own.headers} == {("one two", "Basic abc")}
    (resource,) = own.resources
    expected = {"service.name": "numbers", "service.version": "mine", "deployment.environment.name": "test"}
    assert expected.items() <= resource.items()


def test_the_endpoint_of_the_settings_is_stronger_than_the_variable_and_has_its_own_token(
    tmp_path: Path, own: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENDPOINT, PORT_OF_NOBODY)
    monkeypatch.setenv("COLLECTOR", f"{own.url}/secret-path")
    (tmp_path / "token").write_text("s3cret\n")
    tell(workspace(tmp_path, 'endpoint = { env = "COLLECTOR" }\nbearer_token = { file = "token" }'))
    assert {got.path for got in own.script.got} == {f"/secret-path/v1/{signal}" for signal in EVERYTHING}
    assert {headers["authorization"] for headers in own.headers} == {"Bearer s3cret"}


@pytest.mark.parametrize("trusted", [True, False])
def test_certificates_are_verified(trusted: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with_key, script = self_signed(tmp_path, "IP:127.0.0.1"), Script()
    given = {"OTEL_EXPORTER_OTLP_CERTIFICATE": str(with_key)} if trusted else {}
    with receiving(script, with_key) as port, patch.dict(os.environ, given):
        budget_s = 20 if trusted else 1
        tell(workspace(tmp_path, f'endpoint = "https://127.0.0.1:{port}"\nrun_budget_s = {budget_s}'))
    assert {got.path for got in script.got} == ({f"/v1/{signal}" for signal in EVERYTHING} if trusted else set())
    assert ["certificate verify failed" in line for line in said(caplog)] == ([] if trusted else [True])
    with warnings.catch_warnings():  # a socket whose handshake failed is left to the collector, here and not later
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def test_what_is_told_of_one_trace_belongs_together(tmp_path: Path, own: Collector) -> None:
    tell(workspace(tmp_path, f'endpoint = "{own.url}"'))
    ((span,), (record,), (point,)) = own.spans, own.records, own.points
    assert (record.trace_id, record.span_id) == (span.trace_id, span.span_id)
    assert (point.name, point.value) == ("goodput.lag", 5)


def test_a_trace_ignores_a_span_that_happens_to_be_open(tmp_path: Path, own: Collector) -> None:
    at_work = workspace(tmp_path, f'endpoint = "{own.url}"')
    for _ in range(2):
        tell(at_work)
    assert len({span.trace_id for span in own.spans}) == 2
    assert {span.parent_id for span in own.spans} == {b""}


def test_parts_and_records_beyond_the_first_are_counted_only(tmp_path: Path, own: Collector) -> None:
    at_work = workspace(tmp_path, f'endpoint = "{own.url}"')
    with traced(at_work, "goodput run"):
        for step in ("one", "two"):
            with at_work.telemetry.span(step):
                for number in range(3000):
                    with at_work.telemetry.part("partitions", number=number):
                        at_work.telemetry.record("partition.blocked", str(number), "error")
    steps = {span.name: span for span in own.spans if span.name in ("one", "two")}
    parts = [span for span in own.spans if span.name == "partitions"]
    assert len(parts) == 40
    for step in steps.values():
        within = [span.attributes["goodput.number"] for span in parts if span.parent_id == step.span_id]
        assert within == list(range(20))
        assert step.attributes["goodput.parts_left_out"] == 2980
    assert [record.body for record in own.records[:100]] == [str(number) for number in range(100)]
    assert len(own.records) == 101


# What goes wrong


@pytest.mark.parametrize(
    ("script", "reason", "budget_s"),
    [  # where an answer is expected, the budget is long enough for one on a busy machine
        (Script([401] * 9), "answered 401", 20),
        (Script([(302, {"Location": "/elsewhere"})] * 9), "answered 302 (redirects are not followed", 20),
        (Script([hang] * 9), ": no answer", 0.5),
        (Script([drip] * 9), ": no answer", 0.5),
        (Script([503] * 99), "answered 503", 3),
    ],
    ids=["401", "302", "hang", "drip", "503"],
)
def test_a_collector_that_is_ill_costs_the_budget_at_most_and_one_line(
    script: Script, reason: str, budget_s: float, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with collecting(script) as ill:
        token = 'bearer_token = { clear = "s3cret" }'
        settings = f'endpoint = "{ill.url}/with-a-token"\n{token}\nrun_budget_s = {budget_s}'
        began_s = time.monotonic()
        tell(workspace(tmp_path, settings))
        took_s = time.monotonic() - began_s
    assert took_s < min(budget_s, 10) + 1.0  # what is refused for good is not tried until the budget ends
    (line,) = said(caplog)
    assert line.startswith(f"Own telemetry was not sent: {ill.url}: ")
    assert reason in line
    assert "token" not in line
    assert "s3cret" not in line


def test_where_nobody_listens_the_run_goes_on_and_the_next_of_the_process_does_not_wait(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    at_work = workspace(tmp_path, f'endpoint = "{PORT_OF_NOBODY}"\nrun_budget_s = 3')
    began_s = time.monotonic()
    tell(at_work)
    first_s = time.monotonic() - began_s
    tell(at_work)
    both_s = time.monotonic() - began_s
    assert first_s < 3 + 1.0
    assert both_s - first_s < 2.5  # less than the budget
    assert said(caplog) == [f"Own telemetry was not sent: {PORT_OF_NOBODY}: Connection refused"]


@pytest.mark.parametrize(
    ("settings", "environ", "reason"),
    [
        ('endpoint = "http://169.254.169.254:4318"', {}, "is link-local, multicast or of a metadata service"),
        ("", {ENDPOINT: "http://user:s3cret@127.0.0.1:9"}, "the url holds a user or a password"),
        ("", {ENDPOINT: "collector:4318"}, "the url is not absolute"),
        ("", {ENDPOINT: PORT_OF_NOBODY, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "only http/protobuf is spoken"),
        ('endpoint = { env = "NOT_THERE" }', {}, "the environment has no variable NOT_THERE"),
    ],
)
def test_what_cannot_be_sent_is_said_and_not_tried(
    settings: str, environ: dict[str, str], reason: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    began_s = time.monotonic()
    with patch.dict(os.environ, environ):
        tell(workspace(tmp_path, settings))
    assert time.monotonic() - began_s < 3
    (line,) = said(caplog)
    assert reason in line
    assert "s3cret" not in line


def test_the_command_says_one_line_and_nothing_of_what_is_secret(tmp_path: Path) -> None:
    workspace(tmp_path, "run_budget_s = 0.5")
    (tmp_path / "landing").mkdir()
    variables = {ENDPOINT: f"{PORT_OF_NOBODY}/s3cret", "OTEL_EXPORTER_OTLP_HEADERS": "authorization s3cret"}
    environment = {**os.environ, **variables, "PYTHONPATH": str(ROOT / "pipelines")}
    command = [sys.executable, "-c", "from goodput.cli.main import main; main()", "run"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "s3cret" not in done.stdout + done.stderr
    own = [line for line in done.stderr.splitlines() if line.startswith("Own telemetry")]
    assert own == [f"Own telemetry was not sent: {PORT_OF_NOBODY}: Connection refused"]
    assert not [words for words in ("HTTPConnectionPool", "Failed to export", "Header format") if words in done.stderr]


def test_an_error_of_the_block_is_raised_whatever_becomes_of_its_telemetry(tmp_path: Path, own: Collector) -> None:
    with pytest.raises(ZeroDivisionError), traced(workspace(tmp_path, f'endpoint = "{own.url}"'), "goodput run"):
        raise ZeroDivisionError("of somebody's prompt")
    (span,) = own.spans
    assert (span.error, span.attributes["goodput.exit"]) == ("ZeroDivisionError", 1)
    assert b"prompt" not in own.bodies


def test_after_an_interrupt_nobody_waits_long(tmp_path: Path) -> None:
    with collecting(Script([hang] * 9)) as ill:
        at_work = workspace(tmp_path, f'endpoint = "{ill.url}"\nrun_budget_s = 60.0')
        began_s = time.monotonic()
        with pytest.raises(KeyboardInterrupt), traced(at_work, "goodput run"):
            raise KeyboardInterrupt
        assert time.monotonic() - began_s < 1.0 + 1.0


# Settings


@pytest.mark.parametrize(
    ("settings", "wrong"),
    [
        ('endpoint = "collector:4318"', "endpoint is no address of a collector"),
        ('endpoint = "http://collector:4318/?key=1"', "endpoint is no address of a collector"),
        ('bearer_token = { env = "TOKEN" }', "bearer_token has no endpoint beside it"),
        ('endpoint = "http://collector:4318"\nbearer_token = "abc"', "a secret stands in the settings in clear"),
        ("run_budget_s = 0.0", "run_budget_s"),
        ('url = "http://collector:4318"', "no such key"),
    ],
)
def test_mistakes_of_the_settings_are_told(settings: str, wrong: str, tmp_path: Path) -> None:
    (tmp_path / "goodput.toml").write_text(f"[telemetry]\n{settings}\n")
    with pytest.raises(SettingsError) as told:
        load_settings(tmp_path / "goodput.toml")
    assert wrong in str(told.value)
    assert "telemetry" in str(told.value)
