"""Since when a series strays and in which shape, on series that were made to stray since a window that is known."""

import numpy as np
import pytest

from goodput.monitor.calendar import calendar
from goodput.monitor.detector import score
from goodput.monitor.grid import Grid
from goodput.monitor.inputs import Inputs
from goodput.monitor.level_chart import LevelChart
from goodput.monitor.rule_series import RuleSeries
from goodput.monitor.shape import Onset, onset_of, shape_of
from goodput.monitor.states import Debounce, episodes
from goodput.monitor.trend_words import trend_headline
from monitor.drifts import MONDAY_S, PAGE
from monitor.latencies import noise
from monitor.noise import FIVE_MINUTES, NORMAL

STEPS_S = (900, 3600, 6 * 3600, 86400)


def grid(step_s: int) -> Grid:
    return Grid(MONDAY_S, 40, step_s)


def strays(windows: int, sigma: float = 0.05) -> np.ndarray:
    return np.random.default_rng(4).normal(0, sigma, windows)


@pytest.mark.parametrize("step_s", STEPS_S)
@pytest.mark.parametrize("shifted", [1, 2, 5])
def test_a_step_began_with_its_first_window(step_s: int, shifted: int) -> None:
    residual = strays(40)
    residual[-shifted:] += 1.0
    onset = onset_of(residual, grid(step_s))
    assert onset == Onset(40 - shifted)
    assert shape_of(residual, grid(step_s), onset).kind == "step"


@pytest.mark.parametrize("step_s", STEPS_S)
@pytest.mark.parametrize("windows", [4, 7])
def test_a_ramp_began_where_it_leaves_the_usual(step_s: int, windows: int) -> None:
    """A tenth an hour from the start of a window on, which strays by half a window's rise on average."""
    residual, a_window = strays(40, 0.001), 0.1 * step_s / 3600
    residual[-windows:] += a_window * (np.arange(windows) + 0.5)
    onset = onset_of(residual, grid(step_s))
    shape = shape_of(residual, grid(step_s), onset)
    assert onset == Onset(40 - windows)
    assert shape.kind == "ramp"
    assert shape.slope == pytest.approx(0.1, rel=0.1)


def test_the_first_window_after_a_gap_is_the_onset_and_not_the_last_before_it() -> None:
    residual = strays(40)
    residual[20:35] = np.nan
    residual[35:] += 1.0
    assert onset_of(residual, grid(3600)) == Onset(35)


def test_what_was_better_than_usual_before_is_no_onset() -> None:
    residual = strays(40)
    residual[:37] -= 0.4
    residual[37:] += 1.0
    assert onset_of(residual, grid(3600)) == Onset(37)


@pytest.mark.parametrize(("since", "is_earlier"), [(60, False), (150, False), (290, True)])
def test_an_onset_before_what_is_looked_at_is_said_to_be(since: int, is_earlier: bool) -> None:
    """It is looked for in 48 hours, then in eight days."""
    residual = strays(300)
    residual[-since:] += 0.5
    assert onset_of(residual, grid(3600)) == Onset(300 - min(since, 192), is_earlier)


def test_an_alarm_says_that_it_began_earlier() -> None:
    nothing = np.empty(0)
    kv = RuleSeries(
        "r", "trend", "page", "kv_usage_ratio", (("pool", "a"),), 3.0, nothing, nothing, (), grid=grid(3600)
    )
    facts = {"onset_at": "2026-01-05T00:00:00Z", "shape": "step", "scale": "logit", "value": 0.9}
    assert trend_headline(kv, facts) == "kv_usage_ratio of pool=a stepped since 2026-01-05T00:00:00Z: 0.9"
    earlier = trend_headline(kv, {**facts, "began_earlier": True})
    assert earlier == "kv_usage_ratio of pool=a stepped since before 2026-01-05T00:00:00Z: 0.9"


def test_what_was_there_before_the_first_window_that_was_judged_may_have_begun_earlier() -> None:
    """A series is judged once it has a week of windows: nobody says whether the last of these were usual."""
    residual = np.concatenate([np.full(20, np.nan), strays(10) + 1.0])
    assert onset_of(residual, grid(3600)) == Onset(20, is_earlier=True)
    usual = np.concatenate([np.full(20, np.nan), strays(5), strays(10) + 1.0])
    assert onset_of(usual, grid(3600)) == Onset(25)


def test_an_operation_decides_where_noise_leaves_it_open_and_nowhere_else() -> None:
    residual = 0.2 * np.tile([1.0, -1.0], 20)
    residual[-6:] = [0.5, 1.1, 0.9, 1.1, 0.9, 1.1]  # which began with the first of them, or the second
    assert onset_of(residual, grid(3600)) == Onset(34)
    assert onset_of(residual, grid(3600), [35]) == Onset(35)
    assert onset_of(residual, grid(3600), [34.6]) == Onset(35)  # of which window 34 is mostly before
    assert onset_of(residual, grid(3600), [34.4]) == Onset(34)
    assert onset_of(residual, grid(3600), [25]) == Onset(34)
    assert onset_of(residual, grid(3600), [-5, 60]) == Onset(34)


def test_a_ramp_that_an_operation_began_is_no_step() -> None:
    residual = strays(40)
    residual[-6:] += 0.15 * (np.arange(6) + 0.5)
    onset = onset_of(residual, grid(3600), [34])
    assert (onset, shape_of(residual, grid(3600), onset).kind) == (Onset(34), "ramp")


@pytest.mark.parametrize(("step_s", "days"), [(3600, 36), (6 * 3600, 40), (86400, 60)])
@pytest.mark.parametrize(("marked", "exact"), [(False, 0.7), (True, 0.9)])
def test_most_onsets_of_steps_are_exact_at_the_alarm_and_none_is_late(
    step_s: int, days: int, marked: bool, exact: float
) -> None:
    """Steps of 40 % in noise like serving traffic's, which is at times up just before them."""
    rng, times = np.random.default_rng(5), Grid(MONDAY_S, days, step_s)
    five_minutes = noise(rng, (100, days * 24 * FIVE_MINUTES), NORMAL)
    level = five_minutes.reshape(100, times.windows, -1).mean(axis=2) + rng.normal(0, 0.05, (100, times.windows))
    onset = rng.integers((days - 8) * times.a_day, (days - 5) * times.a_day, 100)
    level += np.where(np.arange(times.windows) >= onset[:, None], np.log(1.4), 0.0)
    scores = score(Inputs(times, calendar(times), level, 0.02), LevelChart())
    errors = []
    for since, row, residual in zip(onset, scores.score, scores.residual, strict=True):
        known = episodes(row >= PAGE, row < PAGE / 2, np.isfinite(row), Debounce(1, 3))
        firing = next((e.firing for e in known if e.firing is not None and e.firing >= since), None)
        if firing is not None:
            found = onset_of(residual[: firing + 1], times, [int(since)] if marked else [])
            errors.append(found.window - since)
    assert len(errors) >= 90
    assert np.mean(np.array(errors) == 0) >= exact
    assert np.mean(np.array(errors) > 0) <= 0.02
