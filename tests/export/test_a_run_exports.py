"""What a run sends of a lake that a person can check: requests in the middle of each minute, every third one slow."""

import csv
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from export.test_otlp import sent
from goodput.cli.main import app
from goodput.export.points import Window, newest
from goodput.plumbing.workspace import Workspace
from goodput.run import run
from telemetry.collector import Collector, collecting
from test_rebuild import SETTINGS

BEGIN = datetime(2026, 11, 20, 9, tzinfo=UTC)
BEGIN_S = int(BEGIN.timestamp())
MINUTES = 190


def attempts(first: int, last: int) -> list[tuple[object, ...]]:
    """A request ends at second 30 of each minute; it began 10 s before, and its first token took 0.5 or 3 s."""
    return [
        (f"a{n}", BEGIN_S + 60 * n + 20, BEGIN_S + 60 * n + 30, 3.0 if n % 3 == 0 else 0.5, "ok")
        for n in range(first, last)
    ]


def write(root: Path, name: str, rows: list[tuple[object, ...]]) -> None:
    (root / "landing").mkdir(exist_ok=True)
    with (root / "landing" / name).open("w", newline="") as file:
        csv.writer(file).writerows([("id", "start", "end", "ttft", "outcome"), *rows])


def settings(root: Path, endpoint: str) -> Path:
    file = root / "goodput.toml"
    file.write_text(f'windows_s = [300, 3600]\n{SETTINGS}\n[export]\nendpoint = "{endpoint}"\nlookback_s = 1e9\n')
    return file


def values(collector: Collector, name: str, window_s: int, begin: int = 0) -> dict[int, float]:
    """Of slice overall by the end of the window, in seconds since BEGIN."""
    wanted = {("goodput.window_s", str(window_s)), ("goodput.slice", "overall")}
    return {
        at_ns // 10**9 - BEGIN_S: value
        for metric, _, labels, at_ns, value in sent(collector, begin)
        if metric == name and labels == wanted
    }


def test_each_window_has_its_numbers_at_its_end(tmp_path: Path) -> None:
    """From 09:00:20 to 12:09:30: of 5 requests in 5 minutes those of minutes 0, 3, 6 ... are slow."""
    write(tmp_path, "one.csv", attempts(0, MINUTES))
    with collecting() as collector:
        ran = run(Workspace(settings(tmp_path, collector.url)))
        assert ran.unexported == ""
        offered, ratio = values(collector, "goodput.offered", 300), values(collector, "goodput.ratio", 300)
        hours = values(collector, "goodput.ratio", 3600)
    ends = range(600, 60 * MINUTES - 299, 300)  # the first window began before telemetry, the last goes on
    assert offered == dict.fromkeys(ends, 5)
    slow = {end: sum(n % 3 == 0 for n in range(end // 60 - 5, end // 60)) for end in ends}
    assert ratio == {end: pytest.approx(1 - slow[end] / 5) for end in ends}
    assert hours == {7200: pytest.approx(2 / 3), 10800: pytest.approx(2 / 3)}


def test_a_late_file_restates_its_window_alone(tmp_path: Path) -> None:
    write(tmp_path, "one.csv", attempts(0, MINUTES))
    with collecting() as collector:
        config = settings(tmp_path, collector.url)
        run(Workspace(config))
        requests = len(collector.script.got)
        run(Workspace(config))
        assert values(collector, "goodput.offered", 300, requests) == {}
        write(tmp_path, "late.csv", [("late", BEGIN_S + 4000, BEGIN_S + 4010, 0.5, "ok")])
        run(Workspace(config))
        assert values(collector, "goodput.offered", 300, requests) == {4200: 6}
        assert values(collector, "goodput.offered", 3600, requests) == {7200: 61}


def test_what_is_not_measured_has_no_point(tmp_path: Path) -> None:
    """No costs, no labels, no engines: of these there is nothing to say, least of all 0."""
    write(tmp_path, "one.csv", attempts(0, 30))
    with collecting() as collector:
        run(Workspace(settings(tmp_path, collector.url)))
        names = Counter(name for name, *_ in sent(collector))
    assert names["goodput.offered"] > 0
    for absent in ("cost.usd", "cost_per_accepted.usd", "wasted.ratio", "coverage.ratio", "quality_pass.ratio", "tpot"):
        assert f"goodput.{absent}" not in names


def test_nothing_is_exported_of_nothing(tmp_path: Path) -> None:
    (tmp_path / "landing").mkdir()
    with collecting() as collector:
        config = settings(tmp_path, collector.url)
        assert run(Workspace(config)).unexported == ""
        assert not [name for name, *_ in sent(collector) if "alarm" not in name]
    said = CliRunner().invoke(app, ["export", "prometheus", "--config", str(config)])
    assert said.exit_code == 0
    assert not [line for line in said.stdout.splitlines() if "alarm" not in line]


def test_before_the_first_run_it_is_said_what_to_do(tmp_path: Path) -> None:
    for command in (["prometheus"], ["otlp", "--endpoint", "http://127.0.0.1:9"]):
        said = CliRunner().invoke(app, ["export", *command, "--lake", str(tmp_path)])
        assert "Run `goodput run` first" in str(said.exception)


def test_a_receiver_that_fails_is_a_line_of_the_run_and_no_failure(tmp_path: Path) -> None:
    write(tmp_path, "one.csv", attempts(0, 30))
    config = settings(tmp_path, "http://127.0.0.1:9/s3cret")
    command = [sys.executable, "-c", "from goodput.cli.main import main; main()", "run", "--config", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("Metrics are not exported")]
    assert "http://127.0.0.1:9: Connection refused" in line
    assert "s3cret" not in done.stdout + done.stderr


def test_a_textfile_is_replaced_whole(tmp_path: Path) -> None:
    write(tmp_path, "one.csv", attempts(0, 30))
    (tmp_path / "goodput.toml").write_text(SETTINGS)
    run(Workspace(tmp_path / "goodput.toml"))
    command = ["export", "prometheus", "--config", str(tmp_path / "goodput.toml")]
    printed = CliRunner().invoke(app, command).stdout
    for _ in range(2):
        said = CliRunner().invoke(app, [*command, "--textfile", str(tmp_path / "out/goodput.prom")])
        assert (said.exit_code, said.stdout) == (0, "")
        assert (tmp_path / "out/goodput.prom").read_text() == printed
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["goodput.prom"]
    assert 'goodput_offered{goodput_window_s="300",goodput_slice="overall"} 5\n' in printed
    assert f'goodput_window_end_timestamp_seconds{{goodput_window_s="300"}} {BEGIN_S + 1500}.0\n' in printed


def test_the_newest_window_is_that_of_each_length() -> None:
    def window(window_s: int, end: int) -> Window:
        at, start = (datetime.fromtimestamp(second, UTC) for second in (end, end - window_s))
        return Window(at, window_s, start)

    windows = [window(300, 900), window(300, 1200), window(3600, 3600), window(300, 600)]
    assert newest(windows) == [window(300, 1200), window(3600, 3600)]
    assert newest([]) == []
