"""Dashboard and rules are of metrics that exist, and Prometheus itself takes every query and answers it."""

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml
from typer.testing import CliRunner

from export.conftest import asking
from export.expected import expected
from export.test_prometheus import Prometheus, scraping
from goodput.cli.main import app
from goodput.errors import GrafanaMissing, OutputUnwritable
from goodput.export.catalog import all_metrics
from goodput.export.exposition import exposition
from goodput.export.prometheus_names import metric_name

needs_prometheus = pytest.mark.skipif(shutil.which("prometheus") is None, reason="prometheus is not installed")
ROOT = Path(__file__).parents[2]
NAMES = {metric_name(metric) for metric in all_metrics()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the command writes."""
    root = tmp_path_factory.mktemp("monitoring") / "new"
    said = CliRunner().invoke(app, ["export", "dashboards", str(root)])
    assert said.exit_code == 0, said.output
    assert sorted(said.stdout.split()) == sorted(map(str, root.iterdir()))
    return root


@pytest.fixture(scope="module")
def dashboard(folder: Path) -> Any:
    return json.loads((folder / "goodput-dashboard.json").read_text())


def queries(dashboard: Any) -> Iterator[str]:
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            yield target["expr"].replace("$window", "300").replace("${window}", "300").replace("$workload", ".*")


def rules(folder: Path, name: str) -> Any:
    (group,) = yaml.safe_load((folder / f"goodput-{name}-rules.yml").read_text())["groups"]
    return group["rules"]


def test_the_dashboard_is_one_that_grafana_can_draw(dashboard: Any) -> None:
    """What an import refuses or draws wrongly, and its SDK does not look at."""
    taken: set[tuple[int, int]] = set()
    for panel in dashboard["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken
        assert at["x"] + at["w"] <= 24
        taken |= cells
        if panel["type"] != "row":
            assert panel["title"]
            assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
            assert [target["refId"] for target in panel["targets"]] == ["A", "B", "C"][: len(panel["targets"])]
    variables = {each["name"] for each in dashboard["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)\}?", json.dumps(dashboard)))
    assert used == variables == {"datasource", "window", "workload"}


def test_every_query_is_of_metrics_that_are_exported(dashboard: Any, folder: Path) -> None:
    recorded = {rule["record"] for rule in rules(folder, "recording")}
    asked = [*queries(dashboard), *(rule["expr"] for kind in ("recording", "alerting") for rule in rules(folder, kind))]
    of = {
        name
        for promql in asked
        for name in re.findall(r"\bgoodput[a-z0-9_:]*", re.sub(r"\{.*?\}|\(goodput_\w+\)", "", promql))
    }
    assert of <= NAMES | recorded
    assert len(of) > 30


@needs_prometheus
def test_promtool_takes_the_rules_and_every_query(dashboard: Any, folder: Path, tmp_path: Path) -> None:
    documented = re.findall(r"```promql\n(.*?)```", (ROOT / "docs/export.md").read_text(), re.DOTALL)
    assert documented
    asked = [*queries(dashboard), *documented]
    shown = [{"record": f"panel:{number}", "expr": promql} for number, promql in enumerate(asked)]
    (tmp_path / "panels.yml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": shown}]}))
    files = [tmp_path / "panels.yml", *folder.glob("*.yml")]
    said = subprocess.run(["promtool", "check", "rules", *map(str, files)], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    counts = sorted(map(int, re.findall(r"(\d+) rules found", said.stdout)))
    assert counts == sorted([len(shown), len(rules(folder, "recording")), len(rules(folder, "alerting"))])


ALARM = (
    "INSERT INTO stored.alarms BY NAME SELECT ? AS alarm_id, ? AS rule, 'trend' AS kind, ? AS severity, ? AS metric, "
    "'chat' AS workload, ? AS state, ? AS suppressed"
)


@pytest.fixture
def alarmed(lake: Path) -> Path:
    """The lake, with alarms of every state and a warning."""
    with duckdb.connect(lake / "goodput.duckdb") as connection:
        for row in (
            ("a1", 'p99 "ttft" \\ {}', "page", "p99_ttft_s", "firing", None),
            ("a2", "silenced", "page", "p99_ttft_s", "firing", "silenced"),
            ("a3", "quiet", "ticket", None, "resolved", None),
            ("a4", "heartbeat", "none", None, "firing", None),
        ):
            connection.execute(ALARM, row)
        connection.execute(
            "INSERT INTO stored.warnings BY NAME "
            "SELECT 'cost_repeated' AS kind, 'high' AS severity, 's' || i AS subject, 'm' AS message FROM range(3) r(i)"
        )
    return lake


@needs_prometheus
def test_alerts_fire_for_what_fires_and_is_not_suppressed(
    config: Path, alarmed: Path, folder: Path, dashboard: Any, tmp_path: Path
) -> None:
    with asking(config, alarmed) as connection:
        text, wanted = exposition(connection), expected(connection)
    with scraping(text, tmp_path, folder) as prometheus:
        alerts = settled(prometheus)
        firing = [(each["labels"]["goodput_rule"], each["labels"]["severity"]) for each in alerts["GoodputAlarm"]]
        assert firing == [('p99 "ttft" \\ {}', "page")]
        (warning,) = alerts["GoodputWarning"]
        assert (warning["labels"]["goodput_kind"], float(warning["value"])) == ("cost_repeated", 3)
        (old,) = alerts["GoodputTelemetryOld"]
        observed = wanted["goodput_observed_until_timestamp_seconds", frozenset()]
        assert float(old["value"]) == pytest.approx(time.time() - observed, abs=60)
        assert alerts.keys() == {"GoodputAlarm", "GoodputWarning", "GoodputTelemetryOld"}
        recorded = prometheus.query("goodput:ratio:last")
        published = {labels: value for (name, labels), value in wanted.items() if name == "goodput_ratio"}
        assert {labels: value for (_, labels), value in recorded.items()} == pytest.approx(published)
        final = prometheus.query(
            "goodput_window_end_timestamp_seconds <= on () group_left goodput_final_until_timestamp_seconds"
        )
        assert final == {}  # labels of these windows can still come for two weeks
        empty = [promql for promql in queries(dashboard) if not prometheus.get("/api/v1/query", query=promql)["result"]]
        assert empty == []


def settled(prometheus: Prometheus) -> dict[str, list[Any]]:
    """Alerts by name, once rules were evaluated on what was scraped."""
    until = time.monotonic() + 30
    while time.monotonic() < until and not prometheus.query("goodput:ratio:last"):
        time.sleep(0.2)
    time.sleep(2.5)
    found: dict[str, list[Any]] = {}
    for alert in prometheus.get("/api/v1/alerts")["alerts"]:
        found.setdefault(alert["labels"]["alertname"], []).append(alert)
    return found


@needs_prometheus
def test_silence_is_an_alert(folder: Path, tmp_path: Path) -> None:
    """Telemetry until Unix time 60, sent for five minutes and held for two hours: silence alarms half an hour later."""
    cases = {
        "rule_files": [str(path) for path in sorted(folder.glob("*.yml"))],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": "goodput_observed_until_timestamp_seconds", "values": "60x5"}],
                "alert_rule_test": [
                    {"eval_time": "2h1m", "alertname": "GoodputTelemetryOld"},
                    {"eval_time": "2h30m", "alertname": "GoodputSilent"},
                    {"eval_time": "2h40m", "alertname": "GoodputSilent", "exp_alerts": [SILENT]},
                ],
            }
        ],
    }
    (tmp_path / "test.yml").write_text(yaml.safe_dump(cases))
    said = subprocess.run(
        ["promtool", "test", "rules", str(tmp_path / "test.yml")], capture_output=True, text=True, check=False
    )
    assert said.returncode == 0, said.stdout + said.stderr


SILENT = {
    "exp_labels": {"severity": "ticket"},
    "exp_annotations": {"summary": "No metrics of goodput arrive: neither a run that sends them nor a scrape"},
}


def test_without_the_sdk_it_is_said_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("goodput.export.dashboards")]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("grafana_foundation_sdk", "grafana_foundation_sdk.builders"):
        monkeypatch.setitem(sys.modules, name, None)
    said = CliRunner().invoke(app, ["export", "dashboards", str(tmp_path / "new")])
    assert isinstance(said.exception, GrafanaMissing)
    assert "goodput[grafana]" in str(said.exception)
    assert not (tmp_path / "new").exists()


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    said = CliRunner().invoke(app, ["export", "dashboards", str(tmp_path / "file")])
    assert isinstance(said.exception, OutputUnwritable)
