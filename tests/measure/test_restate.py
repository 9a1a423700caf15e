"""Revisions: what does not change stays as it was published, what changes is said to have.

See docs/semantics.md#time-and-restatement.
"""

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from goodput.contracts import arrow_schema
from goodput.measure.restatement import restate
from river import Row, judged, one_workload, row_of, windows

MONDAY, TUESDAY, FRIDAY = (datetime(2026, 11, day, tzinfo=UTC) for day in (23, 24, 27))
EMPTY = pl.DataFrame(arrow_schema("goodput").empty_table())
STEADY = [judged("a", "accepted", 10.0), judged("b", "slow", 20.0)]
LATER = [judged("c", "accepted", 400.0)]


@pytest.fixture(scope="module")
def hours(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pl.DataFrame]:
    """Three versions of one hour: as first seen, with a late request at minute 5, with only minute 5."""
    folder = tmp_path_factory.mktemp("hours")
    versions: dict[str, list[Row]] = {
        "first": [*STEADY, *LATER],
        "late": [*STEADY, *LATER, judged("d", "failed", 500.0)],
        "gone": LATER,
    }
    return {name: windows(folder, rows, one_workload()) for name, rows in versions.items()}


def test_what_is_new_has_revision_zero(hours: dict[str, pl.DataFrame]) -> None:
    rows, restated = restate(hours["first"], EMPTY, MONDAY)
    assert rows.height == hours["first"].height
    assert set(rows["revision"]) == {0}
    assert set(rows["computed_at"]) == {MONDAY}
    assert restated.height == 0
    assert rows.columns == EMPTY.columns


def test_what_did_not_change_stays_as_it_was(hours: dict[str, pl.DataFrame]) -> None:
    published, _ = restate(hours["first"], EMPTY, MONDAY)
    again, restated = restate(hours["first"], published, TUESDAY)
    assert again.equals(published)
    assert restated.height == 0


def test_trap_20_a_published_window_that_changed_gets_the_next_revision(hours: dict[str, pl.DataFrame]) -> None:
    published, _ = restate(hours["first"], EMPTY, MONDAY)
    once, restated = restate(hours["late"], published, TUESDAY)
    unchanged, changed = row_of(once, 0), row_of(once, 5)
    assert (unchanged["revision"], unchanged["computed_at"]) == (0, MONDAY)
    assert (changed["revision"], changed["computed_at"]) == (1, TUESDAY)
    assert set(restated["window_start"]) == {changed["window_start"]}
    overall = restated.filter(pl.col("slice") == "overall").row(0, named=True)
    assert (overall["offered_before"], overall["offered_after"], overall["revision"]) == (1, 2, 1)
    assert (overall["accepted_before"], overall["accepted_after"], overall["restated_at"]) == (1, 1, TUESDAY)
    twice, back = restate(hours["first"], once, FRIDAY)
    assert (row_of(twice, 5)["revision"], row_of(twice, 5)["computed_at"]) == (2, FRIDAY)
    assert set(back["revision"]) == {2}


def test_what_vanished_is_restated(hours: dict[str, pl.DataFrame]) -> None:
    published, _ = restate(hours["first"], EMPTY, MONDAY)
    rows, restated = restate(hours["gone"], published, TUESDAY)
    assert set(restated["window_start"]) == {row_of(published, 0)["window_start"]}
    assert restated.height == published.height - rows.height
    overall = restated.filter(pl.col("slice") == "overall").row(0, named=True)
    assert (overall["offered_before"], overall["offered_after"], overall["revision"]) == (2, None, 1)
    assert (overall["goodput_rps_before"], overall["goodput_rps_after"]) == (pytest.approx(1 / 300), None)


def test_a_value_that_becomes_known_is_a_change(hours: dict[str, pl.DataFrame], tmp_path: Path) -> None:
    published, _ = restate(hours["first"], EMPTY, MONDAY)
    assert row_of(published, 0)["p50_ttft_s"] is None
    told = [row | {"ttft_s": 0.5} for row in STEADY]
    rows, _ = restate(windows(tmp_path, [*told, *LATER], one_workload()), published, TUESDAY)
    assert row_of(rows, 0)["revision"] == 1
    assert row_of(rows, 5)["revision"] == 0
