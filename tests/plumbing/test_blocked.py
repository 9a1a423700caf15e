"""Partitions that are blocked: remembered with their reason and inputs, forgotten when they pass."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from goodput.errors import BlockedPartition
from goodput.plumbing.blocked import Blocked
from goodput.plumbing.lake import Lake

NINE, TEN = "2026-11-20T09", "2026-11-20T10"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def broken(table: str, partition: str, reason: str, inputs: str = "") -> BlockedPartition:
    return BlockedPartition(table, partition, reason, inputs=inputs)


def among(*partitions: str) -> Callable[[str], bool]:
    """Whether a run was asked for a partition."""
    return lambda partition: partition in partitions


def settle(lake: Lake, tables: Sequence[str], asked: Sequence[str], *now_blocked: BlockedPartition) -> None:
    Blocked(lake).settle(tables, among(*asked), now_blocked)


def test_nothing_is_blocked_in_a_new_lake(lake: Lake) -> None:
    assert Blocked(lake).all() == []
    assert Blocked(lake).of_table("requests") == {}
    assert Blocked(lake).standing(["requests"], NINE, "a") == []


def test_a_partition_that_failed_is_remembered_with_what_it_was_made_from(lake: Lake) -> None:
    failed = broken("requests", TEN, "verdict_missing: 2 rows; e2e", "i10")
    before = datetime.now(UTC)
    settle(lake, ["requests"], [NINE, TEN], failed)
    again = Blocked(Lake(lake.root))
    assert again.all() == [failed]
    assert again.of_table("requests") == {TEN: failed}
    assert again.of_table("attempts") == {}
    (row,) = again.rows
    assert before <= row["since"] <= datetime.now(UTC)  # type: ignore[operator]


def test_a_verdict_stands_for_the_same_inputs_of_the_same_table_and_partition(lake: Lake) -> None:
    failed = broken("requests", TEN, "x", "i10")
    settle(lake, ["requests"], [TEN], failed)
    blocked = Blocked(lake)
    assert blocked.standing(["attempts", "requests"], TEN, "i10") == [failed]
    assert blocked.standing(["requests"], TEN, "i11") == []
    assert blocked.standing(["requests"], NINE, "i10") == []
    assert blocked.standing(["attempts"], TEN, "i10") == []


def test_what_broke_or_waits_is_tried_again(lake: Lake) -> None:
    waits = BlockedPartition("goodput", TEN, f"waits for requests {TEN}", f"requests {TEN}")
    settle(lake, ["goodput"], [NINE, TEN], waits, broken("goodput", NINE, "ZeroDivisionError: 1 / 0"))
    blocked = Blocked(Lake(lake.root))
    assert blocked.of_table("goodput")[TEN] == waits
    assert [blocked.standing(["goodput"], partition, "i") for partition in (NINE, TEN)] == [[], []]


def test_other_partitions_and_other_tables_stay_blocked(lake: Lake) -> None:
    settle(lake, ["requests"], [NINE], broken("requests", NINE, "x", "a"))
    settle(lake, ["attempts"], [NINE], broken("attempts", NINE, "y", "a"))
    settle(lake, ["requests"], [TEN], broken("requests", TEN, "z", "b"))
    found = {(item.table, item.partition, item.reason) for item in Blocked(lake).all()}
    assert found == {("requests", NINE, "x"), ("attempts", NINE, "y"), ("requests", TEN, "z")}


def test_a_partition_that_passes_is_blocked_no_longer(lake: Lake) -> None:
    settle(lake, ["requests"], [NINE], broken("requests", NINE, "x", "a"))
    settle(lake, ["requests"], [NINE], broken("requests", NINE, "still", "b"))
    assert Blocked(lake).all() == [broken("requests", NINE, "still", "b")]
    settle(lake, ["requests"], [NINE])
    assert Blocked(lake).all() == []


def test_the_time_is_that_of_the_first_failure(lake: Lake) -> None:
    settle(lake, ["requests"], [NINE], broken("requests", NINE, "x", "a"))
    (first,) = Blocked(lake).rows
    settle(lake, ["requests"], [NINE, TEN], broken("requests", NINE, "y", "b"), broken("requests", TEN, "z", "b"))
    since = {row["partition"]: row["since"] for row in Blocked(lake).rows}
    assert since[NINE] == first["since"]
    assert since[TEN] > first["since"]  # type: ignore[operator]


def test_the_same_verdict_again_writes_nothing(lake: Lake) -> None:
    settle(lake, ["requests"], [NINE], broken("requests", NINE, "x", "a"))
    version = lake.catalog["blocked_partitions"].version
    settle(lake, ["requests"], [NINE], broken("requests", NINE, "x", "a"))
    settle(lake, ["attempts"], [NINE])
    assert lake.catalog["blocked_partitions"].version == version


def test_the_newest_traceback_is_kept(lake: Lake) -> None:
    Blocked(lake).keep_traceback("join", NINE, "old")
    Blocked(lake).keep_traceback("windows", TEN, "Traceback\nZeroDivisionError")
    assert (lake.root / "traceback.txt").read_text() == f"windows {TEN}\nTraceback\nZeroDivisionError"


def test_two_nodes_side_by_side_keep_what_the_other_found(lake: Lake) -> None:
    first, second = Blocked(lake), Blocked(lake)
    assert (first.all(), second.all()) == ([], [])  # both have begun
    first.settle(["requests"], among(NINE), [broken("requests", NINE, "no")])
    second.settle(["coverage"], among(NINE), [broken("coverage", NINE, "nor this")])
    assert {(item.table, item.reason) for item in Blocked(lake).all()} == {("requests", "no"), ("coverage", "nor this")}
