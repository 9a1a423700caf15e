"""Series of thin traffic are judged in the shortest windows that have requests enough."""

from datetime import datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from goodput.monitor.control_chart import averaged
from goodput.monitor.evaluate import Evaluation, Evidence
from goodput.monitor.grid import Grid
from goodput.monitor.judged_days import JudgedDays
from goodput.monitor.windows import in_longer, says_the_same
from goodput.settings.model import Settings
from monitor.rows import MONDAY
from monitor.thin import Thin, thin_rows

ONSET, DAYS = 30, 36
WITH_SIX_HOURS = Settings(windows_s=(300, 3600, 21600, 86400))


def evaluated(rows: pl.DataFrame, settings: Settings, until: datetime, judged: JudgedDays | None = None) -> Evaluation:
    rows = rows.filter(pl.col("window_start") < until)
    return Evaluation(Evidence({"goodput": rows}, settings), until, judged or JudgedDays())


def drifting(per_hour: float) -> pl.DataFrame:
    return thin_rows(np.random.default_rng(11), Thin(per_hour, DAYS, drift=0.02, onset_hour=ONSET * 24), 4)


def pages(evaluation: Evaluation) -> list[dict[str, Any]]:
    return [row for row in evaluation.alarms() if row["kind"] == "trend" and row["severity"] == "page"]


@pytest.mark.parametrize(
    ("per_hour", "settings", "window_s"),
    [
        (10, Settings(), 86400),  # 240 a day: its p95
        (40, Settings(), 86400),  # 960 a day: its p99
        (40, WITH_SIX_HOURS, 21600),  # 240 in six hours: its p95
        (200, WITH_SIX_HOURS, 3600),  # its p95 by the hour
    ],
)
def test_a_drift_pages_in_the_shortest_windows_that_have_requests_enough(
    per_hour: float, settings: Settings, window_s: int
) -> None:
    until = MONDAY + timedelta(days=DAYS)
    firing = [row for row in pages(evaluated(drifting(per_hour), settings, until)) if row["state"] == "firing"]
    assert {row["window_s"] for row in firing} == {window_s}
    assert {row["pool"] for row in firing} == {f"pool-{n}" for n in range(4)}


def test_one_alarm_of_one_series_is_armed_whatever_windows_there_are() -> None:
    """With traffic that bears six hours at night too, neither hours nor days watch beside them."""
    rows = thin_rows(np.random.default_rng(12), Thin(60, 28), 3)
    power = evaluated(rows, WITH_SIX_HOURS, MONDAY + timedelta(days=28)).power()
    armed = [row for row in power if row["armed"] and row["metric"].startswith("p9") and row["severity"] == "page"]
    assert sorted((row["pool"], row["window_s"]) for row in armed) == [(f"pool-{n}", 21600) for n in range(3)]


def test_a_message_says_in_which_windows() -> None:
    events = evaluated(drifting(10), Settings(), MONDAY + timedelta(days=DAYS)).new_events([])
    said = [event["summary"] for event in events if event["rule"] == "p95_ttft_s_page"]
    assert said
    for summary in said:
        assert "p95_ttft_s of workload=chat pool=pool-" in summary
        assert " in windows of a day drifts " in summary or " in windows of a day stepped " in summary
        assert " on days o" in summary
        assert "00:00 on days" not in summary.split("since")[1].split("instead of")[1].split("(")[0]


def test_a_window_that_is_not_over_says_nothing() -> None:
    """At noon the day has had half of its requests: a relation that shows it already makes no verdict."""
    rows = drifting(10)
    noon = MONDAY + timedelta(days=ONSET + 1, hours=12)
    ends = [row["evaluated_at"] for row in pages(evaluated(rows, Settings(), noon)) if row["window_s"] == 86400]
    assert ends
    assert max(ends) == MONDAY + timedelta(days=ONSET + 1)


def test_day_by_day_equals_all_at_once() -> None:
    rows, judged = drifting(10), JudgedDays()
    events: list[dict[str, Any]] = []
    for day in range(ONSET - 2, DAYS + 1):
        judged = JudgedDays(judged.arrays())
        evaluation = evaluated(rows, Settings(), MONDAY + timedelta(days=day), judged)
        events += [event for event in evaluation.new_events(events) if event["metric"] is not None]
    at_once = evaluated(rows, Settings(), MONDAY + timedelta(days=DAYS)).new_events([])

    def episodes(found: list[dict[str, Any]]) -> set[tuple[Any, ...]]:
        """Whoever reads old data is not notified of it, but finds what was found when it was new."""
        return {(e["alarm_id"], e["transition"], e["starts_at"]) for e in found if e["metric"] is not None}

    assert episodes(events) == episodes(at_once)
    assert len(episodes(events)) >= 8


def test_where_one_quantile_has_no_verdict_for_a_day_the_other_watches() -> None:
    """A p99 that needs weekdays' traffic is armed by its history, and says nothing on a Sunday: its p95 does."""
    rows = thin_rows(np.random.default_rng(12), Thin(60, 28), 3)
    evaluation = evaluated(rows, WITH_SIX_HOURS, MONDAY + timedelta(days=28))
    six_hours = [one for one in evaluation.rule_series if one.grid.step_s == 21600 and one.severity == "page"]
    sunday, friday = slice(-4, None), slice(-12, -8)
    for pool in {one.labels for one in six_hours}:
        scores = {one.metric: one.score for one in six_hours if one.labels == pool}
        assert np.isfinite(scores["p95_ttft_s"][sunday]).all()
        watching = [name for name in ("p95_ttft_s", "p99_ttft_s") if np.isfinite(scores[name][friday]).any()]
        assert len(watching) == 1


def test_two_long_windows_make_an_alarm_and_one_never_does() -> None:
    """Weights 0.6 and 0.24 of the highest score, 4: 2.4, then 3.36."""
    for step_s in (21600, 86400):
        found = averaged(np.array([[0.0, 0.0, 99.0, 99.0]]), step_s)
        assert found[0] == pytest.approx([0, 0, 2.4, 3.36])


def test_windows_in_a_longer_one() -> None:
    armed = np.zeros((2, 24), dtype=np.bool_)
    armed[0, 7] = armed[1, 23] = True
    found = in_longer(armed, Grid(0, 1, 3600), Grid(0, 1, 21600))
    assert found.tolist() == [[False, True, False, False], [False, False, False, True]]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("p99_ttft_s", "p99_ttft_s", True),
        ("p95_ttft_s", "p99_ttft_s", True),
        ("p99_ttft_s", "p95_ttft_s", True),
        ("p99_ttft_s", "p99_e2e_s", False),
        ("cost_per_accepted_usd", "kv_usage_ratio", False),
    ],
)
def test_a_quantile_says_what_the_one_does_that_it_stands_in_for(one: str, other: str, same: bool) -> None:
    assert says_the_same(one, other) is same
