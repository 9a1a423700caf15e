"""Silences: those of chance are not reported, the others soon; whatever the series' own history of empty hours is."""

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from goodput.monitor.evaluate import Evaluation, Evidence
from goodput.settings.model import Settings
from monitor.rows import goodput_rows
from monitor.silences import A_DAY, AT_NIGHT, DAYS, EVENLY, traffic, watched


@pytest.mark.parametrize(
    ("share", "sticky", "most"),
    # of 12,250 series-days: were it 1 in 1,000, more than 22 would come once in 250 times; with clusters it is 3
    [(EVENLY, 1.0, 22), (AT_NIGHT, 1.0, 22), (EVENLY, 2.0, 37)],
    ids=["evenly", "at night", "in clusters"],
)
def test_hours_that_are_empty_by_chance_are_no_silence(share: np.ndarray, sticky: float, most: int) -> None:
    there = traffic(share, sticky)
    assert abs(1 - there.mean() - share.mean()) < 0.01
    pairs = ~there[:, 1:] & ~there[:, :-1]
    assert pairs.mean() > 0.02 * min(sticky, 1) * share.max()  # two in a row are no rarity
    false = sum(episode.firing is not None for one in watched(there) for episode in one.episodes)
    assert false <= most


@pytest.mark.parametrize(
    ("share", "within_h"),
    [(np.zeros(A_DAY), 2), (AT_NIGHT, 4), (EVENLY * 0.75, 8)],  # 24,000 hours to one: 1/8 to the fifth is 1 in 32,768
    ids=["never", "at night", "evenly"],
)
def test_a_silence_is_told_as_soon_as_it_is_too_long_for_chance(share: np.ndarray, within_h: int) -> None:
    there = traffic(share)
    there[:, -16:] = np.arange(16) == 0  # silent since 09:00 of the last day
    begun = DAYS * A_DAY - 15
    firing = [one.episodes[-1] for one in watched(there)]
    assert min(episode.pending for episode in firing) == begun
    took = [np.inf if episode.firing is None else episode.firing - begun + 1 for episode in firing]
    assert np.quantile(took, 0.9, method="inverted_cdf") <= within_h


def test_an_outage_that_is_over_makes_the_next_one_hardly_later() -> None:
    there = np.ones((1, DAYS * A_DAY), dtype=np.bool_)
    there[0, 40 * A_DAY : 40 * A_DAY + 12] = there[0, -8:] = False
    (one,) = watched(there)
    assert [episode.firing for episode in one.episodes] == [40 * A_DAY + 1, DAYS * A_DAY - 6]


@pytest.mark.parametrize("opens", [6, 8, 13])
def test_the_first_hour_of_a_day_of_work_counts_as_the_others_do(opens: int) -> None:
    """Closed at all other hours and on days off; on the last Monday nobody comes."""
    hours = np.arange(50 * A_DAY)
    there = ((hours % A_DAY >= opens) & (hours % A_DAY < 18) & (hours // A_DAY % 7 < 5))[None, :]
    there[0, 49 * A_DAY :] = False
    (one,) = watched(there)
    (episode,) = one.episodes
    assert (episode.pending, episode.firing) == (49 * A_DAY + opens, 49 * A_DAY + opens + 1)


def test_it_says_since_when_and_where_to_see_it() -> None:
    requests = np.ones((2, 30 * A_DAY), dtype=np.int64)
    requests[1, -5:] = 0
    rows = goodput_rows(np.ones(requests.shape), requests)
    now = datetime(2026, 2, 4, tzinfo=UTC)
    found = Evaluation(Evidence({"goodput": rows}, Settings()), now).alarms()
    silent: dict[str, Any] = next(row for row in found if row["rule"] == "pool_silent" and row["state"] == "firing")
    assert silent["pool"] == "pool-1"
    assert "no traffic since 2026-02-03T19:00:00Z" in silent["summary"]
    assert "FROM goodput WHERE workload = 'chat' AND pool = 'pool-1'" in silent["explanation"]
