"""What `[privacy]` chose before leaves no identity behind: in no row, no file, whatever became of the landing files."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from collect.telemetry import START_NS
from conform.test_commit import Killed, dying
from conform.test_guard import HASHED, KEY, SETTINGS, landing, pseudonym, rows_of
from goodput.cli.main import app
from goodput.plumbing.workspace import Workspace
from goodput.run import run
from published import ask, copied, run_at
from test_erase import holding

START_S = START_NS // 10**9
NAMES = [f"{kind}-{n}" for kind, many in (("tenant", 4), ("session", 10), ("user", 8)) for n in range(many)]
OTHER_KEY = "another key that is long enough"
DROPPED = '\n[privacy]\nidentities = "dropped"\n'
NUMBERS = (
    "SELECT * EXCLUDE (computed_at, revision) FROM goodput",
    "FROM waste",
    "FROM cost_ledger",
    "FROM sessions",
    "FROM requests",
    "FROM restatements",
    "FROM quality_labels",
)
SERIES = "SELECT DISTINCT series_id, labels FROM replica_samples WHERE contains(labels, 'end_user')"


@pytest.fixture(scope="module")
def clear(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with identities as they are everywhere, in past restatements too, and one landing file left of four."""
    folder = tmp_path_factory.mktemp("clear") / "lake"
    landing(folder)
    files = folder / "landing"
    (files / "10.0.0.1-8000").mkdir()
    (files / f"10.0.0.1-8000/{START_S + 60}.prom").write_text(
        '# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{model_name="m",end_user="user-7"} 3\n'
    )
    (folder / "goodput.toml").write_text(SETTINGS)
    run_at(folder / "goodput.toml")
    with (files / "log.csv").open("a") as log:
        log.write(f"r40,tenant-1,session-1,{START_S + 100},{START_S + 105},0.1,50,user-1,\n")
        log.write(f"r41,,,{START_S + 110},{START_S + 115},0.1,50,,\n")  # of slices `unknown`, which is no identity
    workspace = run_at(folder / "goodput.toml")
    assert ask(workspace, "FROM restatements WHERE slice_value = 'tenant-1'").height
    assert ask(workspace, SERIES).height == 1
    for name in ("judge.csv", "bill.csv", f"10.0.0.1-8000/{START_S + 60}.prom"):
        (files / name).unlink()
    return folder / "goodput.toml"


def chosen(config: Path, privacy: str) -> Workspace:
    config.write_text(SETTINGS + privacy)
    return run_at(config)


def without_selecting(settings: str) -> str:
    return settings.replace('[workloads.gold.match]\ntenant = ["tenant-1", "tenant-2"]\n', "")


def renamed(rows: list[str], name_of: Callable[[str], str]) -> list[str]:
    def quoted(found: re.Match[str]) -> str:
        return f"{found[1]}{name_of(found[2])}{found[1]}" if found[2] in NAMES else found[0]

    return sorted(re.sub(r"(['\"])([a-z]+-\d+)\1", quoted, row) for row in rows)


def test_every_place_has_them_first(clear: Path) -> None:
    found = {Path(where).parent.parent.name for where in holding(clear, tuple(NAMES))}
    assert {"serving_records", "label_records", "sample_records", "cost_lines", "goodput", "restatements"} <= found


def test_once_hashed_nothing_has_them_and_every_number_is_as_it_was(clear: Path, tmp_path: Path) -> None:
    config = copied(clear, tmp_path / "mine")
    workspace = chosen(config, HASHED)
    assert holding(config, tuple(NAMES)) == []
    for sql in NUMBERS:
        expected = rows_of(Workspace(clear), sql)
        assert any(name in row for row in expected for name in NAMES), sql
        assert renamed(expected, pseudonym) == rows_of(workspace, sql), sql
    before, after = ask(Workspace(clear), SERIES).row(0), ask(workspace, SERIES).row(0)
    assert json.loads(after[1])["end_user"] == pseudonym("user-7")
    assert after[0] == pseudonym(before[0]).removeprefix("id:"), "an id that hashes all labels is hashed by the key"


def test_once_dropped_nothing_has_them_and_the_rest_is_as_it_was(clear: Path, tmp_path: Path) -> None:
    config = copied(clear, tmp_path / "mine")
    config.write_text(without_selecting(SETTINGS) + DROPPED)
    workspace = run_at(config)
    assert holding(config, tuple(NAMES)) == []
    counted = ask(workspace, "SELECT count(*) AS requests, count(tenant), count(session_id) FROM requests")
    assert counted.row(0) == (42, 0, 0)
    values = "SELECT DISTINCT slice_value FROM {} WHERE slice_value IS NOT NULL"
    for relation in ("goodput", "waste", "restatements"):
        assert ask(workspace, values.format(relation)).to_series().to_list() == ["unknown"], relation
    billed = "SELECT round(sum(amount_usd), 6) FROM cost_records"
    assert ask(workspace, billed).item() == ask(Workspace(clear), billed).item() == 1 + 2 + 3 + 4


def test_by_another_key_no_pseudonym_of_the_earlier_one_stays(clear: Path, tmp_path: Path) -> None:
    config = copied(clear, tmp_path / "mine")
    chosen(config, HASHED)
    earlier = tuple(map(pseudonym, NAMES))
    assert holding(config, earlier)
    workspace = chosen(config, HASHED.replace(KEY, OTHER_KEY))
    assert holding(config, (*NAMES, *earlier)) == []
    tenants = set(ask(workspace, "SELECT DISTINCT tenant FROM requests WHERE tenant IS NOT NULL")["tenant"])
    assert tenants == {pseudonym(f"tenant-{n}", OTHER_KEY) for n in range(4)}
    billed = set(ask(workspace, "SELECT DISTINCT tenant FROM cost_records")["tenant"])
    assert billed == {pseudonym(pseudonym(f"tenant-{n}"), OTHER_KEY) for n in range(4)}, "its file is gone"


@pytest.mark.parametrize(("first", "at"), [("", 3), ("", 11), (HASHED, 7)])
def test_wherever_it_dies_the_next_run_ends_it(
    clear: Path, tmp_path: Path, first: str, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = copied(clear, tmp_path / "mine")
    if first:
        chosen(config, first)
    config.write_text(SETTINGS + HASHED.replace(KEY, OTHER_KEY))
    with monkeypatch.context() as patched:
        dying(patched, at)
        with pytest.raises(Killed):
            run(Workspace(config))
    workspace = run_at(config)
    assert holding(config, (*NAMES, *map(pseudonym, NAMES))) == []
    of_gone = pseudonym if first else str
    billed = set(ask(workspace, "SELECT DISTINCT tenant FROM cost_records")["tenant"])
    assert billed == {pseudonym(of_gone(f"tenant-{n}"), OTHER_KEY) for n in range(4)}


def test_the_run_says_what_it_did_and_doctor_what_is_left(clear: Path, tmp_path: Path) -> None:
    config = copied(clear, tmp_path / "mine")

    def shown(command: str) -> str:
        return " ".join(
            CliRunner().invoke(app, [command, "--config", str(config)], env={"COLUMNS": "300"}).output.split()
        )

    assert "identities" not in shown("doctor")
    config.write_text(SETTINGS + HASHED)
    assert "identities ATTENTION" in shown("doctor").replace("attention", "ATTENTION")
    assert "have pseudonyms by the key of now" in shown("run")
    assert "identities ok" in shown("doctor")
    assert "Identities of an earlier choice" not in shown("run")
