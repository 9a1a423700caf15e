"""What is checked of assets: each check fails by what it says, and by nothing else."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from declared import source
from goodput.contracts import arrow_schema
from goodput.errors import BlockedPartition
from goodput.lineage import ASSETS
from goodput.plumbing import source_ledger
from goodput.plumbing.asset_checks import CheckLookup
from goodput.plumbing.blocked import Blocked
from goodput.plumbing.database import deliveries_file
from goodput.plumbing.lake import Lake
from goodput.plumbing.node import Context
from goodput.plumbing.workspace import Workspace
from goodput.run import run
from lakes import put

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
SETTINGS = """
landing = ["landing"]
lake = "lake"
[workloads.chat]
ttft_s = 1.0
"""
TIMES = {"started_at": "start_s", "ended_at": "end_s"}
CALLS = source("calls", "*.csv", "attempts", units=dict.fromkeys(TIMES, "epoch_s"), attempt_id="id", **TIMES)
GOOD = [f"r{n},{1_795_168_800 + n},{1_795_168_801 + n}" for n in range(30)]


def write(folder: Path, name: str, rows: list[str]) -> None:
    (folder / "landing").mkdir(exist_ok=True)
    (folder / "landing" / name).write_text("\n".join(["id,start_s,end_s", *rows, ""]))


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "goodput.toml").write_text(SETTINGS + CALLS)
    write(tmp_path, "good.csv", GOOD)
    return Workspace(tmp_path / "goodput.toml")


def failing(workspace: Workspace) -> dict[str, list[tuple[str, str]]]:
    """By asset, what fails its check and why."""
    workspace.lake.refresh()
    lookup = CheckLookup(Context(workspace.lake, workspace.settings))
    found = {
        asset.name: [(one.what, one.reason) for one in asset.check.find(lookup, asset.name)]
        for asset in ASSETS
        if asset.check
    }
    return {name: failures for name, failures in found.items() if failures}


def names_of_checks(name: str) -> str | None:
    return next(asset.check.name for asset in ASSETS if asset.name == name and asset.check)


def test_nothing_fails_of_a_new_lake_and_of_good_rows(workspace: Workspace) -> None:
    workspace.lake.open()
    assert failing(workspace) == {}
    run(workspace)
    assert failing(workspace) == {}


def test_rows_in_quarantine_warn_the_table_that_they_were_meant_for(workspace: Workspace, tmp_path: Path) -> None:
    write(tmp_path, "some.csv", [*GOOD[:29], "late,1795168800,1795168000", "odd,never,1795168801"])
    run(workspace)
    found = failing(workspace)
    assert found.keys() == {"serving_records", "source_ledger"}  # 2 of 31 rows are more than the twentieth allowed
    assert {what for what, _ in found["serving_records"]} == {"some.csv"}
    assert sorted(reason.split(":")[1] for _, reason in found["serving_records"]) == [" line 31", " line 32"]
    assert found["source_ledger"] == [("some.csv", "2 of 31 rows in quarantine")]
    warned = [asset.name for asset in ASSETS if asset.check and asset.check.is_warning]
    assert "serving_records" in warned
    assert "source_ledger" not in warned


def test_a_refused_file_fails_the_ledger(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "landing/broken.csv").write_text("when,what\n1,2\n")
    run(workspace)
    ((what, reason),) = failing(workspace)["source_ledger"]
    assert what == "broken.csv"
    assert reason.startswith("refused, ")


def test_a_file_whose_source_the_ledger_lost(workspace: Workspace) -> None:
    run(workspace)
    lake = workspace.lake
    (source_id,) = source_ledger.ids(lake)
    source_ledger.change(lake, [], [source_id])
    assert failing(workspace) == {"landed_files": [("good.csv", f"source {source_id} is not in the ledger")]}


def test_places_of_copies_that_have_grown_since_are_no_loss(workspace: Workspace, tmp_path: Path) -> None:
    """Where content lay is kept for ever, also of a source that another has taken the place of."""
    for rows in (GOOD[:20], GOOD):
        for name in ("good.csv", "copy.csv"):
            write(tmp_path, name, rows)
        run(Workspace(workspace.config))
    assert failing(Workspace(workspace.config)) == {}


def test_alarms_are_audited_where_they_lie(workspace: Workspace) -> None:
    """What they are judged by was audited before; of their own tables nothing is held back."""
    run(workspace)
    event = {"event_id": "e1", "alarm_id": "a1", "transition": "firing", "method": "m", "summary": "s"}
    instants = dict.fromkeys(("occurred_at", "starts_at", "recorded_at"), NOON)
    put(workspace.lake, "alarm_events", "all", [event | instants, event | instants])
    ((what, reason),) = failing(workspace)["alarm_events"]
    assert what == "alarm_events all"
    assert "event_id" in reason


def test_a_blocked_partition_fails_its_table_and_the_database(workspace: Workspace) -> None:
    run(workspace)
    blocked = BlockedPartition("session_hours", "2026-11-20T12", "it broke", inputs="")
    Blocked(workspace.lake).settle(["session_hours"], lambda _: True, [blocked])
    expected = [("session_hours 2026-11-20T12", "it broke")]
    assert failing(workspace) == {"session_hours": expected, "goodput_database": expected}
    assert names_of_checks("session_hours") == "computed"  # an inner table has no audit
    assert names_of_checks("requests") == "contract"


@pytest.mark.parametrize(("last_error", "fails"), [(None, False), ("HTTP 500", True)])
def test_a_channel_fails_by_its_last_attempt_alone(workspace: Workspace, last_error: str | None, fails: bool) -> None:
    workspace.lake.open()
    put_deliveries(
        workspace.lake,
        [(NOON, "HTTP 503" if last_error is None else None), (NOON + timedelta(hours=1), last_error), (None, None)],
    )
    expected = {"deliveries": [("ops", "last tried 2026-11-20 13:00 UTC: HTTP 500")]} if fails else {}
    assert failing(workspace) == expected


def put_deliveries(lake: Lake, attempts: list[tuple[datetime | None, str | None]]) -> None:
    rows = [{"channel": "ops", "attempted_at": at, "error": error} for at, error in attempts]
    path = deliveries_file(lake)
    path.parent.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=arrow_schema("deliveries")), path)
