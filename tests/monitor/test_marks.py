"""What steps up at an operation: it asks, and pages once it is worse than allowed."""

import json
import math
import re
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from goodput.monitor.evaluate import Evaluation, Evidence
from goodput.settings.model import Settings
from monitor.noise import CALM, hourly_p99
from monitor.rows import MONDAY, goodput_rows

A_DAY = 24
ONSET = 30 * A_DAY
OTHERS = {
    f"{metric}_{severity}": {"enabled": False}
    for metric in ("p99_tpot_s", "p99_e2e_s", "p95_tpot_s", "p95_e2e_s", "goodput_ratio")
    for severity in ("page", "ticket")
}


def judged(
    factor: np.ndarray, marked_at: int | None, kind: str = "deployment", until: int = ONSET + 40, **alarms: Any
) -> Any:
    """Events of the p99 of ttft of a calm pool that changes by factors from ONSET on, and the alarms 40 hours later."""
    p99, requests = hourly_p99(np.random.default_rng(5), 1, 34, profile=CALM)
    p99[0, ONSET:] *= np.broadcast_to(factor, 34 * A_DAY - ONSET)
    mark = {"kind": kind, "occurred_at": at(marked_at or 0), "pool": "pool-0", "revision": "v2"}
    operations = [] if marked_at is None else [mark]
    settings = Settings.model_validate({"alarms": {"rules": OTHERS, "max_age_s": 1e9, **alarms}})
    rows = goodput_rows(p99, requests)
    seen = rows.filter(rows["window_start"] < at(until))
    evaluation = Evaluation(Evidence({"goodput": seen}, settings, operations=operations), at(until))
    return evaluation.new_events([]), {row["rule"]: row for row in evaluation.alarms()}


def at(hour: float) -> Any:
    return MONDAY + timedelta(hours=hour)


def reported(events: list[Any]) -> list[tuple[str, str]]:
    """Which rules somebody is notified of, in order."""
    return [(e["rule"], e["transition"]) for e in events if e["suppressed"] is None and e["kind"] == "trend"]


@pytest.mark.parametrize("kind", ["deployment", "scale_in", "config_change"])
def test_a_step_within_what_is_allowed_asks_and_pages_nobody(kind: str) -> None:
    events, alarms = judged(np.array(1.12), ONSET - 1, kind)
    assert reported(events) == [("p99_ttft_s_ticket", "firing")]
    page, ticket = alarms["p99_ttft_s_page"], alarms["p99_ttft_s_ticket"]
    assert (page["state"], page["suppressed"]) == ("firing", "allowed")
    assert page["suppressed_by"].startswith(f"{kind} v2 at ")
    asked = f"accept the new level? goodput alarms accept {ticket['alarm_id']} --from 2026-02-0"
    assert asked in ticket["summary"]


def test_an_allowed_step_says_how_large_it_is_and_how_large_it_may_be() -> None:
    """12 %, of which noise of four hours hides or adds a few; up to 20 % and the sigma of the hour that fired."""
    since = judged(np.array(1.12), ONSET - 1)[1]["p99_ttft_s_page"]["starts_at"]
    hour = int((since - MONDAY) / timedelta(hours=1))
    for allowed in (0.2, 0.4):
        _, alarms = judged(np.array(1.12), ONSET - 1, until=hour, allowed_step_ratio=allowed)
        page = alarms["p99_ttft_s_page"]
        figures = re.search(r", a step of \+(.*) % \(up to \+(.*) % allowed\)$", page["suppressed_by"])
        assert figures is not None
        assert float(figures[1]) == pytest.approx(12, abs=6)
        assert float(figures[2]) == pytest.approx(100 * ((1 + allowed) * math.exp(page["sigma"]) - 1), abs=0.051)


def test_what_is_back_at_its_usual_while_it_fires_still_says_what_made_it_fire() -> None:
    """Eight hours half as slow again, and one at the usual: the score has forgotten three tenths of it."""
    for slow, back in ((8, False), (9, True)):
        factor = np.where(np.arange(34 * A_DAY - ONSET) < 8, 1.5, 1.0)
        _, alarms = judged(factor, None, until=ONSET + slow)
        page = alarms["p99_ttft_s_page"]
        assert page["state"] == "firing"
        fired = json.loads(page["explanation"])
        figures = f"{p99_at(page['starts_at'] - timedelta(hours=1), factor):.4g} s instead of "
        assert (f": {figures}" in page["summary"] and " when it fired, now " in page["summary"]) == back
        assert ("value_when_fired" in fired) == back


def p99_at(start: Any, factor: np.ndarray) -> float:
    """The value of the window that begins then, as `judged` makes it."""
    hour = int((start - MONDAY) / timedelta(hours=1))
    p99, _ = hourly_p99(np.random.default_rng(5), 1, 34, profile=CALM)
    return float(p99[0, hour] * factor[hour - ONSET])


def test_without_an_operation_the_same_step_pages() -> None:
    events, _ = judged(np.array(1.12), None)
    assert ("p99_ttft_s_page", "firing") in reported(events)


def test_an_operation_of_the_day_before_allows_nothing() -> None:
    events, _ = judged(np.array(1.12), ONSET - 20)
    assert ("p99_ttft_s_page", "firing") in reported(events)


def test_an_incident_is_no_operation_that_is_meant() -> None:
    events, _ = judged(np.array(1.12), ONSET - 1, "incident")
    assert ("p99_ttft_s_page", "firing") in reported(events)


def test_a_step_that_is_worse_than_allowed_pages_at_once() -> None:
    plain, _ = judged(np.array(1.5), None)
    marked, _ = judged(np.array(1.5), ONSET - 1)
    pages = [[e["occurred_at"] for e in events if e["rule"] == "p99_ttft_s_page"] for events in (plain, marked)]
    assert pages[0] == pages[1]
    assert ("p99_ttft_s_page", "firing") in reported(marked)


def test_a_drift_that_begins_with_a_deployment_pages_when_it_has_left_what_is_allowed() -> None:
    """3 % an hour is 20 % and a sigma (5 to 6 %) after 8 hours, as a median of four hours after 10."""
    events, _ = judged(1.03 ** np.arange(1, 34 * A_DAY - ONSET + 1), ONSET - 1)
    paged = [e for e in events if e["rule"] == "p99_ttft_s_page" and e["suppressed"] is None]
    assert len(paged) == 1
    assert at(ONSET + 7) <= paged[0]["occurred_at"] <= at(ONSET + 13)


def test_an_allowed_step_stays_allowed_and_what_comes_on_top_of_it_pages() -> None:
    """15 % stand for two days; 5 % an hour more are found as soon as without the step, but for what is left of it."""
    hours = np.arange(34 * A_DAY - ONSET)
    stands, drifts = np.full(len(hours), 1.15), 1.05 ** np.maximum(hours - 47, 0)
    assert reported(judged(stands, ONSET - 1, until=ONSET + 90)[0]) == [("p99_ttft_s_ticket", "firing")]
    both, alone = (judged(each, ONSET - 1, until=ONSET + 90)[0] for each in (stands * drifts, drifts))
    begun = [
        next(e["occurred_at"] for e in events if e["rule"] == "p99_ttft_s_page" and e["suppressed"] is None)
        for events in (both, alone)
    ]
    assert at(ONSET + 48) < begun[1] <= at(ONSET + 58)
    assert abs(begun[0] - begun[1]) <= timedelta(hours=2)


def test_how_much_is_allowed_is_the_operators_to_say() -> None:
    assert ("p99_ttft_s_page", "firing") in reported(judged(np.array(1.12), ONSET - 1, allowed_step_ratio=0.0)[0])
    assert ("p99_ttft_s_page", "firing") in reported(judged(np.array(1.12), ONSET - 1, allowed_step_ratio=0.05)[0])
    assert reported(judged(np.array(1.5), ONSET - 1, allowed_step_ratio=0.9)[0]) == [("p99_ttft_s_ticket", "firing")]
