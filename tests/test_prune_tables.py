"""Days by table: what goes is whole days of tables that nothing open reads, the rest stays and says why.

What must come of a lake is taken from one that was never pruned, or from one made afresh.
"""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from polars.testing import assert_frame_equal
from typer.testing import CliRunner

from conform.test_commit import Killed, dying
from goodput.cli.main import app
from goodput.contracts import contract, stored_tables
from goodput.errors import NothingToReport, NotPrunable, SettingsError
from goodput.plumbing.pruned import read_pruned
from goodput.plumbing.workspace import Workspace
from goodput.prunable import kept_for_ever
from goodput.prune import plan_pruning
from goodput.rebuild import rebuild
from goodput.run import run
from goodput.settings.load import load_settings
from published import ask, copied, run_at
from test_prune import (
    CLOSED,
    HEAD,
    NOW,
    RETENTION,
    SETTINGS,
    Clock,
    broken,
    call,
    check_open_as,
    land,
    measured,
    pruned_at,
    split,
)

OF_WINDOWS = ("goodput", "waste", "replica_windows", "coverage")
PRUNABLE = tuple(name for name in stored_tables() if name not in kept_for_ever())
RECORDS = ("serving_records", "span_links", "attempts")
FEW = (*RECORDS, "replica_windows", "cache_by_replica", "quality", "waste", "cost_ledger", "id_hours")


def with_days(tables: tuple[str, ...], days: int = 2, settings: str = SETTINGS) -> str:
    """The settings with days for these tables and nothing else."""
    lines = "\n".join(f"{name} = {days}" for name in tables)
    return settings.replace(RETENTION, f"[retention.tables]\n{lines}\n")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of which nothing was pruned."""
    config = land(tmp_path_factory.mktemp("whole"))
    run_at(config)
    return config


def pruned_by(tables: tuple[str, ...], whole: Path, folder: Path) -> Path:
    """A copy of a lake, pruned of these tables."""
    config = copied(whole, folder / "copy")
    config.write_text(with_days(tables))
    pruned_at(config)
    return config


@pytest.fixture(scope="module")
def every(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of which every table was pruned that can be."""
    return pruned_by(PRUNABLE, whole, tmp_path_factory.mktemp("every"))


@pytest.fixture(scope="module")
def few(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of which some tables were pruned, and requests and windows of goodput were not."""
    return pruned_by(FEW, whole, tmp_path_factory.mktemp("few"))


def kept(config: Path) -> dict[str, set[str]]:
    """The partitions with rows of every table with hours or days."""
    catalog = Workspace(config).lake.catalog
    return {
        name: {partition for partition, parts in catalog[name].parts.items() if any(part.rows for part in parts)}
        for name in stored_tables()
        if contract(name).partition != "none"
    }


def test_which_tables_can_be_pruned_follows_from_who_reads_them() -> None:
    """Read off the SQL and the plan by hand."""
    reasons = kept_for_ever()
    assert {name: reasons[name] for name in reasons if contract(name).partition != "none"} == {
        "billed_buckets": "it is read to be computed for closed days too (reconciliation)",
        "known_replicas": "cost_ledger reads all of it",
        "label_rows": "relation sources adds up all of it",
        "reconciliation": "it is computed for closed days too (reconciliation)",
        "sample_rows": "relation sources adds up all of it",
        "source_rows": "relation sources adds up all of it",
    }
    assert {"attempts", "replica_windows", "goodput", "disruptions"} <= {*PRUNABLE}


def test_of_every_table_that_can_be_pruned_days_go_and_open_days_stay(whole: Path, every: Path) -> None:
    before, after = kept(whole), kept(every)
    gone_before = read_pruned(every.parent / "lake").gone_before
    assert gone_before.keys() == {*PRUNABLE}
    for name in PRUNABLE:
        assert after[name] == {partition for partition in before[name] if partition >= gone_before[name]}, name
    for name in ("coverage", "serving_records", "attempts", "replica_samples"):
        assert after[name] < before[name], name
    assert after["coverage"] == {partition for partition in before["coverage"] if partition >= CLOSED}
    assert after["goodput"] == before["goodput"]  # the frontier reads a week of it
    for name in kept_for_ever().keys() & before.keys():
        assert after[name] == before[name], name
    for name in OF_WINDOWS:
        assert_frame_equal(split(measured(every, name))[1], split(measured(whole, name))[1])


@pytest.mark.only(*OF_WINDOWS, "latest_window", "watermark")
def test_open_hours_are_computed_anew_as_if_nothing_had_gone(every: Path, tmp_path: Path) -> None:
    lake = copied(every, tmp_path / "mine")
    changed = with_days(PRUNABLE).replace("ttft_s = 1.0", "ttft_s = 0.5").replace("2.0", "3.0")
    lake.write_text(changed)
    run(Workspace(lake))
    fresh = land(tmp_path / "fresh", changed)
    run_at(fresh)
    check_open_as(lake, fresh, OF_WINDOWS)
    assert_frame_equal(measured(lake, "latest_window"), measured(fresh, "latest_window"))
    assert_frame_equal(measured(lake, "watermark"), measured(fresh, "watermark"))


def test_what_stays_longer_than_asked_says_why(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = copied(whole, tmp_path / "mine")
    config.write_text(with_days(FEW))
    monkeypatch.setattr("goodput.cli.prune.datetime", Clock)
    before = kept(config)
    shown = CliRunner().invoke(app, ["prune", "--dry-run", "--config", str(config)], env={"COLUMNS": "200"})
    assert shown.exit_code == 0, shown.output
    going, beyond = shown.output.split("Kept longer than the settings ask for:")
    assert "serving_records" in going
    said = {line.split()[0]: " ".join(line.split()) for line in beyond.splitlines() if line.strip()}
    # requests and goodput have no days: what would make them look otherwise stays with them
    assert "ever" in said["cost_ledger"]
    assert "it says something of requests, which stay for ever" in said["cost_ledger"]
    assert "it says something of goodput, which stay for ever" in said["waste"]
    assert "waste" not in going
    assert "cost_ledger" not in going
    assert "hours that stay open" in said["attempts"]
    assert kept(config) == before


def test_windows_whose_rows_were_pruned_stay_and_nothing_is_to_do(few: Path, whole: Path, tmp_path: Path) -> None:
    lake = copied(few, tmp_path / "mine")
    ran = run(Workspace(lake))
    assert (ran.ingested.read, ran.hours_computed) == (0, 0)
    for name in ("goodput", "waste", "coverage", "gate_failures", "reconciliation", "requests", "cost_ledger"):
        assert_frame_equal(measured(lake, name), measured(whole, name))
    verified = CliRunner().invoke(app, ["verify", "--config", str(lake)])
    assert (verified.exit_code, "0 damaged" in verified.output) == (0, True), verified.output
    assert pruned_at(lake).going == {}


@pytest.mark.parametrize("at", [0, 1, 3])
def test_wherever_it_dies_the_next_one_ends_as_if_it_had_not(
    whole: Path, few: Path, tmp_path: Path, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = copied(whole, tmp_path / "mine")
    config.write_text(with_days(FEW))
    with monkeypatch.context() as patched:
        dying(patched, at)
        with pytest.raises(Killed):
            pruned_at(config)
    assert run(Workspace(config)).hours_computed == 0
    pruned_at(config)
    assert kept(config) == kept(few)
    assert_frame_equal(measured(config, "goodput"), measured(whole, "goodput"))
    assert ask(Workspace(config), "FROM pruned").rows() == ask(Workspace(few), "FROM pruned").rows()


def test_late_rows_of_closed_hours_are_counted_and_change_nothing(few: Path, tmp_path: Path) -> None:
    lake = copied(few, tmp_path / "mine")
    before = measured(lake, "goodput")
    late = call(900, "2026-11-21T10:52:00Z", 0.1, "late")
    (lake.parent / "landing/calls-late.csv").write_text(f"{HEAD}\n{late}\n")
    run(Workspace(lake))
    assert_frame_equal(measured(lake, "goodput"), before)
    (found,) = ask(Workspace(lake), "FROM sources WHERE path = 'calls-late.csv'").to_dicts()
    assert (found["rows_read"], found["rows_kept"], found["rows_ignored"]) == (1, 0, 1)
    assert broken(lake) == []


def test_a_request_is_explained_without_its_attempts(few: Path, whole: Path) -> None:
    before, after = (CliRunner().invoke(app, ["explain", "c0", "--config", str(at)]) for at in (whole, few))
    assert after.exit_code == 0, after.output
    assert "1 attempt(s) of it were pruned" in after.output
    assert "pruned" not in before.output
    assert after.output.splitlines()[:5] == before.output.splitlines()[:5]
    asked = CliRunner().invoke(app, ["explain", "nobody", "--config", str(few)])
    assert "Attempts before 2026-11-21T22:00 UTC were pruned" in str(asked.exception)


def test_windows_that_were_pruned_do_not_look_like_windows_without_traffic(
    every: Path, few: Path, whole: Path, tmp_path: Path
) -> None:
    assert ask(Workspace(whole), "FROM pruned").is_empty()
    (row,) = ask(Workspace(few), "FROM pruned WHERE relation = 'cache_by_replica'").to_dicts()
    gone = read_pruned(few.parent / "lake").gone_before["cache_by_replica"]
    assert (row["holds"], f"{row['kept_from']:%Y-%m-%d}") == ("windows", gone)
    said = CliRunner().invoke(app, ["report", "--format", "md", "--config", str(every)])
    assert said.exit_code == 0, said.output
    assert "Windows were pruned, whatever traffic they had: " in said.output
    assert "coverage before 22 Nov 2026 00:00" in said.output
    longer = CliRunner().invoke(app, ["report", "--format", "md", "--since", "2026-11-20", "--config", str(every)])
    assert "kept of coverage" in longer.output.lower()
    unpruned = CliRunner().invoke(app, ["report", "--format", "md", "--config", str(whole)])
    assert "pruned" not in unpruned.output


def test_a_report_of_pruned_windows_says_so(whole: Path, tmp_path: Path) -> None:
    config = copied(whole, tmp_path / "mine")
    config.write_text(with_days(PRUNABLE))
    pruned_at(config, datetime(2027, 1, 24, tzinfo=UTC))
    asked = ["report", "--format", "md", "--until", "2026-11-20", "--config", str(config)]
    found = CliRunner().invoke(app, asked)
    assert isinstance(found.exception, NothingToReport)
    assert "no window is published" in str(found.exception)


@pytest.mark.only("replica_windows")
def test_a_rebuilt_lake_has_everything_again(few: Path, whole: Path, tmp_path: Path) -> None:
    lake = copied(few, tmp_path / "mine")
    (lake.parent / "lake/lake.json").write_text('{"format": 3}')
    rebuild(Workspace(lake))
    assert kept(lake)["replica_windows"] == kept(whole)["replica_windows"]
    assert ask(Workspace(lake), "FROM pruned").is_empty()


def test_alarms_keep_what_they_are_judged_by(whole: Path, tmp_path: Path) -> None:
    config = copied(whole, tmp_path / "mine")
    config.write_text(with_days(PRUNABLE).replace("enabled = false", "enabled = true"))
    run(Workspace(config))
    workspace = Workspace(config)
    with workspace.lake.lock():
        planned = plan_pruning(workspace, NOW)
    assert not {"goodput"} & planned.going.keys()
    stay, _ = planned.beyond["goodput"]
    assert stay.kept_from <= "2026-08-23"  # 8 weeks that may still change, 4 that these need, and one


def test_tables_of_which_all_is_read_are_refused_by_name_all_at_once(whole: Path, tmp_path: Path) -> None:
    config = copied(whole, tmp_path / "mine")
    config.write_text(with_days(("source_rows", "known_replicas", "replica_windows")))
    with pytest.raises(NotPrunable) as caught:
        pruned_at(config)
    assert caught.value.reasons == {
        "known_replicas": "cost_ledger reads all of it",
        "source_rows": "relation sources adds up all of it",
    }
    assert not (config.parent / "lake/pruned.json").exists()


def test_mistakes_are_listed_with_near_names(tmp_path: Path) -> None:
    tables = "atempts = 14\nquarantine = 3\nattempts = 14\nserving_records = 20"
    (tmp_path / "goodput.toml").write_text(f"[lakes]\n[retention.tables]\n{tables}\n")
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path / "goodput.toml")
    found = {mistake.key: (mistake.wrong, mistake.right) for mistake in caught.value.mistakes}
    assert found.keys() == {"lakes", *(f"retention.tables.{name}" for name in ("atempts", "quarantine", "attempts"))}
    assert found["retention.tables.atempts"][0] == "no such table"
    assert found["retention.tables.atempts"][1].split(", ")[0] == "attempts"
    both = [mistake.wrong for mistake in caught.value.mistakes if mistake.key == "retention.tables.attempts"]
    assert both == [
        "serving_records, kept for 20 days, would outlive attempts, which have 14",
        "span_links, kept for ever, would outlive attempts, which have 14",
    ]


def test_days_of_a_table_take_the_place_of_those_of_its_kind(tmp_path: Path) -> None:
    text = "[retention]\nrecords_days = 10\nrequests_days = 30\n[retention.tables]\nattempts = 20\nwaste = 90\n"
    (tmp_path / "goodput.toml").write_text(text)
    days = load_settings(tmp_path / "goodput.toml").retention.days
    assert (days["serving_records"], days["attempts"], days["requests"], days["waste"]) == (10, 20, 30, 90)
    assert "sample_records" not in days
