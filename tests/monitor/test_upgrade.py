"""Alarms of an older method: nobody is notified because another one judges, and what it reported stays as it was."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from goodput.monitor.evaluate import Evaluation, Evidence
from goodput.monitor.reconcile import event_id
from goodput.settings.model import Settings
from monitor.noise import CALM, hourly_p99
from monitor.rows import MONDAY, goodput_rows

A_DAY = 24
ONSET, UPGRADE, OVER, DAYS = 30 * A_DAY, 30 * A_DAY + 12, 30 * A_DAY + 30, 33
OTHERS = {
    f"{metric}_{severity}": {"enabled": False}
    for metric in ("p99_tpot_s", "p99_e2e_s", "p95_tpot_s", "p95_e2e_s", "goodput_ratio")
    for severity in ("page", "ticket")
}
SETTINGS = Settings.model_validate({"alarms": {"rules": {**OTHERS, "p99_ttft_s_ticket": {"enabled": False}}}})
PAGE = "p99_ttft_s_page"


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    """Pool 0 is half as slow again for thirty hours from ONSET on."""
    p99, requests = hourly_p99(np.random.default_rng(21), 2, DAYS, profile=CALM)
    p99[0, ONSET:OVER] *= 1.5
    return goodput_rows(p99, requests)


def run(rows: pl.DataFrame, recorded: list[Any], hour: int) -> list[Any]:
    """The events of a run ten minutes after an hour is over."""
    now = MONDAY + timedelta(hours=hour, minutes=10)
    seen = rows.filter(pl.col("window_start") < MONDAY + timedelta(hours=hour))
    return recorded + Evaluation(Evidence({"goodput": seen}, SETTINGS), now).new_events(recorded)


def by_another_method(events: list[Any], change: Callable[[Any], Any]) -> list[Any]:
    """What an older version recorded: other fingerprints, a watchdog that named none, and verdicts of its own."""
    older = [{**e, "method": "watchdog" if e["rule"] == "watchdog" else f"older {e['method']}"} for e in events]
    return [change(e) if e["rule"] == PAGE else e for e in older]


def until_upgrade(rows: pl.DataFrame) -> list[Any]:
    """Events of every hour before an upgrade."""
    found: list[Any] = []
    for hour in range(ONSET - 3, UPGRADE + 1):
        found = run(rows, found, hour)
    return found


@pytest.fixture(scope="module")
def fired(rows: pl.DataFrame) -> list[Any]:
    """Events before an upgrade, while pool 0 is slow."""
    return until_upgrade(rows)


def upgraded(rows: pl.DataFrame, fired: list[Any], change: Callable[[Any], Any]) -> tuple[list[Any], list[Any]]:
    """Events before an upgrade, as another method recorded them, and what every hour after it adds to them."""
    before = [e for e in by_another_method(fired, change) if e is not None]
    after = before
    for hour in range(UPGRADE + 1, DAYS * A_DAY, 3):
        after = run(rows, after, hour)
        assert run(rows, after, hour) == after
    return before, [e for e in after[len(before) :] if e["rule"] == PAGE]


def brief(events: list[Any]) -> list[tuple[Any, ...]]:
    return [(e["transition"], e["pool"], e["reason"], e["suppressed"]) for e in events]


@pytest.mark.parametrize("hours", [-2, 0, 2])
def test_what_fires_goes_on_under_its_name_and_is_over_once(rows: pl.DataFrame, fired: list[Any], hours: int) -> None:
    """The older method found it so many hours sooner or later."""
    moved = timedelta(hours=hours)

    def found_then(event: Any) -> Any:
        since = event["starts_at"] + moved
        key = f"{event['alarm_id']}|firing|{since.isoformat()}|{since.isoformat()}"
        return {**event, "starts_at": since, "occurred_at": since, "event_id": event_id(key)}

    before, added = upgraded(rows, fired, found_then)
    paged = [e for e in before if e["rule"] == PAGE]
    assert brief(paged) == [("firing", "pool-0", None, None)]
    assert brief(added) == [("resolved", "pool-0", "cleared", None)]
    assert added[0]["starts_at"] == paged[0]["starts_at"]
    assert added[0]["occurred_at"] > MONDAY + timedelta(hours=OVER)


def test_what_only_the_new_method_finds_in_judged_hours_is_recorded_and_pages_nobody(
    rows: pl.DataFrame, fired: list[Any]
) -> None:
    before, added = upgraded(rows, fired, lambda _: None)
    assert not [e for e in before if e["rule"] == PAGE]
    assert brief(added) == [("firing", "pool-0", None, "method"), ("resolved", "pool-0", "cleared", "method")]


def test_what_begins_after_the_upgrade_pages(rows: pl.DataFrame) -> None:
    late = rows.filter(pl.col("pool") == "pool-0")
    late = late.with_columns(
        p99_ttft_s=pl.when(pl.col("window_start") < MONDAY + timedelta(hours=UPGRADE))
        .then(pl.col("p99_ttft_s").shift(7 * A_DAY))
        .otherwise("p99_ttft_s")
    )  # what is slow begins with the upgrade
    _, added = upgraded(late, until_upgrade(late), lambda _: None)
    assert ("firing", "pool-0", None, None) in brief(added)
    assert not [e for e in added if e["suppressed"] == "method"]


def test_what_the_new_method_does_not_find_is_over_and_pages_nobody(rows: pl.DataFrame, fired: list[Any]) -> None:
    """The older one had fired for pool 1 too, in which nothing happens."""
    calm = rows.filter(pl.col("pool") == "pool-1")
    before = by_another_method(fired, lambda e: e)
    paged = next(e for e in before if e["rule"] == PAGE)
    of_calm = next(a for a in Evaluation(Evidence({"goodput": calm}, SETTINGS), MONDAY).alarms() if a["rule"] == PAGE)
    wrong = {**paged, "pool": "pool-1", "alarm_id": of_calm["alarm_id"], "event_id": "older"}
    kept = [e for e in before if e["rule"] != PAGE]
    added = run(calm, [*kept, wrong], UPGRADE + 1)[len(kept) + 1 :]
    assert brief([e for e in added if e["rule"] == PAGE]) == [("resolved", "pool-1", "method", None)]
    assert run(calm, [*kept, wrong], UPGRADE + 1)[: len(kept) + 1] == [*kept, wrong]  # and its evidence stays
