"""A lake of format 1 made anew: what the landing files give is computed, what they cannot give is carried over."""

import json
import shutil
import sqlite3
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goodput import rebuild as rebuild_module
from goodput.cli.main import main
from goodput.contracts import arrow_schema
from goodput.errors import (
    BlockedPartition,
    LakeBusy,
    LakeTooNew,
    LakeTooOld,
    LakeUnreadable,
    LakeUnwritable,
    NothingToRebuild,
    OutboxUnusable,
    PartitionsBlocked,
)
from goodput.notify.outbox import Outbox, outbox_file
from goodput.plumbing.alarm_actions import Action, actions_file, add_action, read_actions
from goodput.plumbing.catalog import ALL
from goodput.plumbing.database import deliveries_file
from goodput.plumbing.lake import Lake, write_parquet
from goodput.plumbing.workspace import Workspace
from goodput.rebuild import rebuild
from goodput.run import run
from lakes import rows_of
from notify.alarms import event
from notify.test_outbox import draft

pytestmark = pytest.mark.only("goodput", "id_hours")

SETTINGS = """
landing = ["landing"]
lake = "lake"
[workloads.qa]
ttft_s = 1.0
[sources.rows]
format = "csv"
path = "*.csv"
[sources.rows.columns]
attempt_id = "id"
started_at = { column = "start", unit = "epoch_s" }
ended_at = { column = "end", unit = "epoch_s" }
ttft_s = { column = "ttft", unit = "s" }
outcome = "outcome"
"""
BEGIN_S = 1_795_165_200  # 2026-11-20T09:00:00Z
# Of three requests two are good enough: the second is slow.
ATTEMPTS = [("a", 0, 10, 0.5), ("b", 20, 30, 1.5), ("c", 40, 50, 0.9)]
ACCEPTED = "SELECT accepted FROM goodput WHERE slice = 'overall' AND window_s = 3600"
SILENCED_AT = datetime(2026, 11, 21, 13, tzinfo=UTC)
SILENCE = Action("s1", "silence", {"pool": "chat"}, SILENCED_AT, SILENCED_AT, SILENCED_AT + timedelta(hours=4), "why")


def write_old(path: Path, table: str, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=arrow_schema(table)), path)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A landing folder, and a lake of format 1 with alarms, an operator's silence, an outbox and a picture."""
    (tmp_path / "goodput.toml").write_text(SETTINGS)
    lines = [f"{name},{BEGIN_S + begin},{BEGIN_S + end},{ttft},ok" for name, begin, end, ttft in ATTEMPTS]
    (tmp_path / "landing").mkdir()
    (tmp_path / "landing/rows.csv").write_text("\n".join(["id,start,end,ttft,outcome", *lines]) + "\n")
    at_work = Workspace(tmp_path / "goodput.toml")
    old = tmp_path / "lake"
    events = [event("f"), event("r", "resolved", after_h=2)]
    write_old(old / "monitored/alarm_events/history=all/part.parquet", "alarm_events", events)
    delivered = {"delivery_id": "d", "channel": "ops", "state": "delivered", "alarm_ids": ["a"]}
    write_old(old / "notified/deliveries/all/part.parquet", "deliveries", [delivered])
    write_old(old / "conformed/serving_records/hour=2026-11-20T09/s1.parquet", "serving_records", [{"record_id": "x"}])
    (old / "lake.json").write_text('{"format": 1}\n')
    (old / "goodput.duckdb").write_bytes(b"a database of the older version")
    (old / "plots").mkdir()
    (old / "plots/f.png").write_bytes(b"png")
    add_action(old, SILENCE)
    with Outbox(outbox_file(at_work.lake)) as outbox, outbox.writing():
        outbox.add([draft("d", "trend-ttft-chat")])
    return at_work


def files(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, but for the lock and what SQLite keeps of an open outbox."""
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if not name.endswith((".lock", "-wal", "-shm"))}


def ask(lake: Path, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(lake / "goodput.duckdb"), read_only=True) as connection:
        return connection.sql(sql).fetchall()


def outbox_rows(lake: Path) -> list[tuple[Any, ...]]:
    with Outbox(lake / "outbox.db") as outbox:
        return [tuple(row) for row in outbox.rows("SELECT delivery_id, state, summary FROM deliveries")]


def test_a_run_refuses_an_older_lake_and_leaves_it_alone(workspace: Workspace) -> None:
    before = files(workspace.lake.root)
    with pytest.raises(LakeTooOld, match=r"format 1; this version of Goodput writes format 4\.\n`goodput rebuild`"):
        run(workspace)
    assert files(workspace.lake.root) == before


def test_an_older_lake_is_made_anew(workspace: Workspace) -> None:
    lake = workspace.lake.root
    before = files(lake)
    kept, blocked = rebuild(workspace)
    assert (kept, blocked) == (lake.with_name("lake.format1"), None)
    assert files(kept) == before
    assert json.loads((lake / "lake.json").read_text())["format"] == 4
    assert sorted(path.name for path in lake.parent.iterdir()) == ["goodput.toml", "lake", "lake.format1", "landing"]
    assert ask(lake, ACCEPTED) == [(2,)]
    assert ask(lake, "SELECT count(*) FROM requests") == [(3,)], "views read the lake where it is now"
    assert ask(lake, "SELECT count(*) FROM serving_records WHERE record_id = 'x'") == [(0,)]


def test_what_the_landing_files_cannot_give_is_carried_over(workspace: Workspace) -> None:
    lake = workspace.lake.root
    rebuild(workspace)
    events = {row["event_id"]: row for row in rows_of(Lake(lake), "alarm_events")}
    for carried in (event("f"), event("r", "resolved", after_h=2)):
        assert events[carried["event_id"]].items() >= carried.items()
    published = ask(lake, "SELECT event_id, transition FROM alarm_events WHERE event_id IN ('f', 'r') ORDER BY ALL")
    assert published == [("f", "firing"), ("r", "resolved")]
    assert read_actions(lake) == [SILENCE]
    assert (lake / "plots/f.png").read_bytes() == b"png"
    assert outbox_rows(lake) == [("d", "pending", "something is slow")]
    assert ask(lake, "SELECT delivery_id, state, alarm_ids FROM deliveries") == [("d", "delivered", ["a"])]


def test_alarms_of_a_format_with_delta_tables_are_carried_over(workspace: Workspace) -> None:
    """From format 2 on tables have a Delta log; of an older version's events not all columns may be there."""
    old, lake = workspace.lake, workspace.lake.root
    shutil.rmtree(lake / "monitored")
    shutil.rmtree(lake / "notified")
    (lake / "lake.json").write_text('{"format": 3}\n')
    rows = pa.Table.from_pylist([event("f")], schema=arrow_schema("alarm_events")).drop_columns(["explanation"])
    old.catalog["alarm_events"].replace({ALL: (old.write_part("alarm_events", ALL, rows, "0"),)})
    delivered = {"delivery_id": "d", "channel": "ops", "state": "delivered", "alarm_ids": ["a"]}
    write_parquet(deliveries_file(old), pa.Table.from_pylist([delivered], schema=arrow_schema("deliveries")))
    rebuild(Workspace(workspace.config))
    assert ask(lake, "SELECT event_id, transition FROM alarm_events WHERE event_id = 'f'") == [("f", "firing")]
    assert ask(lake, "SELECT delivery_id, state, alarm_ids FROM deliveries") == [("d", "delivered", ["a"])]
    assert outbox_rows(lake) == [("d", "pending", "something is slow")]


def test_an_outbox_whose_process_was_killed_is_carried_whole(workspace: Workspace) -> None:
    """What was committed and never moved out of SQLite's log into the file itself."""
    lake = workspace.lake.root
    log = sqlite3.connect(outbox_file(workspace.lake), isolation_level=None)
    try:
        log.execute("UPDATE deliveries SET state = 'delivered'")
        assert (lake / "outbox.db-wal").stat().st_size > 0
        rebuild(workspace)
    finally:
        log.close()
    assert outbox_rows(lake) == [("d", "delivered", "something is slow")]


def test_the_next_run_goes_on_from_the_new_lake(workspace: Workspace) -> None:
    rebuild(workspace)
    lake = workspace.lake.root
    again = run(Workspace(workspace.config))
    assert (again.ingested.read, again.ingested.unchanged, again.hours_computed) == (0, 1, 0)
    assert ask(lake, ACCEPTED) == [(2,)]


@pytest.mark.parametrize("lost", ["part", "bytes", "marker"])
def test_what_the_lake_cannot_do_without_is_named_and_a_rebuild_heals_it(workspace: Workspace, lost: str) -> None:
    rebuild(workspace)
    lake = workspace.lake.root
    (ledger,) = (lake / "collected/source_ledger").glob("period=all/*.parquet")
    broken = lake / "lake.json" if lost == "marker" else ledger
    if lost == "part":
        ledger.unlink()
    else:
        broken.write_bytes(broken.read_bytes()[:100] if lost == "bytes" else b"")
    with pytest.raises(LakeUnreadable, match="`goodput rebuild`") as caught:
        run(Workspace(workspace.config))
    assert caught.value.path == broken
    kept, _ = rebuild(Workspace(workspace.config))
    assert kept == lake.with_name("lake.unreadable" if lost == "marker" else "lake.format4")
    assert ask(lake, ACCEPTED) == [(2,)]
    assert ask(lake, "SELECT count(*) FROM requests") == [(3,)]
    events = {row["event_id"] for row in rows_of(Lake(lake), "alarm_events")}
    assert {"f", "r"} <= events
    assert run(Workspace(workspace.config)).ingested.unchanged == 1
    if lost == "part":
        assert rebuild(Workspace(workspace.config))[0] == lake.with_name("lake.format4.2")


def test_a_newer_lake_is_not_made_anew(workspace: Workspace) -> None:
    (workspace.lake.root / "lake.json").write_text('{"format": 5}')
    with pytest.raises(LakeTooNew):
        rebuild(workspace)


def test_without_a_lake_there_is_nothing_to_rebuild(tmp_path: Path) -> None:
    (tmp_path / "goodput.toml").write_text(SETTINGS)
    with pytest.raises(NothingToRebuild) as caught:
        rebuild(Workspace(tmp_path / "goodput.toml"))
    assert caught.value.exit_code == 2
    assert not (tmp_path / "lake").exists()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ZeroDivisionError("1 / 0")])
def test_an_interrupted_rebuild_leaves_the_old_lake_and_can_be_done_again(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    lake = workspace.lake.root
    before = files(lake)

    def interrupted(*_: object, **__: object) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr("goodput.steps.publish", interrupted)  # all is read and computed by then
        with pytest.raises(type(error)):
            rebuild(workspace)
    assert files(lake) == before
    assert not lake.with_name("lake.format1").exists()
    kept, _ = rebuild(Workspace(workspace.config))
    assert files(kept) == before
    assert ask(lake, ACCEPTED) == [(2,)]
    assert outbox_rows(lake) == [("d", "pending", "something is slow")]
    assert {row["event_id"] for row in rows_of(Lake(lake), "alarm_events")} >= {"f", "r"}
    assert not lake.with_name("lake.rebuilding").exists()


def test_a_lake_that_cannot_be_put_in_its_place_is_put_back(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, rename = workspace.lake.root, Path.rename
    before = files(lake)

    def refuse(path: Path, target: Path) -> Path:
        if path.name == "lake.rebuilding":
            raise PermissionError(13, "Permission denied")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(LakeUnwritable, match="Permission denied"):
        rebuild(workspace)
    assert files(lake) == before


def test_partitions_that_are_blocked_do_not_keep_the_old_lake(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are blocked in the new lake, too, however often it is made anew."""
    bad = BlockedPartition("requests", "2026-11-20T10", "verdict_missing: 1 row")

    def run_with_one_blocked(fresh: Workspace, **how: bool) -> None:
        run(fresh, **how)
        raise PartitionsBlocked([bad])

    monkeypatch.setattr(rebuild_module, "run", run_with_one_blocked)
    kept, blocked = rebuild(workspace)
    assert blocked is not None
    assert blocked.blocked == (bad,)
    assert json.loads((kept / "lake.json").read_text()) == {"format": 1}
    assert ask(workspace.lake.root, ACCEPTED) == [(2,)]


def test_no_other_run_writes_to_the_old_lake_meanwhile(workspace: Workspace) -> None:
    with Lake(workspace.lake.root).lock(), pytest.raises(LakeBusy):
        rebuild(workspace)
    assert not workspace.lake.root.with_name("lake.rebuilding").exists()


def test_a_damaged_outbox_is_reported(workspace: Workspace) -> None:
    lake = workspace.lake.root
    outbox_file(workspace.lake).write_bytes(b"no database, " * 100)
    with pytest.raises(OutboxUnusable, match=r"outbox\.db: cannot use the outbox"):
        rebuild(workspace)
    assert actions_file(lake).exists()


@pytest.mark.parametrize("blocks", [False, True])
def test_the_command_names_both_lakes(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], blocks: bool
) -> None:
    root = workspace.lake.root
    bad = BlockedPartition("requests", "2026-11-20T10", "verdict_missing: 1 row")
    blocked = PartitionsBlocked([bad]) if blocks else None
    rebuilt: Callable[[Workspace], tuple[Path, PartitionsBlocked | None]] = lambda _: (root / "kept", blocked)  # noqa: E731
    monkeypatch.setattr(rebuild_module, "rebuild", rebuilt)
    monkeypatch.setattr(sys, "argv", ["goodput", "rebuild", "--config", str(workspace.config)])
    monkeypatch.setenv("COLUMNS", "500")
    with pytest.raises(SystemExit) as ended:
        main()
    assert (ended.value.code or 0) == int(blocks)
    said = capsys.readouterr().err
    assert f"{root} is made anew; the old lake is {root / 'kept'}" in said
    assert ("verdict_missing: 1 row" in said) == blocks
