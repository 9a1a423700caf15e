"""Windows over OTLP, decoded by the protocol's own messages: each once, at its own time, and again when restated."""

import json
import time
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from typer.testing import CliRunner, Result

from export.conftest import asking
from export.expected import Sample, expected
from goodput.cli.main import app
from goodput.errors import ExportFailed, GoodputError, SettingsError
from goodput.export.catalog import all_metrics
from goodput.export.prometheus_names import label_name, metric_name
from goodput.plumbing.workspace import Workspace
from goodput.settings.load import load_settings
from goodput.steps import export_metrics
from notify.receiver import Script, drip, hang
from telemetry.collector import Collector, collecting, plain

PORT_OF_NOBODY = "http://127.0.0.1:9"
BEGIN = "2026-11-20"
WINDOWS = (
    10  # of 300 s that lie wholly inside an hour: not the first, which began before the first record, nor the last
)
NAMES = {metric.name: metric_name(metric) for metric in all_metrics()}


def sent(collector: Collector, begin: int = 0) -> list[tuple[str, str, frozenset[tuple[str, str]], int, float]]:
    """All points since a request: name, unit, labels, time and value."""
    return [
        (
            metric.name,
            metric.unit,
            frozenset((each.key, each.value.string_value or str(each.value.int_value)) for each in point.attributes),
            point.time_unix_nano,
            point.as_double if point.HasField("as_double") else point.as_int,
        )
        for got in collector.script.got[begin:]
        for resource in ExportMetricsServiceRequest.FromString(got.body).resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        for point in metric.gauge.data_points
    ]


def resources_of(collector: Collector) -> list[Resource]:
    requests = [ExportMetricsServiceRequest.FromString(got.body) for got in collector.script.got]
    return [each.resource for request in requests for each in request.resource_metrics]


def ends(collector: Collector, begin: int = 0) -> list[int]:
    """The ends of the windows that were sent, in Unix seconds."""
    return [int(value) for name, *_, value in sent(collector, begin) if name == "goodput.window_end.timestamp"]


def export(config: Path, lake: Path, *more: str) -> Result:
    command = ["export", "otlp", "--config", str(config), "--lake", str(lake), *more]
    return CliRunner().invoke(app, command)


def test_the_newest_window_arrives_with_the_numbers_of_the_database(config: Path, lake: Path) -> None:
    with collecting() as collector, asking(config, lake) as connection:
        assert export(config, lake, "--endpoint", collector.url, "--since", BEGIN).exit_code == 0
        wanted = expected(connection)
        newest_ns = max(ends(collector)) * 10**9
        state_ns = time.time_ns()
        got: dict[Sample, float] = {}
        for name, _, labels, at_ns, value in sent(collector):
            if at_ns == newest_ns or at_ns > newest_ns + 10**12:
                got[NAMES[name], frozenset((label_name(key), text) for key, text in labels)] = value
                assert at_ns == newest_ns or abs(at_ns - state_ns) < 60 * 10**9
    assert got.keys() == wanted.keys()
    assert got == {key: pytest.approx(value, rel=1e-12) for key, value in wanted.items()}


def test_units_are_those_of_the_standard_and_every_point_is_a_gauge(config: Path, lake: Path) -> None:
    with collecting() as collector:
        export(config, lake, "--endpoint", collector.url, "--since", BEGIN)
        units = {name: unit for name, unit, *_ in sent(collector)}
        assert len(collector.points) == len(sent(collector))  # of gauges alone
        resources = [plain(each.attributes)["service.name"] for each in resources_of(collector)]
    assert set(resources) == {"goodput"}
    assert units["goodput.ratio"] == "1"
    assert units["goodput.rate"] == "{request}/s"
    assert units["goodput.ttft"] == "s"
    assert units["goodput.cost.usd"] == "{USD}"


def test_each_window_goes_once_by_its_end(config: Path, lake: Path) -> None:
    with collecting() as collector:
        first = export(config, lake, "--endpoint", collector.url, "--since", BEGIN)
        whole = ends(collector)
        requests = len(collector.script.got)
        second = export(config, lake, "--endpoint", collector.url, "--since", BEGIN)
        again = {name for name, *_ in sent(collector, requests)}
    begin = int(datetime(2026, 11, 20, 9, 10, tzinfo=UTC).timestamp())
    assert whole == [begin + 300 * number for number in range(len(whole))]
    assert len(whole) == WINDOWS
    assert first.stdout == f"{len(whole)} window(s) sent, and the state as it is\n"
    assert second.stdout == "0 window(s) sent, and the state as it is\n"
    state = {f"goodput.{name}_until.timestamp" for name in ("observed", "final", "billed")}
    assert state <= again <= state | {"goodput.alarm_firing", "goodput.alarm_suppressed", "goodput.warned_subjects"}


@pytest.mark.parametrize(
    ("relation", "column"),
    [("goodput", "goodput_rps"), ("waste", "usd"), ("quality", "passed"), ("quality", "pass_ratio")],
)
def test_a_window_that_was_restated_goes_again_and_no_other(
    relation: str, column: str, config: Path, lake: Path
) -> None:
    with collecting() as collector:
        export(config, lake, "--endpoint", collector.url, "--since", BEGIN)
        before, requests = ends(collector), len(collector.script.got)
        with duckdb.connect(lake / "goodput.duckdb") as connection:
            connection.execute(
                f"UPDATE stored.{relation} SET {column} = {column} * 0.5 "
                "WHERE window_s = 300 AND epoch(window_start) = ? AND workload = 'chat'",
                [before[3] - 300],
            )
        said = export(config, lake, "--endpoint", collector.url, "--since", BEGIN)
        again = ends(collector, requests)
    # what nobody exports (how many passed) is no reason to send anything
    assert again == ([] if column == "passed" else [before[3]])
    assert said.stdout.startswith(f"{len(again)} window(s) sent")


def test_what_was_sent_to_one_receiver_is_not_there_at_another(config: Path, lake: Path) -> None:
    with collecting() as one, collecting() as other:
        for collector in (one, other, one):
            export(config, lake, "--endpoint", collector.url, "--since", BEGIN)
        assert len(ends(one)) == len(ends(other)) == WINDOWS
    assert "127.0.0.1" not in (lake / "exported.json").read_text()


@pytest.mark.parametrize("text", [None, "{", '{"x": 3}'])
def test_a_memory_that_is_lost_or_damaged_sends_again(text: str | None, config: Path, lake: Path) -> None:
    memory = lake / "exported.json"
    with collecting() as collector:
        export(config, lake, "--endpoint", collector.url, "--since", BEGIN)
        if text is None:
            memory.unlink()
        else:
            memory.write_text(text)
        assert export(config, lake, "--endpoint", collector.url, "--since", BEGIN).exit_code == 0
        assert len(ends(collector)) == 2 * WINDOWS
    (known,) = json.loads(memory.read_text()).values()
    assert len(known) >= 2


def test_windows_before_since_stay(config: Path, lake: Path) -> None:
    with collecting() as collector:
        export(config, lake, "--endpoint", collector.url, "--since", "2026-11-20T09:30:00")
        assert min(ends(collector)) == datetime(2026, 11, 20, 9, 35, tzinfo=UTC).timestamp()
        assert export(config, lake, "--endpoint", collector.url).stdout.startswith("0 window(s)")  # two days are over


def test_what_a_receiver_took_before_it_failed_is_not_sent_again(config: Path, lake: Path) -> None:
    with collecting(Script([200, 200, 400, *([200] * 99)])) as collector:
        failed = export(config, lake, "--endpoint", collector.url, "--since", BEGIN)
        assert isinstance(failed.exception, ExportFailed)
        assert "answered 400" in str(failed.exception)
        assert export(config, lake, "--endpoint", collector.url, "--since", BEGIN).exit_code == 0
        (known,) = json.loads((lake / "exported.json").read_text()).values()
    assert len(known) == WINDOWS


def test_what_a_receiver_left_out_is_told(config: Path, lake: Path) -> None:
    answer = ExportMetricsServiceResponse()
    answer.partial_success.rejected_data_points = 7
    answer.partial_success.error_message = "too old"
    body = answer.SerializeToString()

    def some(connection: object) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)  # type: ignore[attr-defined]

    with collecting(Script([some, some])) as collector:
        said = export(config, lake, "--endpoint", collector.url, "--since", BEGIN)
    assert said.exit_code == 0
    assert "left out 14 point(s)" in said.stderr


# A run


def settings(tmp_path: Path, config: Path, export: str) -> Path:
    file = tmp_path / "with_export.toml"
    file.write_text(f"{config.read_text()}\n[export]\n{export}\n")
    return file


@pytest.mark.parametrize(
    "case",
    [  # where an answer is expected, the budget is long enough for one on a busy machine
        ([401] * 9, "answered 401", 20),
        ([(302, {"Location": "/elsewhere"})] * 9, "answered 302", 20),
        ([hang] * 9, "no answer", 0.5),
        ([drip] * 9, "no answer", 0.5),
        ([503] * 99, "answered 503", 3),
    ],
    ids=["401", "302", "hang", "drip", "503"],
)
def test_a_receiver_that_is_ill_costs_a_run_the_budget_at_most(
    case: tuple[list[object], str, float], config: Path, lake: Path, tmp_path: Path
) -> None:
    script, reason, budget_s = case
    with collecting(Script(script)) as ill:  # type: ignore[arg-type]
        text = f'endpoint = "{ill.url}/s3cret"\nlookback_s = 1e9\nrun_budget_s = {budget_s}'
        at_work = Workspace(settings(tmp_path, config, text), lake_path=lake)
        began_s = time.monotonic()
        problem = export_metrics(at_work)
        took_s = time.monotonic() - began_s
    assert took_s < min(budget_s, 10) + 1.5  # what is refused for good is not tried until the budget ends
    assert reason in problem
    assert f"{WINDOWS} window(s) wait for the next run" in problem
    assert "s3cret" not in problem


def test_a_receiver_that_is_not_there_or_not_to_be_reached_ends_no_run(
    config: Path, lake: Path, tmp_path: Path
) -> None:
    for endpoint, reason in {
        f'"{PORT_OF_NOBODY}"': "Connection refused",
        '"http://169.254.169.254:4318"': "link-local",
        '{ env = "NOT_THERE" }': "the environment has no variable NOT_THERE",
    }.items():
        file = settings(tmp_path, config, f"endpoint = {endpoint}\nrun_budget_s = 3")
        assert reason in export_metrics(Workspace(file, lake_path=lake))


def test_a_run_sends_by_the_settings_and_with_their_token(
    config: Path, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "s3cret")
    with collecting() as collector:
        text = f'endpoint = "{collector.url}"\nbearer_token = {{ env = "TOKEN" }}\nlookback_s = 1e9'
        file = settings(tmp_path, config, text)
        assert export_metrics(Workspace(file, lake_path=lake)) == ""
        assert len(ends(collector)) == WINDOWS
        assert {got.headers["authorization"] for got in collector.script.got} == {"Bearer s3cret"}
        with collecting() as other:
            export(file, lake, "--endpoint", other.url, "--since", BEGIN)
            assert not [got for got in other.script.got if "authorization" in got.headers]


def test_without_an_endpoint_nothing_is_sent_whatever_the_variables_say(
    config: Path, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        assert export_metrics(Workspace(config, lake_path=lake)) == ""
        assert "no endpoint is named" in str(export(config, lake).exception)
        assert not collector.script.got


@pytest.mark.parametrize(
    ("endpoint", "error", "wrong"),
    [
        ("collector:4318", GoodputError, "is no address of a collector"),
        ("", GoodputError, "is no address of a collector"),
        ("http://[::1", GoodputError, "is no address of a collector"),
        (PORT_OF_NOBODY, ExportFailed, "Connection refused"),
    ],
)
def test_an_endpoint_that_cannot_be_used_is_told(
    endpoint: str, error: type[Exception], wrong: str, config: Path, lake: Path
) -> None:
    said = export(config, lake, "--endpoint", endpoint, "--since", BEGIN)
    assert isinstance(said.exception, error)
    assert wrong in str(said.exception)


def test_mistakes_of_the_settings_are_told_together(tmp_path: Path) -> None:
    file = tmp_path / "goodput.toml"
    file.write_text('[export]\nendpoint = "collector"\nlookback_s = 0.0\nrun_budget_s = "1"\nslices = 3\n')
    with pytest.raises(SettingsError) as told:
        load_settings(file)
    for key in ("export.lookback_s", "export.run_budget_s", "export.slices"):
        assert key in str(told.value)
