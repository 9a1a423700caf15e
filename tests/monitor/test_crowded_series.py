"""More pools or replicas than alarms watch: those that are there most are watched as ever, and no others.

See docs/alarms.md#how-many-series-are-watched.
"""

from datetime import timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from goodput.monitor.evaluate import Evaluation, Evidence
from goodput.settings.model import Settings
from monitor.rows import MONDAY, goodput_rows

DAYS, A_DAY = 20, 24
HOURS = DAYS * A_DAY
BOUND = {"high_ttft": {"kind": "absolute", "metric": "p99_ttft_s", "above": 5.0}}
REPLICAS = {  # the hours in which each was there; the last week begins with hour 288
    "steady": range(HOURS),
    "gone": range(280),
    "came": range(HOURS - 30, HOURS),
    **{f"id-{n}": range(HOURS - 40 + 3 * n, HOURS - 38 + 3 * n) for n in range(12)},
}


def settings(most: int) -> Settings:
    return Settings.model_validate({"alarms": {"max_series": most, "rules": BOUND}})


def evaluation(rows: dict[str, pl.DataFrame], most: int, until: int = HOURS) -> Evaluation:
    seen = {
        name: frame.filter(pl.col("window_start") < MONDAY + timedelta(hours=until)) for name, frame in rows.items()
    }
    return Evaluation(Evidence(seen, settings(most)), MONDAY + timedelta(hours=until, minutes=10))


@pytest.fixture(scope="module")
def replicas() -> dict[str, pl.DataFrame]:
    """Rows of a pool whose replicas are up in the hours that REPLICAS gives."""
    there = [(name, hour) for name, hours in REPLICAS.items() for hour in hours]
    chance = np.random.default_rng(3)
    rows = pl.DataFrame(
        {
            "window_start": pl.Series(
                [MONDAY + timedelta(hours=hour) for _, hour in there], dtype=pl.Datetime("us", "UTC")
            ),
            "window_s": pl.Series([3600] * len(there), dtype=pl.Int32),
            "pool": "chat",
            "replica": [name for name, _ in there],
            "up_s": 3600.0,
            "mean_kv_usage_ratio": chance.uniform(0.5, 0.7, len(there)),
            "preemptions": 2,
            "mean_running_requests": 30.0,
            "input_tokens": 100_000,
            "long_context_ratio": 0.2,
        }
    )
    return {"replica_windows": rows}


def watched(found: Evaluation, label: str) -> dict[str, set[Any]]:
    """Names by rule."""
    names: dict[str, set[Any]] = {}
    for row in found.alarms():
        names.setdefault(row["rule"], set()).add(row[label])
    return {rule: every for rule, every in names.items() if every != {None}}


def test_watched_are_replicas_of_most_windows_in_the_last_week_then_in_all(replicas: dict[str, pl.DataFrame]) -> None:
    """`came` has 30 windows of the last week, each id 2, `gone` none; of the ids the first by name."""
    for most, names in ((1, {"steady"}), (2, {"steady", "came"}), (4, {"steady", "came", "id-0", "id-1"})):
        found = watched(evaluation(replicas, most), "replica")
        assert found == {"kv_cascade": names, "replica_kv_usage_ratio_ticket": names}
    assert watched(evaluation(replicas, 15), "replica")["kv_cascade"] == set(REPLICAS)


def test_of_as_many_windows_in_the_last_week_those_with_more_in_all(replicas: dict[str, pl.DataFrame]) -> None:
    """Up to hour 280 the last week begins with hour 96; from then on `a-newer` is there as long as `gone`."""
    rows = replicas["replica_windows"].filter(pl.col("window_start") < MONDAY + timedelta(hours=280))
    since = pl.col("window_start") >= MONDAY + timedelta(hours=96)
    newer = rows.filter(pl.col("replica") == "gone", since).with_columns(replica=pl.lit("a-newer"))
    found = evaluation({"replica_windows": pl.concat([rows, newer])}, 2)
    assert watched(found, "replica")["kv_cascade"] == {"steady", "gone"}


def test_what_is_of_the_pool_has_all_replicas(replicas: dict[str, pl.DataFrame]) -> None:
    def of_pool(most: int) -> list[Any]:
        return [row for row in evaluation(replicas, most).alarms() if row["pool"] == "chat" and row["replica"] is None]

    last = replicas["replica_windows"].filter(pl.col("window_start") == MONDAY + timedelta(hours=HOURS - 1))
    values = {"kv_usage_ratio": last["mean_kv_usage_ratio"].mean(), "preemptions": 2}
    assert last.height == 2
    assert {row["metric"]: row["value"] for row in of_pool(1)} == pytest.approx(values)
    assert of_pool(1) == of_pool(100)


@pytest.fixture(scope="module")
def pools() -> dict[str, pl.DataFrame]:
    """Pool 2 is there on the first three days alone, and slow for ten hours; pool 1, with a gap, is slow always."""
    p99 = np.full((3, HOURS), 1.0)
    p99[1], p99[2, 30:40] = 7.0, 9.0
    requests = np.full((3, HOURS), 400)
    requests[2, 72:] = 0
    requests[1, 72:200] = 0
    return {"goodput": goodput_rows(p99, requests)}


def events(rows: dict[str, pl.DataFrame], steps: list[tuple[int, int]]) -> list[Any]:
    """Events of runs, each at an hour with its `max_series`."""
    recorded: list[Any] = []
    for hour, most in steps:
        recorded += evaluation(rows, most, hour).new_events(recorded)
    return [event for event in recorded if event["rule"] == "high_ttft"]


def brief(recorded: list[Any]) -> list[tuple[Any, ...]]:
    return [(event["transition"], event["pool"], event["reason"]) for event in recorded]


def test_what_fired_before_stands_and_is_over_where_it_still_fires(pools: dict[str, pl.DataFrame]) -> None:
    before = events(pools, [(70, 3)])
    fired = {("firing", "pool-1", None), ("firing", "pool-2", None), ("resolved", "pool-2", "cleared")}
    assert set(brief(before)) == fired
    after = events(pools, [(70, 3), (71, 1), (72, 1)])
    assert brief(after[len(before) :]) == [("resolved", "pool-1", "settings")]


def test_series_that_are_watched_fire_as_without_a_limit(pools: dict[str, pl.DataFrame]) -> None:
    def of_two(most: int) -> list[Any]:
        found = evaluation(pools, most)
        return [row for row in found.alarms() if row["pool"] in {"pool-0", "pool-1"}]

    assert of_two(2) == of_two(100)
    assert {row["state"] for row in of_two(2) if row["rule"] == "high_ttft"} == {"firing", "inactive"}
