"""The trend detector: its score by hand, what history it needs, and that no future changes a past verdict."""

from datetime import UTC, datetime

import numpy as np
import pytest

from goodput.monitor.calendar import calendar
from goodput.monitor.detector import rescore, score
from goodput.monitor.grid import Grid
from goodput.monitor.inputs import Inputs, Scores
from goodput.monitor.level_chart import LevelChart
from monitor.noise import hourly_p99

MONDAY_S = int(datetime(2026, 1, 5, tzinfo=UTC).timestamp())
DAY = 24
CHART = LevelChart()


def scored(values: np.ndarray, floor: float = 0.02, **more: np.ndarray) -> Scores:
    grid = Grid(MONDAY_S, values.shape[1] // DAY)
    return score(Inputs(grid, calendar(grid), values, floor, **more), CHART)


def flat(days: int, level: float = 1.0) -> np.ndarray:
    return np.full((1, days * DAY), level)


def test_the_score_is_the_exponential_average_of_clipped_distances() -> None:
    values = flat(30)
    values[0, 28 * DAY :] += [0.02, 0.2, -0.01, *[0.0] * 45]  # 1 sigma, 10 sigma, -1/2 sigma: the floor is sigma
    average, expected = 0.0, []
    for distance in (1.0, 4.0, -0.5, 0.0):  # ten is clipped to four
        average = 0.7 * average + 0.3 * distance
        expected.append(average)
    assert scored(values).score[0, 28 * DAY : 28 * DAY + 4] == pytest.approx(expected)


def test_a_missing_window_neither_counts_nor_ages_the_others() -> None:
    values = flat(30)
    values[0, 28 * DAY : 28 * DAY + 2] += [0.04, 0.04]
    gap = values.copy()
    gap[0, 28 * DAY + 1 : 28 * DAY + 7] = [np.nan] * 5 + [1.04]
    score_then, score_gap = scored(values).score[0], scored(gap).score[0]
    assert np.isnan(score_gap[28 * DAY + 1 : 28 * DAY + 6]).all()
    assert score_gap[28 * DAY + 6] == pytest.approx(score_then[28 * DAY + 1]) == pytest.approx(2 * 0.51)


def test_what_lay_before_a_gap_of_two_days_no_longer_counts() -> None:
    values = flat(32)
    values[0, 28 * DAY] = 1.08
    values[0, 28 * DAY + 1 : 30 * DAY + 1] = np.nan
    values[0, 30 * DAY + 1] = 1.02
    assert scored(values).score[0, 30 * DAY + 1] == pytest.approx(0.3)


def test_seven_days_of_history_arm_it() -> None:
    learning = scored(flat(10)).learning[0]
    assert learning[: 7 * DAY].all()
    assert not learning[7 * DAY :].any()


def test_half_of_the_windows_missing_arms_it_after_two_weeks() -> None:
    values = flat(21)
    values[0, 1::2] = np.nan
    assert (~scored(values).learning[0]).argmax() == 14 * DAY


def test_each_hour_of_each_kind_of_day_has_its_own_baseline() -> None:
    hours = np.arange(28 * DAY)
    weekend = hours // DAY % 7 >= 5
    values = (np.where(weekend, 0.5, 1.0) + 0.1 * (hours % DAY // 12))[None, :]
    usual = scored(values).usual[0]
    noon_of = [22 * DAY + 18, 26 * DAY + 18]  # a Tuesday and a Saturday, well inside a level
    assert usual[noon_of] == pytest.approx([1.1, 0.6])


def test_days_off_are_like_weekends() -> None:
    grid = Grid(MONDAY_S, 28)
    hours = np.arange(28 * DAY)
    holiday = 23  # a Wednesday
    values = np.where((hours // DAY % 7 >= 5) | (hours // DAY == holiday), 0.5, 1.0)[None, :]
    day_off = datetime.fromtimestamp(MONDAY_S + holiday * 86400, UTC).date()
    known = score(Inputs(grid, calendar(grid, days_off=[day_off]), values, 0.02), CHART)
    assert known.score[0, holiday * DAY + 12] == pytest.approx(0.0)
    assert scored(values).score[0, holiday * DAY + 12] < -3.9


def test_the_day_begins_at_midnight_of_the_time_zone() -> None:
    classes = calendar(Grid(MONDAY_S, 7), "Asia/Tokyo").classes
    assert list(classes[:2]) == [9, 10]
    friday_15 = 4 * DAY + 15  # Saturday 00:00 in Tokyo
    assert list(classes[friday_15 - 1 : friday_15 + 1]) == [23, 24]


def test_excluded_spans_are_no_history() -> None:
    values = flat(21)
    values[0, 8 * DAY : 15 * DAY] = 9.0
    grid = Grid(MONDAY_S, 21)
    span = (MONDAY_S + 8 * 86400, MONDAY_S + 15 * 86400)
    kept = score(Inputs(grid, calendar(grid, excluded=[span]), values, 0.02), CHART)
    assert kept.usual[0, -DAY:] == pytest.approx(1.0)


def test_the_newest_week_of_a_long_history_is_left_out() -> None:
    """A slow boil of 2 % a day: against the last three weeks it stands 22 % up, against the lagged ones 36 %."""
    days = 43
    values = (0.02 * (np.arange(days * DAY) // DAY))[None, :]
    monday = 42 * DAY
    weekdays = [d for d in range(42 - 28, 42 - 7) if d % 7 < 5]
    assert scored(values).residual[0, monday] == pytest.approx(0.02 * (42 - np.median(weekdays)))


def test_the_age_since_a_restart_belongs_to_the_baseline() -> None:
    rng = np.random.default_rng(5)
    hours = np.arange(35 * DAY)
    age = (hours % 18 + 1.0)[None, :]
    sawtooth = 0.0132 * age + rng.normal(0, 0.03, age.shape)
    aged = scored(sawtooth, age_h=age)
    assert np.nanmedian(aged.scale) < 0.85 * np.nanmedian(scored(sawtooth).scale)
    missed = np.where(hours >= 30 * DAY, np.arange(len(hours)) - (30 * DAY - 30 * DAY % 18) + 1.0, age)
    still = 0.0132 * missed + rng.normal(0, 0.03, age.shape)
    assert np.nanmax(scored(still, age_h=missed).score[0, : 30 * DAY]) < 2.8
    assert (scored(still, age_h=missed).score[0, 30 * DAY :] >= 2.8).argmax() < 36


def test_a_known_sampling_error_is_never_taken_for_a_trend() -> None:
    values = flat(30)
    values[0, 28 * DAY :] = 1.3
    noise = np.full(values.shape, 0.3)
    assert scored(values).score[0, -1] > 3.9
    assert scored(values, noise=noise).score[0, -1] == pytest.approx(1.0, abs=0.01)


def test_no_future_changes_a_past_verdict_and_no_more_than_31_days_do() -> None:
    rng = np.random.default_rng(2)
    values = np.log(hourly_p99(rng, 8, 70)[0])
    values[rng.random(values.shape) < 0.1] = np.nan
    whole = scored(values)
    past = scored(values[:, : 40 * DAY])
    assert np.array_equal(whole.score[:, : 40 * DAY], past.score, equal_nan=True)
    cut = 70 - 35  # whole weeks, so that a Monday stays a Monday
    late = scored(values[:, cut * DAY :])
    assert np.array_equal(whole.score[:, 32 * DAY + cut * DAY :], late.score[:, 32 * DAY :], equal_nan=True)


def test_a_quarter_of_an_hour_forgets_as_fast_as_an_hour() -> None:
    grid = Grid(MONDAY_S, 30, 900)
    values = np.ones((1, grid.windows))
    values[0, 28 * 96 :] += 0.02
    by_quarter = score(Inputs(grid, calendar(grid), values, 0.02), CHART).score[0, 28 * 96 :]
    assert by_quarter[3] == pytest.approx(0.3)  # one hour of one sigma
    assert by_quarter[7] == pytest.approx(1 - 0.7**2)


@pytest.mark.parametrize("step_s", [900, 3600])
def test_no_score_reaches_four_sigma(step_s: int) -> None:
    grid = Grid(MONDAY_S, 30, step_s)
    values = np.ones((1, grid.windows))
    values[0, 28 * grid.a_day :] = 100.0
    highest = np.nanmax(score(Inputs(grid, calendar(grid), values, 0.02), CHART).score)
    assert 3.999 < highest < 4.0


def test_scores_after_a_change_of_history_are_those_of_a_new_beginning() -> None:
    values = np.log(hourly_p99(np.random.default_rng(6), 3, 90)[0])
    grid = Grid(MONDAY_S, 90)
    plain = Inputs(grid, calendar(grid), values, 0.02)
    aside = np.zeros(values.shape, dtype=np.bool_)
    aside[:, 40 * DAY + 5 : 43 * DAY + 2] = True
    changed = Inputs(grid, calendar(grid), values, 0.02, aside=aside)
    anew = score(changed, CHART)
    partly = rescore(changed, CHART, score(plain, CHART), [(40 * DAY + 5, 43 * DAY + 2)] * 3)
    for part in ("score", "residual", "learning", "usual", "scale"):
        assert np.array_equal(getattr(partly, part), getattr(anew, part), equal_nan=True)
    assert not np.array_equal(anew.usual, score(plain, CHART).usual, equal_nan=True)
