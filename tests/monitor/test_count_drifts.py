"""What the chart of counts finds and how soon, and when it stays silent: counted over hundreds of seeded series.

The bounds are promises, not what was measured; `make drill-alarms` prints the figures themselves.
"""

import numpy as np
import pytest

from goodput.settings.watched import metrics
from monitor.count_noise import CALM, NOISY, NORMAL, Stray, counts_fired, events, moved, onsets, scored, strayed, trials
from monitor.drifts import found

SERIES, DAYS, A_DAY = 150, 35, 24
PAGE = metrics()["failed"].page
KINDS = {
    "quality": (100, 0.05, CALM),
    "failed": (1000, 0.002, NORMAL),
    "retried": (10_000, 0.03, NOISY),
}


def scores(kind: str, seed: int, change: np.ndarray | float = 0.0) -> np.ndarray:
    per_hour, usual, stray = KINDS[kind]
    rng = np.random.default_rng(seed)
    n = trials(rng, SERIES, DAYS, per_hour)
    return scored(events(rng, n, usual, strayed(rng, SERIES, DAYS, stray) + change), n)


@pytest.mark.parametrize(("kind", "times", "hours"), [("quality", 2, 10), ("failed", 3, 7), ("retried", 10, 5)])
def test_what_multiplies_pages_within_hours(kind: str, times: float, hours: float) -> None:
    onset = onsets(61, SERIES)
    known = found(counts_fired(scores(kind, 62, moved(DAYS * A_DAY, onset, np.log(times))), PAGE), onset)
    assert known.percentile(0.5) <= hours
    assert known.within(3 * hours) >= 0.97


def test_hardly_any_page_is_false() -> None:
    false = [sum(map(len, counts_fired(scores(kind, 63), PAGE))) for kind in KINDS]
    # 12,600 series-days: were the true rate 1 in 1,000, more than 22 would come once in 100 times
    assert sum(false) <= 22


def test_one_wild_hour_pages_nobody() -> None:
    wild = np.zeros((SERIES, DAYS * A_DAY))
    wild[:, 30 * A_DAY] = 10
    known = found(counts_fired(scores("failed", 64, wild), PAGE), np.full(SERIES, 30 * A_DAY))
    assert known.within(3) <= 0.02


def test_a_ratio_that_strays_for_hours_is_no_trend_at_any_traffic() -> None:
    """What is far beyond chance of 100,000 requests an hour is what the series always did."""
    rng = np.random.default_rng(65)
    n = trials(rng, SERIES, DAYS, 100_000)
    slow = scored(events(rng, n, 0.05, strayed(rng, SERIES, DAYS, Stray(0.05, 0.15, 0.05))), n)
    assert sum(map(len, counts_fired(slow, PAGE))) <= 9  # of 4,200 series-days
