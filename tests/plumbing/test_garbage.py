"""Replaced parts: kept for an hour for readers of an older database, then deleted; parts that count never."""

import json
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from goodput.contracts import arrow_schema, stored_tables
from goodput.errors import BlockedPartition
from goodput.plumbing.blocked import Blocked
from goodput.plumbing.database import publish
from goodput.plumbing.garbage import delete_replaced, note_replaced, sweep
from goodput.plumbing.lake import Lake
from goodput.plumbing.parameters import PARAMETERS
from goodput.plumbing.workspace import Workspace
from goodput.run import run
from lakes import put, rows_of
from test_rebuild import SETTINGS

NINE, TEN = "2026-11-20T09", "2026-11-20T10"
NOW_S = 1_795_165_200.0
NO_GATES = PARAMETERS["workloads"].schema.empty_table()


class Clock:
    """The time of day, which stands until it is moved."""

    def __init__(self) -> None:
        self.now_s = NOW_S

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(time, "time", found)
    return found


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake(tmp_path / "lake")
    made.open()
    return made


def replace(lake: Lake, partition: str, key: str) -> list[Path]:
    """Make a request the only one of its partition; the parts that it replaces."""
    before = lake.catalog["requests"].files([partition])
    put(lake, "requests", partition, [{"request_key": key}])
    return [Path(path) for path in before]


def discard(lake: Lake, replaced: Iterable[Path]) -> None:
    """What a run does with the parts that it replaced."""
    note_replaced(lake, replaced)
    delete_replaced(lake)


def parts(lake: Lake) -> list[Path]:
    return sorted((lake.root / "joined/requests").glob("period=*/*.parquet"))


def test_nothing_replaced_writes_nothing(lake: Lake) -> None:
    discard(lake, [])
    assert not (lake.root / "replaced.json").exists()


def test_a_replaced_part_goes_after_an_hour(lake: Lake, clock: Clock) -> None:
    replace(lake, NINE, "old")
    (old,) = replace(lake, NINE, "new")
    discard(lake, [old])
    assert old.exists()
    assert list(json.loads((lake.root / "replaced.json").read_text())) == [old.relative_to(lake.root).as_posix()]
    clock.now_s = NOW_S + 3600
    discard(Lake(lake.root), [])
    assert old.exists(), "an hour has not passed"
    clock.now_s = NOW_S + 3601
    discard(Lake(lake.root), [])
    assert not old.exists()
    assert json.loads((lake.root / "replaced.json").read_text()) == {}
    assert [row["request_key"] for row in rows_of(lake, "requests")] == ["new"]


def test_each_part_has_an_hour_of_its_own(lake: Lake, clock: Clock) -> None:
    replace(lake, NINE, "a")
    (first,) = replace(lake, NINE, "b")
    discard(lake, [first])
    clock.now_s += 3000
    (second,) = replace(lake, NINE, "c")
    discard(lake, [second])
    clock.now_s += 700
    discard(lake, [])
    assert (first.exists(), second.exists()) == (False, True)
    clock.now_s += 3000
    discard(lake, [])
    assert parts(lake) == [Path(path) for path in lake.catalog["requests"].all_files()]


def test_the_folder_of_a_partition_that_is_gone_goes_too(lake: Lake, clock: Clock) -> None:
    replace(lake, NINE, "a")
    replace(lake, TEN, "b")
    gone = lake.catalog["requests"].replace({TEN: ()})
    discard(lake, gone)
    clock.now_s += 3601
    discard(lake, [])
    assert [path.name for path in (lake.root / "joined/requests").glob("period=*")] == [f"period={NINE}"]


def test_a_part_that_counts_again_is_never_deleted(lake: Lake, clock: Clock) -> None:
    replace(lake, NINE, "a")
    (first,) = replace(lake, NINE, "b")
    discard(lake, [first])
    clock.now_s += 1800
    (second,) = replace(lake, NINE, "a")  # the change is taken back: the same bytes under the same name
    discard(lake, [second])
    clock.now_s += 3601
    discard(lake, [])
    assert (first.exists(), second.exists()) == (True, False)
    assert [row["request_key"] for row in rows_of(lake, "requests")] == ["a"]


def test_a_part_that_counted_again_has_an_hour_from_when_it_was_last_replaced(lake: Lake, clock: Clock) -> None:
    replace(lake, NINE, "a")
    (first,) = replace(lake, NINE, "b")
    discard(lake, [first])
    clock.now_s += 3500
    discard(lake, replace(lake, NINE, "a"))
    (again,) = replace(lake, NINE, "c")
    assert again == first
    discard(lake, [again])
    clock.now_s += 200  # an hour after it was replaced first, minutes after it was replaced last
    discard(lake, [])
    assert first.exists()
    clock.now_s += 3500
    discard(lake, [])
    assert not first.exists()


def test_a_part_that_counts_stays_noted_until_it_can_go(lake: Lake, clock: Clock) -> None:
    """What counts when its hour is over may be replaced later, by a run that reports it again."""
    replace(lake, NINE, "a")
    (first,) = replace(lake, NINE, "b")
    discard(lake, [first])
    discard(lake, replace(lake, NINE, "a"))
    clock.now_s += 3601
    discard(lake, [])
    discard(lake, replace(lake, NINE, "c"))
    clock.now_s += 3601
    discard(lake, [])
    assert parts(lake) == [Path(path) for path in lake.catalog["requests"].all_files()]


def test_a_part_that_is_gone_already_is_no_error(lake: Lake, clock: Clock) -> None:
    replace(lake, NINE, "a")
    (old,) = replace(lake, NINE, "b")
    discard(lake, [old])
    old.unlink()
    clock.now_s += 3601
    discard(lake, [])
    assert json.loads((lake.root / "replaced.json").read_text()) == {}


def test_readers_of_the_old_database_have_their_records_for_an_hour(lake: Lake, clock: Clock) -> None:
    replace(lake, NINE, "old")
    publish(lake, NO_GATES)
    with duckdb.connect(str(lake.database), read_only=True) as reader:
        replaced = replace(lake, NINE, "new")
        publish(lake, NO_GATES)
        clock.now_s += 3599
        discard(lake, replaced)
        discard(lake, [])
        assert reader.sql("SELECT request_key FROM requests").fetchall() == [("old",)]


def test_an_hour_after_a_run_nothing_is_left_that_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all tables: conformed, computed, alarms, and the partitions that are blocked."""
    (tmp_path / "goodput.toml").write_text(SETTINGS)
    (tmp_path / "landing").mkdir()
    workspace = Workspace(tmp_path / "goodput.toml")
    for number, ttft_s in enumerate((0.5, 1.5)):
        row = f"a,1795165200,1795165210,{ttft_s},ok"
        landed = tmp_path / "landing/rows.csv"
        landed.write_text(f"id,start,end,ttft,outcome\n{row}\n")
        os.utime(landed, (time.time() - 100 + number,) * 2)  # so long ago that the index need not look at it again
        failed = BlockedPartition("requests", NINE, f"reason {number}")
        run(Workspace(workspace.config))
        Blocked(Lake(workspace.lake.root)).settle(["requests"], lambda _: True, [failed])
    Blocked(Lake(workspace.lake.root)).settle(["requests"], lambda _: True, [])
    run(Workspace(workspace.config))  # publishes that nothing is blocked: from now on nobody new reads the others
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 3601)
    assert run(Workspace(workspace.config)).hours_computed == 0
    catalog = Lake(workspace.lake.root).catalog
    on_disk = {str(path) for path in workspace.lake.root.glob("*/*/period=*/*")}
    listed = (parts for table in stored_tables() for parts in catalog[table].parts.values())
    assert on_disk == {str(part.path) for parts in listed for part in parts}


def test_what_a_writer_that_was_broken_off_left_is_swept(lake: Lake) -> None:
    replace(lake, NINE, "counts")
    rows = pa.Table.from_pylist([{"request_key": "orphan"}], schema=arrow_schema("requests"))
    with suppress(KeyError), lake.lock():
        orphan = lake.write_part("requests", NINE, rows, "0" * 32)
        orphan.path.with_name(".0.tmp").write_bytes(b"")
        raise KeyError
    with lake.lock():  # who takes the lock and does not sweep leaves that to the next
        assert lake.write_lock.is_broken_off
    with lake.lock():
        sweep(lake)
    assert set(json.loads((lake.root / "replaced.json").read_text())) == {str(orphan.path.relative_to(lake.root))}
    assert not list(lake.root.rglob("*.tmp"))
    with lake.lock():
        assert not lake.write_lock.is_broken_off


def test_what_was_replaced_long_before_the_database_was_published_is_kept(lake: Lake, clock: Clock) -> None:
    replace(lake, NINE, "old")
    publish(lake, NO_GATES)
    note_replaced(lake, replace(lake, NINE, "new"))
    clock.now_s += 7200  # a long run
    with duckdb.connect(str(lake.database), read_only=True) as reader:
        publish(lake, NO_GATES)
        delete_replaced(lake)
        clock.now_s += 3599
        delete_replaced(lake)
        assert reader.sql("SELECT request_key FROM requests").fetchall() == [("old",)]


def test_what_no_table_counts_is_swept_without_a_writer_that_died_if_one_wants(lake: Lake) -> None:
    replace(lake, NINE, "a")
    orphan = lake.write_part("requests", TEN, pa.Table.from_pylist([], schema=arrow_schema("requests")), "f" * 32).path
    orphan.with_name(".0.tmp").write_bytes(b"half")
    with lake.lock():
        sweep(lake)
        delete_replaced(lake, at_once=True)
        assert orphan.exists()
        sweep(lake, anyway=True)
        delete_replaced(lake, at_once=True)
    assert parts(lake) == [Path(path) for path in lake.catalog["requests"].all_files()]
    assert not orphan.parent.exists()
