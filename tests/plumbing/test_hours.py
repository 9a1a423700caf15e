"""Arithmetic of hours: labels, neighbours and batches."""

from datetime import UTC, datetime

import pytest

from goodput.plumbing.hours import batches, day_of, epoch_hour, hour_label, hours_of_day, neighbours, shifted


@pytest.mark.parametrize(
    ("label", "hours"),
    [("1970-01-01T00", 0), ("1969-12-31T23", -1), ("2026-11-20T09", 498657), ("2024-02-29T23", 474791)],
)
def test_labels(label: str, hours: int) -> None:
    assert hour_label(hours) == label
    assert epoch_hour(label) == hours


def test_an_hour_is_one_of_utc_whatever_the_zone_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    started = datetime(2026, 11, 20, 9, 59, 59, tzinfo=UTC).timestamp()
    assert hour_label(int(started) // 3600) == "2026-11-20T09"
    assert epoch_hour("2026-11-20T09") * 3600 == int(started) - 3599


def test_days() -> None:
    assert day_of("2026-11-20T09") == "2026-11-20"
    assert hours_of_day("2026-11-20")[::23] == ["2026-11-20T00", "2026-11-20T23"]
    assert len(set(hours_of_day("2026-03-29"))) == 24  # where clocks change, UTC does not


def test_shifting_crosses_days_and_years() -> None:
    assert shifted("2026-12-31T23", 1) == "2027-01-01T00"
    assert shifted("2024-03-01T00", -1) == "2024-02-29T23"


def test_neighbours() -> None:
    assert neighbours(["2026-11-20T00"], 1, 2) == {
        *("2026-11-19T23", "2026-11-20T00", "2026-11-20T01", "2026-11-20T02"),
    }
    assert neighbours([], 1, 1) == set()
    assert neighbours(["2026-11-20T05", "2026-11-20T06"], 0, 0) == {"2026-11-20T05", "2026-11-20T06"}


def test_batches_are_in_order_and_no_longer_than_asked() -> None:
    hours = ["2026-11-20T07", "2026-11-20T00", "2026-11-20T01", "2026-11-20T02", "2026-11-20T09"]
    assert list(batches(hours, 3)) == [
        ["2026-11-20T00", "2026-11-20T01", "2026-11-20T02"],
        ["2026-11-20T07", "2026-11-20T09"],
    ]
    assert list(batches(hours, 1)) == [[hour] for hour in sorted(hours)]
    assert list(batches([], 3)) == []
