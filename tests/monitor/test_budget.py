"""Which threshold a budget of alarms asks for, counted again one window after the other."""

from datetime import timedelta

import numpy as np
import pytest

from goodput.monitor.budget import Kept
from goodput.monitor.evaluate import Evaluation, Evidence
from goodput.settings.alarms import default_rules
from goodput.settings.model import Settings
from monitor.noise import hourly_p99
from monitor.rows import MONDAY, goodput_rows

DAYS, POOLS = 35, 60
RULE = "p99_ttft_s_page"
SETTINGS = Settings.model_validate(
    {"alarms": {"rules": {name: {"enabled": False} for name in default_rules() if name != RULE}}}
)


@pytest.fixture(scope="module")
def seen() -> Evaluation:
    rows = goodput_rows(*hourly_p99(np.random.default_rng(31), POOLS, DAYS))
    return Evaluation(Evidence({"goodput": rows}, SETTINGS), MONDAY + timedelta(days=DAYS))


def kept(seen: Evaluation, budget: float) -> Kept:
    (found,) = seen.thresholds_for(budget)
    return found


def fired(seen: Evaluation, threshold: float) -> int:
    """Firings in the last four weeks: at the threshold at once, over after three windows below half of it."""
    total = 0
    for one in (one for one in seen.rule_series if one.rule == RULE):
        firing, calm = False, 0
        for score in one.score[(DAYS - 28) * 24 : DAYS * 24]:
            if np.isnan(score):
                continue
            if not firing and score >= threshold:
                firing, calm, total = True, 0, total + 1
            elif firing:
                calm = calm + 1 if score < threshold / 2 else 0
                firing = calm < 3
    return total


@pytest.mark.parametrize("budget", [1.0, 5.0, 40.0])
def test_it_is_the_least_threshold_that_keeps_the_budget(seen: Evaluation, budget: float) -> None:
    found = kept(seen, budget)
    assert (found.rule, found.series, found.now) == (RULE, POOLS, 3.0)
    assert found.days == pytest.approx(POOLS * 28, rel=0.01)
    assert found.threshold is not None
    assert found.fired == fired(seen, found.threshold) <= budget * found.days / 1000
    assert fired(seen, found.threshold - 0.1) > budget * found.days / 1000
    assert found.fired_now == fired(seen, 3.0)


def test_who_bears_less_finds_drifts_later(seen: Evaluation) -> None:
    patient, nervous = kept(seen, 1.0), kept(seen, 40.0)
    assert patient.threshold is not None
    assert nervous.threshold is not None
    assert patient.threshold > nervous.threshold
    for name in ("2pct", "5pct", "10pct"):
        assert patient.delays_s[name] > nervous.delays_s[name]
    assert patient.delays_s["2pct"] > patient.delays_s["5pct"] > patient.delays_s["10pct"]


def test_a_budget_that_no_threshold_keeps(seen: Evaluation) -> None:
    """A fault of which scores reach their highest in one series of sixty: one page in 1,680 days at any threshold."""
    p99, requests = hourly_p99(np.random.default_rng(31), POOLS, DAYS)
    p99[0, 20 * 24 : 28 * 24] *= 20
    broken = Evaluation(Evidence({"goodput": goodput_rows(p99, requests)}, SETTINGS), MONDAY + timedelta(days=DAYS))
    found = kept(broken, 0.5)
    assert (found.threshold, found.delays_s) == (None, {})
    assert kept(broken, 0.7).threshold is not None
