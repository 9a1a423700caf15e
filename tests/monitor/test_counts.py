"""Counts as counts: scores worked out by hand, what a history makes usual, and what strays as it was simulated."""

from math import log, sqrt

import numpy as np
import pytest

from goodput.monitor.calendar import calendar
from goodput.monitor.counts import RATE, RATIO, Law, Usual, alone, score
from goodput.monitor.grid import Grid
from goodput.monitor.habits import habits
from monitor.count_noise import CHANCE, NORMAL, Stray, events, strayed, trials
from monitor.drifts import MONDAY_S

DAY = 24


def usual(p: np.ndarray, law: Law = RATIO, clump: float = 1.0, tau: float = 0.0, sway: float = 0.0) -> Usual:
    return Usual(law, p, np.full(p.shape, clump), np.full(p.shape, tau), np.full(p.shape, sway))


def scores(x: list[float], n: list[float], p: float, law: Law = RATIO, **more: float) -> list[float]:
    shape = (1, len(x))
    return list(score(np.array([x]), np.array([n]), usual(np.full(shape, p), law, **more), 3600)[0])


def test_one_window_is_the_signed_root_of_its_deviance() -> None:
    more, fewer = scores([30], [1000], 0.02)[0], scores([12], [1000], 0.02)[0]
    assert more == pytest.approx(sqrt(2 * (30 * log(30 / 20) + 970 * log(970 / 980))))
    assert fewer == pytest.approx(-sqrt(2 * (12 * log(12 / 20) + 988 * log(988 / 980))))


def test_an_hour_weighs_a_tenth_less_for_each_hour_after_it() -> None:
    """Two hours with 10 events too many: 19 of 1,900 trials, of which chance makes 19.6 * 1.81 instead of 37.24."""
    deviance = 2 * (57 * log(57 / 38) + 1843 * log(1843 / 1862))
    assert scores([30, 30], [1000, 1000], 0.02)[1] == pytest.approx(sqrt(deviance * 37.24 / (19.6 * 1.81)))


def test_what_strays_beyond_chance_makes_a_distance_less() -> None:
    """At a sway of 0.1 a window of variance 19.6 counts as 1 / 1.196 of itself, and strays by 0.1 * 19.6 more."""
    w = 1 / 1.196
    y, m, n = w * 30, w * 20, w * 1000
    deviance = 2 * (y * log(y / m) + (n - y) * log((n - y) / (n - m)))
    spread = w**2 * 19.6 + (0.1 * w * 19.6) ** 2
    assert scores([30], [1000], 0.02, sway=0.1)[0] == pytest.approx(sqrt(deviance * (n * 0.02 * 0.98) / spread))


def test_events_that_come_in_clumps_are_as_many_as_the_clumps() -> None:
    assert scores([150, 90], [5000, 4000], 0.02, clump=5)[1] == pytest.approx(scores([30, 18], [1000, 800], 0.02)[1])


def test_many_events_are_judged_by_their_distance_in_sigma() -> None:
    sigma = sqrt(1e6 * 0.3 * 0.7)
    assert scores([3e5 + 3 * sigma], [1e6], 0.3)[0] == pytest.approx(3, abs=0.01)
    assert scores([3e5 + 3 * sigma], [1e6], 0.3, RATE)[0] == pytest.approx(3 * sqrt(0.7), abs=0.01)


def test_no_single_window_pages_and_two_of_what_never_comes_do() -> None:
    """A burst counts with 4 sigma and an event, however large: where one event comes in 50 hours with 1.57."""
    capped = 4 * sqrt(0.02) + 1 + 0.02
    first, second, third = scores([3, 3, 3], [1, 1, 1], 0.02, RATE)
    assert first == pytest.approx(sqrt(2 * (capped * log(capped / 0.02) - (capped - 0.02))))
    assert scores([500], [1], 0.02, RATE)[0] == pytest.approx(first)
    assert first < 3.4 < second < third
    assert scores([600], [1000], 0.02)[0] == pytest.approx(scores([40], [1000], 0.02)[0], abs=0.35) != 0
    assert scores([600], [1000], 0.02)[0] < 4


def test_windows_without_trials_neither_count_nor_age_the_others_until_two_days_have_passed() -> None:
    whole = scores([30, 35], [1000, 1000], 0.02)
    gap = scores([30, *[7] * 40, 35], [1000, *[0] * 40, 1000], 0.02)
    assert np.isnan(gap[1:-1]).all()
    assert gap[-1] == pytest.approx(whole[1])
    later = scores([30, *[0] * 48, 35], [1000, *[0] * 48, 1000], 0.02)
    assert later[-1] == pytest.approx(scores([35], [1000], 0.02)[0])


def test_a_quarter_of_an_hour_forgets_as_fast_as_an_hour() -> None:
    """Four quarters of a steady excess weigh like the hour that they make, up to how they fade within it."""
    p = np.full((1, 96), 0.02)
    by_quarter = score(np.full((1, 96), 7.5), np.full((1, 96), 250.0), usual(p), 900)[0]
    by_hour = scores([30] * 24, [1000] * 24, 0.02)
    assert by_quarter[-1] == pytest.approx(by_hour[-1], rel=0.03)
    assert alone(3600) == pytest.approx((0.1 / 0.19) * 0.1 * (1 - 0.9**96) / (1 - 0.9**48) ** 2)


def history(x: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    grid = Grid(MONDAY_S, x.shape[1] // DAY)
    return x, n, calendar(grid).classes


def test_each_hour_of_each_kind_of_day_has_its_own_share_drawn_to_that_of_all() -> None:
    hours = np.arange(21 * DAY)
    night = (hours % DAY >= 6) & (hours % DAY < 12)
    n = np.full((1, len(hours)), 1000.0)
    x = np.where(night, 40.0, 10.0)[None, :]
    found = habits(*history(x, n), RATIO)
    # twice the 15 working days' and half of two neighbours' hours: 30,000 trials; 20 events of all draw as 1,161 do
    share = (6 * 40 + 18 * 10) / 24_000
    prior = 20 / (share * (1 - share))
    assert found.by_class[0, 9] == pytest.approx((30_000 * 0.04 + prior * share) / (30_000 + prior))
    assert found.by_class[0, 24 + 20] == pytest.approx((12_000 * 0.01 + prior * share) / (12_000 + prior))


def test_what_was_never_seen_is_believed_to_come_three_times_in_such_a_history() -> None:
    n = np.full((1, 21 * DAY), 10.0)
    found = habits(*history(np.zeros(n.shape), n), RATIO)
    never_failed = habits(*history(n, n), RATIO)
    assert found.by_class.max() <= 3 / 5040
    assert never_failed.by_class.min() >= 1 - 3 / 5040


@pytest.mark.parametrize("stray", [Stray(0.2, 0, 0), Stray(0, 0.2, 0)], ids=["fast", "slow"])
def test_what_strays_beyond_chance_is_found_in_the_history(stray: Stray) -> None:
    rng = np.random.default_rng(31)
    n = trials(rng, 200, 21, 5000)
    found = habits(*history(events(rng, n, 0.05, strayed(rng, 200, 21, stray)), n), RATIO)
    assert np.median(found.tau) == pytest.approx(0.2, rel=0.12)
    # of ten hours' means: what comes and goes within hours is averaged, what stays for eight is not
    within = np.abs(np.subtract.outer(np.arange(10), np.arange(10)))
    together = (0.5**within if stray.fast else np.exp(-within / 8.0)).mean()
    assert np.median(found.sway) == pytest.approx(0.2 * sqrt(together), rel=0.2)


def test_clumps_are_found_in_the_history_and_are_no_stray() -> None:
    """Five requests of a session fail together: their counts stray like those of a fifth, at every hour of the day."""
    rng = np.random.default_rng(35)
    n = trials(rng, 200, 21, 1000)
    found = habits(*history(5 * events(rng, n, 0.05, strayed(rng, 200, 21, CHANCE)), 5 * n), RATIO)
    assert np.median(found.clump) == pytest.approx(5, rel=0.2)
    assert np.median(found.tau) < 0.06
    alone = habits(*history(events(rng, n, 0.05, strayed(rng, 200, 21, Stray(0.3, 0, 0))), n), RATIO)
    assert np.median(alone.clump) < 1.6
    assert np.median(alone.tau) == pytest.approx(0.3, rel=0.15)


def test_chance_alone_strays_by_hardly_anything() -> None:
    rng = np.random.default_rng(32)
    n = trials(rng, 200, 21, 5000)
    found = habits(*history(events(rng, n, 0.05, strayed(rng, 200, 21, CHANCE)), n), RATIO)
    assert np.median(found.tau) == 0.03
    assert np.median(found.sway) < 0.03


def test_an_incident_in_the_history_is_not_what_is_usual() -> None:
    rng = np.random.default_rng(33)
    n = trials(rng, 20, 21, 1000)
    x = events(rng, n, 0.002, strayed(rng, 20, 21, NORMAL))
    before = habits(*history(x.copy(), n), RATIO)
    x[:, 10 * DAY + 10 : 10 * DAY + 13] = 0.5 * n[:, 10 * DAY + 10 : 10 * DAY + 13]
    after = habits(*history(x, n), RATIO)
    assert after.by_class == pytest.approx(before.by_class, rel=0.15)
    assert after.sway == pytest.approx(before.sway, abs=0.05)


def test_a_short_history_is_believed_less() -> None:
    """Three weeks that are each the same week show no more than one, and are three times as long."""
    rng = np.random.default_rng(34)
    n = trials(rng, 200, 7, 5000)
    x = events(rng, n, 0.05, strayed(rng, 200, 7, Stray(0, 0.2, 0)))
    week = habits(*history(x, n), RATIO)
    weeks = habits(*history(np.tile(x, 3), np.tile(n, 3)), RATIO)
    assert np.median(week.sway / weeks.sway) > 1.15
