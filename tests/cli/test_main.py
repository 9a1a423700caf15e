"""The command line as a whole: help, version, exit codes, and what a question never imports."""

import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import duckdb
import pytest
from typer.testing import CliRunner

from goodput.cli.main import COMMANDS, app
from goodput.conform.ingest import Ingested
from goodput.contracts import arrow_schema
from goodput.plumbing.blocked import Blocked
from goodput.plumbing.lake import Lake
from goodput.run import Ran
from test_rebuild import SETTINGS

Run = Callable[..., Any]
ONLY_FOR_RUNS = {"dagster", "great_expectations", "polars", "pyarrow", "sqlalchemy", "pandas", "numpy"}
OF_SETTINGS = {"pydantic", "yaml", "goodput.settings.model"}
ASKING = ("query", "tables", "compare", "explain", "sources", "labels", "alarms", "init")


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_has_help_and_an_example(command: str) -> None:
    shown = CliRunner().invoke(app, [command, "--help"])
    assert shown.exit_code == 0
    assert f"Usage: goodput {command}" in " ".join(shown.output.split()).replace("root", "goodput")
    assert "Example:" in shown.output
    assert f"goodput {command}" in shown.output.partition("Example:")[2]


def test_the_help_lists_every_command_with_a_sentence() -> None:
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).output
    for command in COMMANDS:
        line = next(line for line in shown.splitlines() if line.startswith(f"│ {command} "))
        assert line.rstrip(" │").endswith(".")


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_the_list_has_the_first_sentence_of_each_commands_own_help(command: str) -> None:
    own = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"}).output
    _, sentence = COMMANDS[command]
    assert sentence.count(". ") == 0
    assert sentence in own


def test_all_asking_commands_are_there() -> None:
    assert set(ASKING) <= set(COMMANDS)


def test_the_version_is_that_of_the_project(goodput: Run) -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert goodput("--version", ask=False).stdout == f"goodput {project['version']}\n"
    assert version("goodput") == project["version"]


@pytest.mark.parametrize("wrong", [["qurey", "select 1"], ["query"], ["query", "select 1", "--format", "xml"]])
def test_bad_usage_ends_with_2(goodput: Run, wrong: list[str]) -> None:
    failed = goodput(*wrong, ask=False)
    assert failed.returncode == 2
    assert "Usage: goodput" in failed.stderr


def test_no_command_at_all_shows_the_help_and_ends_with_2(goodput: Run) -> None:
    shown = goodput(ask=False)
    assert shown.returncode == 2
    assert "Commands" in shown.stdout


def test_a_mistyped_command_is_answered_with_the_near_one(goodput: Run) -> None:
    assert "Did you mean 'query'?" in goodput("qurey", ask=False).stderr


def test_mistakes_in_the_settings_end_with_2(goodput: Run, tmp_path: Path) -> None:
    (tmp_path / "goodput.toml").write_text("lakes = 1\n")
    failed = goodput("tables", ask=False)
    assert failed.returncode == 2
    assert "lakes: no such key" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_an_interrupt_ends_with_130(lake: Path) -> None:
    program = (
        "import os, signal, threading; from goodput.cli.main import main; import goodput.cli.query; "
        "signal.signal(signal.SIGINT, signal.default_int_handler); "
        "threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start(); main()"
    )
    endless = "select sum(a.range * b.range) from range(3000000) a, range(3000000) b"
    command = [sys.executable, "-c", program, "query", endless, "--lake", str(lake)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 130
    assert ended.stderr == "Interrupted.\n"


ENDLESS = "select sum(a.range * b.range) from range(3000000) a, range(3000000) b"
IN_DUCKDB = f"sql_files.connect().sql({ENDLESS!r}).fetchall()"
IN_NOBODYS_DUCKDB = f"duckdb.sql({ENDLESS!r}).fetchall()"  # which does not always hear of it
IN_SQLALCHEMY = (
    "import sqlalchemy; "
    f"sqlalchemy.create_engine('duckdb:///:memory:').connect().exec_driver_sql({ENDLESS!r}).fetchall()"
)
STRUCK = """
import os, signal, sys, threading
import duckdb
from goodput.cli import main
from goodput.plumbing import compute, sql_files, work
signal.signal(signal.SIGINT, signal.default_int_handler)

def endless(*_):
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    {statement}

def swallowing(*_):
    try:
        endless()
    except BaseException:
        return {{}}

{where}
main.main()
"""
STRIKES = {
    "sql of a partition": ("compute.compute = endless", IN_DUCKDB),
    "sql of a library": ("compute.compute = endless", IN_NOBODYS_DUCKDB),
    "audit by sqlalchemy": ("work.audit = endless", IN_SQLALCHEMY),
    "audit that takes it for a finding": ("work.audit = swallowing", IN_SQLALCHEMY),
    "pure python": ("work.audit = endless", "threading.Event().wait(60)"),
}


@pytest.mark.parametrize("way", STRIKES)
def test_ctrl_c_ends_a_run_with_130_and_one_line_wherever_it_strikes(tmp_path: Path, way: str) -> None:
    (tmp_path / "goodput.toml").write_text(SETTINGS)
    (tmp_path / "landing").mkdir()
    (tmp_path / "landing/rows.csv").write_text("id,start,end,ttft,outcome\na,1795165200,1795165210,0.5,ok\n")
    where, statement = STRIKES[way]
    command = [sys.executable, "-c", STRUCK.format(where=where, statement=statement), "run"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, cwd=tmp_path)
    assert ended.stderr == "Interrupted. What was finished is kept: another run goes on from there.\n"
    assert ended.returncode == 130
    assert not Blocked(Lake(tmp_path / "lake")).all()
    assert not Lake(tmp_path / "lake").catalog["requests"].parts, "what was interrupted is nobody's finding"


def test_where_ctrl_c_is_ignored_it_stays_so(tmp_path: Path) -> None:
    """As of a process that a shell without job control put in the background."""
    program = (
        "import os, signal; signal.signal(signal.SIGINT, signal.SIG_IGN); import goodput.cli.main as m; "
        "import goodput.cli.init as i; os.kill(os.getpid(), signal.SIGINT); m.main()"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, "init"], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert ended.returncode == 0


def test_an_interrupted_run_says_what_became_of_it(goodput: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("goodput.run.run", _raising(KeyboardInterrupt()))
    ended = goodput("run", ask=False)
    assert ended.returncode == 130
    assert ended.stderr.strip() == "Interrupted. What was finished is kept: another run goes on from there."


def test_an_error_that_nobody_foresaw_is_told_in_a_few_lines(
    goodput: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lake").mkdir()
    monkeypatch.setattr("goodput.run.run", _raising(ZeroDivisionError("3 / 0\na stack trace")))
    ended = goodput("run", ask=False)
    assert ended.returncode == 1
    assert "ZeroDivisionError: 3 / 0\nWhat was published before is untouched" in ended.stderr
    assert ended.stderr.endswith(f"the traceback in {tmp_path / 'lake/traceback.txt'}.\n")
    assert "raise error\nZeroDivisionError: 3 / 0\n" in (tmp_path / "lake/traceback.txt").read_text()


def _raising(error: BaseException) -> Callable[..., None]:
    def ends(*_: object) -> None:
        raise error

    return ends


@pytest.mark.parametrize(
    ("read", "quarantined", "expected"),
    [(0, 0, "No file lies in {landing}: "), (1, 3, "3 row(s) in quarantine; `goodput sources --problems`"), (1, 0, "")],
)
def test_a_run_says_what_to_look_at(  # noqa: PLR0917
    goodput: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: int, quarantined: int, expected: str
) -> None:
    monkeypatch.setenv("COLUMNS", "500")
    monkeypatch.setattr("goodput.run.run", lambda *_: Ran(Ingested(read, rows_quarantined=quarantined)))
    monkeypatch.setattr("goodput.cli.run.print_headline", lambda *_, **__: None)
    remedy = goodput("run", ask=False).stderr.partition("goodput.duckdb\n")[2]
    assert remedy.startswith(expected.format(landing=tmp_path / "landing"))
    assert bool(remedy) == bool(expected)


def test_a_run_names_the_step_that_failed(goodput: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "landing").mkdir()
    (tmp_path / "goodput.toml").write_text('landing = ["landing"]\n')
    monkeypatch.setattr("goodput.conform.ingest.scan", lambda *_: 1 / 0)
    ended = goodput("run", ask=False)
    assert "the run stopped in conform (ingest) at an error that it did not expect: ZeroDivision" in ended.stderr


def test_nothing_is_coloured_without_a_terminal(goodput: Run) -> None:
    for arguments in (("query", "from requests"), ("explain", "req-slow"), ("sources",), ("tables", "goodput")):
        assert "\x1b" not in goodput(*arguments).stdout


@pytest.fixture
def lake_with_alarms(tmp_path: Path) -> Path:
    """Folder with a goodput.duckdb in which no alarm is watched yet."""
    with duckdb.connect(tmp_path / "goodput.duckdb") as connection:
        connection.register("none", arrow_schema("alarms").empty_table())
        connection.execute("CREATE TABLE alarms AS FROM none")
    return tmp_path


@pytest.mark.parametrize(
    "asked",
    [
        ["query", "select 1"],
        ["tables"],
        ["explain", "req-slow"],
        ["sources"],
        ["compare", "--by", "verdict", "slow", "accepted"],
        ["labels", "plan", "--width", "0.1"],
    ],
)
def test_a_question_imports_nothing_that_only_runs_need(lake: Path, asked: list[str]) -> None:
    assert not _imported([*asked, "--lake", str(lake)]) & ONLY_FOR_RUNS


@pytest.mark.parametrize("asked", [["query", "select 1"], ["tables"], ["explain", "req-slow"], ["sources"]])
def test_a_question_needs_no_settings_that_need_no_check(lake: Path, asked: list[str]) -> None:
    assert not _imported([*asked, "--lake", str(lake)]) & OF_SETTINGS


def test_listing_alarms_imports_nothing_that_only_runs_need(lake_with_alarms: Path) -> None:
    assert not _imported(["alarms", "--lake", str(lake_with_alarms)]) & {*ONLY_FOR_RUNS, *OF_SETTINGS}


def test_the_help_imports_no_library_that_it_does_not_draw_with() -> None:
    imported = _imported(["--help"])
    assert "typer" in imported
    assert not imported & {*ONLY_FOR_RUNS, "duckdb", "_duckdb", "pydantic", "msgspec", "yaml"}


def _imported(arguments: list[str]) -> set[str]:
    """Names of all modules that a process of this command has imported when it ends."""
    program = (
        "import atexit, sys; from goodput.cli.main import main; "
        "atexit.register(lambda: print('imported', *sys.modules)); main()"
    )
    ran = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
    return set(ran.stdout.splitlines()[-1].split())
