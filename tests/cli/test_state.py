"""`goodput` alone: how things stand in this folder, from what is published; else the help."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from goodput.cli.main import COMMANDS
from goodput.cli.sparkline import sparkline
from goodput.cli.state import print_state
from mcp_lake import ATTEMPTS, publish

Run = Callable[..., Any]
RUN = "from goodput.cli.main import main; main()"
NOW = datetime(2026, 11, 20, 10, 18, 10, tzinfo=UTC)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with settings and a published lake, that no test changes."""
    folder = tmp_path_factory.mktemp("state")
    publish(folder)
    return folder


@pytest.fixture
def stands(asked: Path, tmp_path: Path) -> Path:
    """A copy of it, of which a test may change the database."""
    shutil.copytree(asked, tmp_path / "here")
    return tmp_path / "here"


def printed(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    monkeypatch.chdir(folder)
    monkeypatch.delenv("COLUMNS", raising=False)
    os.utime(folder / "lake/goodput.duckdb", times=(NOW.timestamp() - 1800, NOW.timestamp() - 1800))
    print_state(NOW)
    return capsys.readouterr().out.splitlines()


def test_the_state_is_what_was_published(
    stands: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = {line[:10].strip() or "more": line[10:] for line in printed(stands, monkeypatch, capsys)}
    assert lines["Published"] == "2026-11-20 09:48 UTC, 30 min ago"
    # the last request ends 1,010 s after 9:00
    assert max(row[5] for row in ATTEMPTS) == 1_795_165_200 + 1010
    assert lines["Telemetry"] == "until 2026-11-20 09:16 UTC, 61 min ago"
    assert lines["Window"] == "From 2026-11-20 00:00 UTC, 24 h, partly observed, not final yet"
    # 5 of 7; nothing asks for a label, so nothing is estimated
    assert lines["Accepted"].startswith("71.4 % (")
    assert lines["Accepted"].endswith(" of 7, latency_constrained")
    assert lines["Cost"] == "not known"
    # the tenth hour of the day: 5 of 7 is above 5/8 and below 6/8, which is the sixth of eight heights
    assert lines["By hour"] == " " * 9 + "▆" + " " * 14 + "  share accepted, full height is 100 %"
    assert lines["Firing"] == "no alarm"
    assert lines["Next"] == "goodput report shows more; goodput --help lists the commands"


def test_what_fires_and_what_is_blocked_comes_with_what_to_do(
    stands: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with duckdb.connect(stands / "lake/goodput.duckdb") as connection:
        for name, values in (
            (
                "alarms",
                "'page', 'firing', 'all is slow', TIMESTAMPTZ '2026-11-20 09:30Z', 'a0', 'silenced'), "
                "('page', 'firing', 'goodput fell\x1b[2J', TIMESTAMPTZ '2026-11-20 09:00Z', 'a1', NULL",
            ),
            ("blocked_partitions", "'requests', '2026-11-20T09', 'broken row', NULL, TIMESTAMPTZ '2026-11-20 09:00Z'"),
        ):
            columns = {
                "alarms": "severity, state, summary, state_since_at, alarm_id, suppressed",
                "blocked_partitions": "table_name, partition, reason, blocked_by, since",
            }[name]
            connection.execute(f"DROP VIEW IF EXISTS {name}")
            connection.execute(f"CREATE VIEW {name} AS SELECT * FROM (VALUES ({values})) AS v({columns})")
    lines = printed(stands, monkeypatch, capsys)
    fires = lines.index("Firing    page: goodput fell\\x1b[2J")
    assert lines[fires + 1] == "Firing    page (silenced): all is slow"
    assert any(line.startswith("Blocked partitions: 1") for line in lines)
    assert [line[10:] for line in lines[-3:]] == [
        "goodput sources says what blocks",
        "goodput alarms explains what fires",
        "goodput report shows more; goodput --help lists the commands",
    ]


def test_telemetry_that_is_a_day_old_is_what_comes_next(
    asked: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(asked)
    print_state(datetime(2026, 11, 21, 9, 17, tzinfo=UTC))
    out = capsys.readouterr().out
    assert "24.0 h ago" in out
    assert "goodput doctor says why nothing is" in out


def test_before_the_first_run_it_says_what_to_do(goodput: Run, tmp_path: Path) -> None:
    (tmp_path / "goodput.toml").write_text('lake = "lake"\n')
    shown = goodput(ask=False)
    assert shown.returncode == 0
    assert shown.stdout.splitlines()[0].startswith("Published nothing yet")
    assert "goodput run" in shown.stdout


def test_mistakes_in_the_settings_are_said(goodput: Run, tmp_path: Path) -> None:
    (tmp_path / "goodput.toml").write_text("lakes = 1\n")
    failed = goodput(ask=False)
    assert failed.returncode == 2
    assert "1 mistake" in failed.stderr


@pytest.mark.parametrize("columns", ["20", "40", "80"])
def test_a_narrow_terminal_folds_it(asked: Path, columns: str) -> None:
    environment = {**os.environ, "COLUMNS": columns, "PYTHONIOENCODING": "utf-8", "NO_COLOR": "1"}
    ran = subprocess.run(
        [sys.executable, "-c", RUN], capture_output=True, text=True, check=True, cwd=asked, env=environment
    )
    assert max(map(len, ran.stdout.splitlines())) <= int(columns)
    assert "\x1b" not in ran.stdout


def test_without_unicode_there_is_no_line_of_blocks(asked: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    command = [sys.executable, "-c", RUN]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd=asked, env=environment)
    assert "Accepted  71.4 %" in ran.stdout
    assert "By hour" not in ran.stdout


def test_blocks_are_as_high_as_shares_and_blank_where_there_are_none() -> None:
    assert sparkline([0.0, 0.124, 0.125, 0.5, None, 0.999, 1.0]) == "▁▁▂▅ ██"
    assert sparkline([]) == ""


COMPLETE = {"_GOODPUT_COMPLETE": "complete_bash"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("goodput que", ["query"]),
        ("goodput tab", ["tables"]),
        ("goodput query --ma", ["--max-rows"]),
        ("goodput alarms sil", ["silence"]),
        ("goodput sources --form", ["--format"]),
    ],
)
def test_a_shell_completes_commands_and_options_that_are_not_imported_yet(words: str, expected: list[str]) -> None:
    environment = {**os.environ, **COMPLETE, "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    ran = subprocess.run([sys.executable, "-c", RUN], capture_output=True, text=True, check=True, env=environment)
    assert ran.stdout.split() == expected


def test_completion_lists_every_command() -> None:
    environment = {**os.environ, **COMPLETE, "COMP_WORDS": "goodput ", "COMP_CWORD": "1"}
    ran = subprocess.run([sys.executable, "-c", RUN], capture_output=True, text=True, check=True, env=environment)
    assert set(ran.stdout.split()) == set(COMMANDS)
