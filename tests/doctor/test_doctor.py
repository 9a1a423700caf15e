"""`goodput doctor` names what is wrong with an installation, and only that."""

import json
import os
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

from declared import source
from goodput.cli.main import app
from goodput.doctor.finding import State
from goodput.errors import LakeUnwritable, PartitionsBlocked
from goodput.plumbing.workspace import Workspace
from published import run_at

HOUR_S = 3600.0
UNITS = {"started_at": "iso8601", "ended_at": "iso8601"}
SETTINGS = "[alarms]\nenabled = false\n[workloads.chat]\nmatch = { model = 'm' }\n" + source(
    "calls", "*.csv", "attempts", units=UNITS, attempt_id="id", started_at="start", ended_at="end", model="model"
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of one call that ended a minute ago."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "landing").mkdir()
    (folder / "goodput.toml").write_text(SETTINGS)
    end = datetime.now(UTC) - timedelta(minutes=1)
    (folder / "landing" / "calls.csv").write_text(f"id,start,end,model\n1,{end.isoformat()},{end.isoformat()},m\n")
    run_at(folder / "goodput.toml")
    return folder


@pytest.fixture
def home(whole: Path, tmp_path: Path) -> Path:
    """A copy of it, which tests may break."""
    return Path(shutil.copytree(whole, tmp_path / "home"))


def examined(home: Path) -> tuple[int, dict[str, tuple[str, str]]]:
    """The exit code, and of each subject how it is and what was found."""
    result = CliRunner().invoke(app, ["doctor", "--config", str(home / "goodput.toml")], env={"COLUMNS": "1000"})
    states = tuple(f" {state} " for state in State)
    found = {}
    for line in result.output.splitlines()[2:]:
        state = next(state for state in states if state in line)
        subject, _, rest = line.partition(state)
        found[subject.strip()] = (state.strip(), rest.strip())
    return result.exit_code, found


def broken(home: Path) -> dict[str, str]:
    """What is broken, with the exit code that says so."""
    code, found = examined(home)
    wrong = {subject: text for subject, (state, text) in found.items() if state == State.broken}
    assert code == (1 if wrong else 0)
    return wrong


def test_a_fresh_lake_is_well(home: Path) -> None:
    code, found = examined(home)
    assert code == 0
    assert {state for subject, (state, _) in found.items() if subject != "warnings"} == {State.ok}
    assert {"settings", "landing", "clock", "disk", "lake", "last run", "sources", "deliveries"} <= set(found)


def test_a_lake_that_may_only_be_read_is_examined_and_verified(home: Path) -> None:
    """Its lock cannot be opened: whether a run goes on is not known, all else is."""
    lock = home / "lake/.lock"
    lock.unlink()
    lock.mkdir()
    code, found = examined(home)
    assert code == 0
    assert "may only be read here" in found["lake"][1]
    assert {"last run", "sources", "deliveries"} <= set(found)
    config = ["--config", str(home / "goodput.toml")]
    verified = CliRunner().invoke(app, ["verify", *config])
    assert verified.exit_code == 0, verified.output
    assert "0 damaged" in verified.output
    assert isinstance(CliRunner().invoke(app, ["verify", "--repair", *config]).exception, LakeUnwritable)


def test_nothing_yet_is_not_broken(tmp_path: Path) -> None:
    (tmp_path / "landing").mkdir()
    (tmp_path / "goodput.toml").write_text(SETTINGS)
    code, found = examined(tmp_path)
    assert (code, found["landing"][0], found["lake"][0]) == (0, State.attention, State.attention)
    assert not (tmp_path / "lake").exists()


def test_mistakes_in_the_settings_are_told(home: Path) -> None:
    (home / "goodput.toml").write_text(SETTINGS + "[limits]\nquarantined_rato = 1\n")
    assert "quarantined_rato" in broken(home)["settings"]


def test_a_landing_zone_that_is_gone(home: Path) -> None:
    shutil.rmtree(home / "landing")
    found = broken(home)
    assert set(found) == {"landing"}
    assert found["landing"].split("   ")[0] == f"not there: {home}/landing"


def test_a_file_of_the_future_shows_a_clock_that_is_wrong(home: Path) -> None:
    ahead = time.time() + 5 * HOUR_S
    os.utime(home / "landing" / "calls.csv", (ahead, ahead))
    assert "5.0 h from now" in broken(home)["clock"]


def test_a_file_that_lies_unread_shows_that_no_run_comes(home: Path) -> None:
    now = time.time()
    os.utime(home / "landing" / "calls.csv", (now - 5 * HOUR_S,) * 2)
    run_at(home / "goodput.toml")
    landed = home / "landing" / "late.csv"
    landed.write_text("id,start,end,model\n")
    database = home / "lake" / "goodput.duckdb"
    for waited_h, is_broken in ((1, False), (3, True)):
        os.utime(landed, (now - waited_h * HOUR_S,) * 2)
        os.utime(database, (now - 4 * HOUR_S,) * 2)
        assert ("1 file(s) have changed since" in broken(home).get("last run", "")) == is_broken


def test_a_file_that_was_put_in_the_place_of_another_of_its_size_and_time_has_changed(home: Path) -> None:
    now = time.time()
    calls = home / "landing" / "calls.csv"
    os.utime(calls, (now - 5 * HOUR_S,) * 2)
    run_at(home / "goodput.toml")
    os.utime(home / "lake" / "goodput.duckdb", (now - HOUR_S,) * 2)
    assert "0 file(s) have changed since" in examined(home)[1]["last run"][1]
    other = home / "other.csv"
    other.write_text(calls.read_text().replace("\n1,", "\n2,"))
    os.utime(other, ns=(calls.stat().st_mtime_ns,) * 2)
    other.replace(calls)
    assert "1 file(s) have changed since" in examined(home)[1]["last run"][1]


def test_files_that_are_not_read_are_counted(home: Path) -> None:
    for name in (".late.jsonl", "late.csv.tmp", ".receive.lock"):
        (home / "landing" / name).touch()
    assert "2 hidden or unfinished" in examined(home)[1]["landing"][1]
    said = CliRunner().invoke(
        app, ["sources", "--problems", "--config", str(home / "goodput.toml")], env={"COLUMNS": "1000"}
    )
    assert "2 hidden or unfinished file(s) or folder(s) are not read" in said.output


def test_a_run_that_crashed_since(home: Path) -> None:
    crash = home / "lake" / "traceback.txt"
    crash.write_text("Traceback")
    os.utime(crash, (time.time() + 60,) * 2)
    assert set(broken(home)) == {"last run"}


def test_a_lake_of_another_format(home: Path) -> None:
    marker = home / "lake" / "lake.json"
    for format_, to_do in ((1, "goodput rebuild"), (99, "install the version that wrote it")):
        marker.write_text(json.dumps({"format": format_}))
        assert to_do in broken(home)["lake"]


def test_a_refused_file_and_one_with_too_many_rows_in_quarantine(home: Path) -> None:
    (home / "landing" / "bad.csv").write_text("id,start,end,model\n2,yesterday,today,m\n")
    (home / "landing" / "worse.csv").write_text("identifier\n2\n")
    run_at(home / "goodput.toml")
    found = broken(home)
    assert set(found) == {"sources"}
    assert "bad.csv: 1 of 1 rows in quarantine" in found["sources"]
    assert "worse.csv: refused" in found["sources"]


def test_what_another_program_wrote_into_the_database(home: Path) -> None:
    """It is told while it does no harm, and what is advised heals a database that nobody can open."""
    database = home / "lake" / "goodput.duckdb"
    older = database.read_bytes()
    write = f"held = duckdb.connect({str(database)!r}); held.execute('create view mine as select 1')"
    killed = f"import duckdb, os, signal; {write}; os.kill(os.getpid(), signal.SIGKILL)"
    subprocess.run([sys.executable, "-c", killed], check=False)
    code, found = examined(home)
    assert (code, found["database"][0]) == (0, State.attention)
    assert "goodput.duckdb.wal lies beside it" in found["database"][1]
    log = database.with_name("goodput.duckdb.wal")
    foreign = log.read_bytes()
    run_at(home / "goodput.toml")
    assert "database" not in examined(home)[1]
    with duckdb.connect(database) as connection:  # its log is refused from now on
        connection.execute("CREATE OR REPLACE TABLE workloads AS FROM workloads")
    assert database.read_bytes() != older
    log.write_bytes(foreign)
    assert "then `goodput run`, which removes the log" in broken(home)["database"]
    asked = CliRunner().invoke(app, ["query", "from workloads", "--config", str(home / "goodput.toml")])
    assert "then `goodput run`, which removes the log" in str(asked.exception)
    run_at(home / "goodput.toml")
    assert broken(home) == {}


def test_a_database_that_another_program_has_open_to_write(home: Path) -> None:
    database = home / "lake" / "goodput.duckdb"
    hold = f"import duckdb, sys; held = duckdb.connect({str(database)!r}); print(flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert "`goodput run`, which publishes beside it" in broken(home)["database"]
        run_at(home / "goodput.toml")
        assert broken(home) == {}
        process.kill()


def test_a_database_that_cannot_be_read(home: Path) -> None:
    (home / "lake" / "goodput.duckdb").write_bytes(b"no database")
    assert set(broken(home)) == {"database"}


def test_warnings_that_are_blocked_are_not_called_well(home: Path) -> None:
    lake = Workspace(home / "goodput.toml").lake
    (part,) = (part for parts in lake.catalog["serving_records"].parts.values() for part in parts)
    part.path.write_bytes(part.path.read_bytes()[:20])
    landed = (home / "landing" / "calls.csv").rename(home / "archived.csv")  # so that nothing makes it again
    (home / "landing" / "more.csv").write_text(landed.read_text().replace("\n1,", "\n2,"))
    with pytest.raises(PartitionsBlocked):
        run_at(home / "goodput.toml")
    _, found = examined(home)
    state, text = found["warnings"]
    assert (state, found["partitions"][0]) == (State.attention, State.broken)
    assert text.startswith("of an earlier run, as they are blocked since: ")
