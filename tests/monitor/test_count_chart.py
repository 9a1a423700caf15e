"""The chart of counts in the detector: drifts, acceptance, directions, and that no future changes a past verdict."""

import numpy as np
import pytest

from goodput.monitor.calendar import calendar
from goodput.monitor.count_chart import CountChart
from goodput.monitor.counts import RATE, RATIO
from goodput.monitor.detector import score
from goodput.monitor.follow import Accepted, Followable, Terms, follow
from goodput.monitor.grid import Grid
from goodput.monitor.inputs import Inputs
from goodput.monitor.states import Debounce
from monitor.count_noise import CALM, events, moved, rate_events, strayed, trials
from monitor.drifts import MONDAY_S

DAY = 24


def inputs(x: np.ndarray, n: np.ndarray) -> Inputs:
    grid = Grid(MONDAY_S, x.shape[1] // DAY)
    values = np.where(n > 0, x / np.maximum(n, 1e-9), np.nan)
    return Inputs(grid, calendar(grid), values, 0.0, events=x, trials=n)


def flat(days: int, x: float, n: float) -> Inputs:
    return inputs(np.full((1, days * DAY), x), np.full((1, days * DAY), n))


def test_a_drift_multiplies_odds_and_rates() -> None:
    """Odds of 20 to 980 doubled are 40 to 980: 1,000 * 40 / 1,020."""
    by = np.full((1, 7 * DAY), np.log(2))
    assert CountChart(RATIO).drifted(flat(7, 20, 1000), by).events == pytest.approx(1000 * 40 / 1020)
    assert CountChart(RATE).drifted(flat(7, 20, 1000), by).events == pytest.approx(40)
    assert CountChart(RATE, -1.0).drifted(flat(7, 20, 1000), by).events == pytest.approx(10)


def test_sigma_is_the_change_that_ten_such_hours_can_tell() -> None:
    """A change of the logit by threshold * sigma that lasts brings the score to the threshold: what the bound says."""
    still = flat(30, 200, 1000)
    chart = CountChart(RATIO)
    judged = score(still, chart).judged
    bound = chart.bound(judged, 4.0)[0, -1]
    x = np.full((1, 30 * DAY), 200.0)
    x[0, 28 * DAY :] = 1000 / (1 + np.exp(-bound))
    assert score(inputs(x, still.trials), chart).score[0, -1] == pytest.approx(4.0, rel=0.06)


def test_fewer_are_worse_where_that_is_said() -> None:
    n = np.ones((1, 30 * DAY))
    x = np.full(n.shape, 100.0)
    x[0, 28 * DAY :] = 50.0
    assert score(inputs(x, n), CountChart(RATE)).score[0, -1] < -4
    fewer = score(inputs(x, n), CountChart(RATE, -1.0))
    assert fewer.score[0, -1] > 4
    assert -fewer.usual[0, -1] == pytest.approx(np.log(100), abs=0.01)
    assert fewer.residual[0, -1] == pytest.approx(np.log(2), abs=0.05)


def test_an_accepted_step_is_the_new_normal_and_another_one_is_found() -> None:
    rng = np.random.default_rng(41)
    n = trials(rng, 1, 63, 1000)
    first, second = 30 * DAY, 50 * DAY
    logit = strayed(rng, 1, 63, CALM)
    for onset in (first, second):
        logit = logit + moved(63 * DAY, np.array([onset]), np.log(3))
    one, chart = inputs(events(rng, n, 0.01, logit), n), CountChart(RATIO)
    scores = score(one, chart)
    terms = Terms(4.0, Debounce(1, 3), np.zeros(63 * DAY, dtype=np.bool_))
    accepts = [Accepted(first, first + DAY)]
    followed, alone = follow(chart, [Followable(one, scores, terms, accepts), Followable(one, scores, terms)])
    begun = [episode.firing for episode in followed.episodes]
    assert len(begun) == 2
    assert first < begun[0] < first + 8
    assert second < begun[1] < second + 8
    assert followed.episodes[0] in followed.accepted
    assert len(alone.episodes) == 1  # it never stopped firing


def test_no_future_changes_a_past_verdict_and_no_more_than_31_days_do() -> None:
    rng = np.random.default_rng(42)
    n = trials(rng, 6, 70, 300)
    n[rng.random(n.shape) < 0.1] = 0
    x = events(rng, n, 0.05, strayed(rng, 6, 70, CALM))
    whole = score(inputs(x, n), CountChart(RATIO)).score
    past = score(inputs(x[:, : 40 * DAY], n[:, : 40 * DAY]), CountChart(RATIO)).score
    assert np.array_equal(whole[:, : 40 * DAY], past, equal_nan=True)
    late = score(inputs(x[:, 35 * DAY :], n[:, 35 * DAY :]), CountChart(RATIO)).score
    assert np.array_equal(whole[:, 67 * DAY :], late[:, 32 * DAY :], equal_nan=True)


def test_what_never_comes_alarms_when_it_comes_twice_and_not_when_it_comes_once() -> None:
    n = np.ones((2, 30 * DAY))
    x = np.zeros(n.shape)
    x[:, 29 * DAY] = 40
    x[1, 29 * DAY + 2] = 2
    highest = score(inputs(x, n), CountChart(RATE)).score[:, 29 * DAY :].max(axis=1)
    assert highest[0] < 4 < highest[1]


def test_of_some_that_come_by_chance_hardly_any_alarm() -> None:
    x = rate_events(np.random.default_rng(43), 0.05, np.zeros((300, 35 * DAY)))
    scores = score(inputs(x, np.ones(x.shape)), CountChart(RATE)).score
    # 8,400 series-days: were the rate 1 in 1,000, more than 16 would come once in 200 times
    assert (np.nanmax(scores, axis=1) >= 4.0).sum() <= 16
