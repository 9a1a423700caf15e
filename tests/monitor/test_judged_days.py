"""Days that were judged before: what runs that remember them give is what one gives that judges everything."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from goodput.monitor.alarm_tables import AlarmTables, alarm_tables
from goodput.monitor.calendar import Calendar
from goodput.monitor.count_chart import CountChart
from goodput.monitor.counts import RATIO
from goodput.monitor.evaluate import Evidence
from goodput.monitor.inputs import Inputs
from goodput.monitor.judged_days import Identified, JudgedDays
from goodput.monitor.tail_chart import LevelAndTailChart
from goodput.plumbing.alarm_actions import Action
from goodput.settings.model import Settings
from monitor.drifts import P99, of_p99
from monitor.latencies import Fleet, latencies
from monitor.noise import ramp
from monitor.rows import MONDAY, goodput_rows

A_DAY, DAYS, POOLS = 24, 34, 3
ONSET = 29 * A_DAY + 5


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    """Three pools, of which the first drifts for a day and is well again, and the goodput of the second falls."""
    seen = latencies(np.random.default_rng(11), Fleet(tail=0.5), POOLS, DAYS)
    drift = ramp(DAYS * A_DAY, np.array([ONSET]), 0.1)[0]
    drift[ONSET + 20 :] = 0.0
    p99 = seen.p99.copy()
    p99[0] *= np.exp(drift)
    ratio = np.full(p99.shape, 0.97)
    ratio[1, ONSET + 30 : ONSET + 50] = 0.8
    return goodput_rows(p99, seen.requests, p95=seen.p95, ratio=ratio)


def judge(
    rows: pl.DataFrame, hour: int, before: dict[str, pl.DataFrame], judged: JudgedDays, **more: Any
) -> AlarmTables:
    """What a run five minutes after an hour leaves."""
    at = MONDAY + timedelta(hours=hour)
    evidence = Evidence({"goodput": rows.filter(pl.col("window_start") < at)}, Settings(), **more)
    return alarm_tables(evidence, before, at + timedelta(minutes=5), judged=judged)


def restated(rows: pl.DataFrame, pool: str, since: int, hours: int) -> pl.DataFrame:
    """Late telemetry: a pool was half as slow again in these hours."""
    first, last = (MONDAY + timedelta(hours=hour) for hour in (since, since + hours - 1))
    late = (pl.col("pool") == pool) & pl.col("window_start").is_between(first, last)
    return rows.with_columns(p99_ttft_s=pl.col("p99_ttft_s") * pl.when(late).then(1.5).otherwise(1.0))


def accepted(hour: int) -> Action:
    at, said = MONDAY + timedelta(hours=ONSET), MONDAY + timedelta(hours=hour)
    return Action("a", "accept", {"pool": "pool-0", "metric": "p99_ttft_s"}, said, at, None)


def story(rows: pl.DataFrame) -> Iterator[tuple[int, pl.DataFrame, dict[str, Any]]]:
    """Runs by the hour through the drift and what comes after it, with what each is given."""
    late = restated(rows, "pool-0", 27 * A_DAY, 9)
    for hour in range(ONSET - 2, ONSET + 14):
        yield hour, rows, {}
    for hour in range(ONSET + 14, ONSET + 64, 7):
        yield hour, late, {}
    yield ONSET + 64, late, {"actions": [accepted(ONSET + 16)]}
    yield ONSET + 65, rows, {"actions": [accepted(ONSET + 16)]}


def test_hour_by_hour_is_what_all_at_once_is(rows: pl.DataFrame) -> None:
    """Also with telemetry that comes late, or is taken back, and with a shift that is accepted."""
    before: dict[str, pl.DataFrame] = {}
    stored: dict[str, Any] = {}
    fired = 0
    for hour, known, more in story(rows):
        judged = JudgedDays(stored)
        now, anew = judge(known, hour, before, judged, **more), judge(known, hour, before, JudgedDays(), **more)
        for table, expected in anew.rows.items():
            assert_frame_equal(now.rows[table], expected, rel_tol=1e-9)
        before, stored = dict(now.rows), judged.arrays()
        fired += now.firing
    transitions = before["alarm_events"].filter(pl.col("metric").is_not_null())["transition"].value_counts()
    assert fired > 20
    assert set(transitions["transition"]) == {"firing", "resolved", "corrected"}


def test_a_new_hour_has_the_newest_day_judged_and_late_data_what_looks_back_at_it(
    rows: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[tuple[int, ...], int]] = []
    plain = LevelAndTailChart.judge

    def noted(self: LevelAndTailChart, inputs: Inputs, series: Any, history: slice, today: slice) -> Any:
        days = range(today.start // A_DAY, today.stop // A_DAY)
        asked.extend((tuple(series), day) for day in days)
        return plain(self, inputs, series, history, today)

    monkeypatch.setattr(LevelAndTailChart, "judge", noted)
    quiet = rows.filter(pl.col("pool") != "pool-0")
    first = JudgedDays()
    judge(quiet, 25 * A_DAY + 3, {}, first)
    assert {day for _, day in asked} == set(range(7, 26))

    asked.clear()
    judge(quiet, 25 * A_DAY + 4, {}, JudgedDays(first.arrays()))
    assert {day for _, day in asked} == {25}

    asked.clear()
    late = restated(quiet, "pool-1", 20 * A_DAY, 1)
    judge(late, 25 * A_DAY + 4, {}, JudgedDays(first.arrays()))
    assert {day for _, day in asked} == set(range(20, 26))
    assert {series for series, day in asked if day < 25} == {(0,)}


def inputs(rng: np.random.Generator) -> Inputs:
    given = of_p99(latencies(rng, Fleet(), 2, 20))
    shape = given.values.shape
    return replace(
        given,
        age_h=np.ones(shape),
        aside=np.zeros(shape, dtype=np.bool_),
        events=np.ones(shape),
        trials=np.full(shape, 9.0),
    )


@pytest.mark.parametrize("name", ["values", "age_h", "aside", "requests", "body", "events", "trials"])
@pytest.mark.parametrize("window", [5 * A_DAY, 17 * A_DAY - 1, 18 * A_DAY + 23])
def test_a_day_is_another_one_where_anything_that_it_is_judged_by_is_other(name: str, window: int) -> None:
    """It is day 18 of the first of two series, judged by days 5 to 16."""
    known = inputs(np.random.default_rng(3))
    other = getattr(known, name).copy()
    other[0, window] = ~other[0, window] if name == "aside" else other[0, window] + 1e-9
    changed = replace(known, **{name: other})
    rows, days, history = np.array([0, 1]), np.array([18, 18]), slice(5 * A_DAY, 17 * A_DAY)
    before, after = (Identified(one, LevelAndTailChart(P99)).keys(rows, days, history) for one in (known, changed))
    assert before[0] != after[0]
    assert before[1] == after[1]
    assert Identified(known, LevelAndTailChart(P99)).keys(rows, days, slice(6 * A_DAY, 17 * A_DAY))[0] != before[0]


def test_what_lies_outside_of_its_history_makes_no_other_day() -> None:
    known = inputs(np.random.default_rng(3))
    values = known.values.copy()
    values[0, [5 * A_DAY - 1, 17 * A_DAY, 18 * A_DAY - 1, 19 * A_DAY]] += 1.0
    rows, days, history = np.array([0]), np.array([18]), slice(5 * A_DAY, 17 * A_DAY)
    before, after = (
        Identified(one, LevelAndTailChart(P99)).keys(rows, days, history)
        for one in (known, replace(known, values=values))
    )
    assert before == after


def test_days_that_change_places_and_another_calendar_are_other_ones() -> None:
    known = inputs(np.random.default_rng(3))
    values = known.values.copy()
    values[0, [100, 250]] = values[0, [250, 100]]
    off = Calendar(np.where(np.arange(known.grid.windows) == 100, 47, known.calendar.classes), known.calendar.counts)
    rows, days, history = np.array([0]), np.array([18]), slice(0, 17 * A_DAY)
    every = [known, replace(known, values=values), replace(known, calendar=off)]
    assert len({int(Identified(one, LevelAndTailChart(P99)).keys(rows, days, history)[0]) for one in every}) == 3
    assert Identified(known, LevelAndTailChart(P99)).name != Identified(known, CountChart(RATIO)).name
