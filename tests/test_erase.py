"""Erased identities are in nothing that the lake holds, every number is as it was, and files bring none back."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from conform.test_commit import Killed, dying
from conform.test_guard import HASHED, SETTINGS, lake_of, landing, pseudonym, rows_of
from goodput.cli.main import app
from goodput.contracts import stored_tables
from goodput.erase import erase, find
from goodput.errors import IdentityInSettings
from goodput.plumbing.sql_files import connect
from goodput.plumbing.workspace import Workspace
from goodput.run import run
from published import ask, copied

GONE = ("tenant-3", "session-3", "user-2")
RELATIONS = (
    "SELECT * EXCLUDE (computed_at, revision) FROM goodput",
    "FROM waste",
    "FROM gate_failures",
    "FROM cost_ledger",
    "FROM sessions",
    "FROM requests",
    "FROM quality_labels",
    "FROM cost_records",
)


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lake_of(tmp_path_factory.mktemp("before") / "lake").config or Path()


def erased_at(config: Path, *identities: str) -> list[Path | str]:
    """Erase identities; the landing files that hold them."""
    workspace = Workspace(config)
    with workspace.lake.lock():
        found = find(workspace, identities)
        erase(workspace, identities, found)
    return found.files


@pytest.fixture(scope="module")
def after(before: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    config = copied(before, tmp_path_factory.mktemp("after") / "copy")
    files = erased_at(config, *GONE)
    assert files == [before.parent / "landing" / name for name in ("bill.csv", "judge.csv", "log.csv")]
    return config


def holding(config: Path, identities: tuple[str, ...]) -> list[str]:
    """Where identities are: files by their bytes, parts that are on disk by their values, relations by their rows."""
    root = Workspace(config).lake.root
    files = [path for path in root.rglob("*") if path.is_file()]
    raw = [str(path) for path in files if any(name.encode() in path.read_bytes() for name in identities)]
    values = {str(path): str(pq.ParquetFile(path).read().to_pydict()) for path in files if path.suffix == ".parquet"}
    with connect(str(root / "goodput.duckdb"), read_only=True) as connection:
        names = connection.execute("SELECT table_schema, table_name FROM information_schema.tables").fetchall()
        for schema, name in names:
            values[f"{schema}.{name}"] = str(connection.execute(f'FROM "{schema}"."{name}"').fetchall())
    return raw + [where for where, text in values.items() if any(name in text for name in identities)]


def check_numbers(config: Path, before: Path) -> None:
    """Rows are equal once each erased identity is called as the lake now calls it, which one row of each tells."""
    called = {
        "session-3": "SELECT session_id FROM requests WHERE request_key = 'r3'",
        "tenant-3": "SELECT tenant FROM requests WHERE request_key = 'r3'",
        "user-2": "SELECT attributes->>'$.\"user.id\"' FROM requests WHERE request_key = 'r2'",
    }
    names = {name: ask(Workspace(config), sql).item() for name, sql in called.items()}
    assert all(name.startswith("erased:") for name in names.values())
    assert len(set(names.values())) == len(names)
    for sql in RELATIONS:
        expected = rows_of(Workspace(before), sql)
        assert expected
        for identity, name in names.items():
            expected = [row.replace(identity, name) for row in expected]
        assert sorted(expected) == rows_of(Workspace(config), sql), sql


def test_everything_had_them(before: Path) -> None:
    found = {Path(where).parent.parent.name for where in holding(before, GONE)}
    assert {"serving_records", "label_records", "requests", "session_hours", "goodput", "cost_ledger"} <= found


def test_nothing_that_the_lake_holds_has_them(after: Path) -> None:
    assert holding(after, GONE) == []
    assert holding(after, ("session-4",)), "others are as they were"


def test_every_number_is_as_it_was(before: Path, after: Path) -> None:
    check_numbers(after, before)


def test_names_are_forgotten(after: Path) -> None:
    noted = json.loads((after.parent / "lake/erased.json").read_text())
    assert len(noted["called"]) == len(GONE)
    assert set(noted["called"].values()) == {""}


def test_what_is_computed_again_is_the_very_same(before: Path, after: Path, tmp_path: Path) -> None:
    config = copied(after, tmp_path / "mine")
    run(Workspace(config))
    check_numbers(config, before)
    assert ask(Workspace(config), "FROM restatements").is_empty()
    verified = CliRunner().invoke(app, ["verify", "--recompute", "--config", str(config)])
    assert verified.exit_code == 0, verified.output


def test_files_that_are_read_again_bring_none_back(after: Path, tmp_path: Path) -> None:
    config = copied(after, tmp_path / "mine")
    config.write_text(SETTINGS.replace('keep = ["user.id", "tier"]', 'keep = ["user.id", "tier", "more"]'))
    with (config.parent / "landing/judge.csv").open("a") as file:
        file.write("session-3,judge,1,1795169500\n")
    assert run(Workspace(config)).ingested.superseded >= 2
    assert holding(config, GONE) == []
    assert ask(Workspace(config), "SELECT session_id FROM requests WHERE request_key = 'r3'").item() is None
    assert ask(Workspace(config), "SELECT count(*) FROM requests").item() == 40


@pytest.mark.parametrize("at", [0, 3, 9])
def test_wherever_it_dies_the_same_command_goes_on(
    before: Path, tmp_path: Path, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = copied(before, tmp_path / "mine")
    with monkeypatch.context() as patched:
        dying(patched, at)
        with pytest.raises(Killed):
            erased_at(config, *GONE)
    erased_at(config, *GONE)
    assert holding(config, GONE) == []
    check_numbers(config, before)


def test_a_hashed_identity_is_erased_as_it_is_or_by_its_pseudonym(tmp_path: Path) -> None:
    config = lake_of(tmp_path / "lake", HASHED).config or Path()
    names = (pseudonym("session-3"), pseudonym("tenant-3"))
    assert holding(config, names)
    erased_at(config, "session-3", names[1])
    assert holding(config, names) == []


def test_an_id_that_reads_the_same_in_another_unicode_form_is_named(tmp_path: Path) -> None:
    landing(tmp_path / "lake")
    config, log = tmp_path / "lake/goodput.toml", tmp_path / "lake/landing/log.csv"
    config.write_text(SETTINGS)
    log.write_text(log.read_text().replace("session-3", "jose\u0301"))
    run(Workspace(config))
    shown = CliRunner().invoke(
        app, ["erase", "jos\u00e9", "--dry-run", "--config", str(config)], env={"COLUMNS": "200"}
    )
    assert "No row has them." in shown.output
    assert "stays unless it is given: 'jose\\u0301'" in shown.output


def test_an_identity_by_which_the_settings_select_stays(before: Path, tmp_path: Path) -> None:
    config = copied(before, tmp_path / "mine")
    with pytest.raises(IdentityInSettings, match=r"workloads\.gold\.match\.tenant"):
        erased_at(config, "tenant-1")
    assert holding(config, ("tenant-1",))


def test_the_command_names_what_is_left_to_do(before: Path, tmp_path: Path) -> None:
    config = copied(before, tmp_path / "mine")
    versions = {name: Workspace(config).lake.catalog[name].version for name in stored_tables()}
    shown = CliRunner().invoke(app, ["erase", "session-3", "--dry-run", "--config", str(config)])
    assert shown.exit_code == 0, shown.output
    assert ["serving_records", "4"] in [line.split() for line in shown.output.splitlines()]  # of 40 in ten sessions
    assert f"in {before.parent / 'landing/log.csv'}" in shown.output
    assert versions == {name: Workspace(config).lake.catalog[name].version for name in stored_tables()}
    done = CliRunner().invoke(app, ["erase", "session-3", "--config", str(config)])
    assert done.exit_code == 1
    assert str(before.parent / "landing/log.csv") in str(done.exception)
    again = CliRunner().invoke(app, ["erase", "session-3", "--config", str(config)])
    assert (again.exit_code, "No row has them." in again.output) == (0, True)
