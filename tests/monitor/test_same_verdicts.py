"""Whatever the order, the number and the times of runs: the same alarms, each reported once, firing before resolved."""

from datetime import timedelta
from typing import Any

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from goodput.monitor.evaluate import Evaluation, Evidence
from goodput.settings.alarms import default_rules
from goodput.settings.model import Settings
from monitor.rows import MONDAY, goodput_rows

HOURS = 72
BOUND = {"kind": "absolute", "metric": "p99_ttft_s", "above": 2.0, "for_windows": 1, "clear_windows": 1}
ONLY_BOUND = Settings.model_validate(
    {"alarms": {"rules": {**{name: {"enabled": False} for name in default_rules()}, "slow": BOUND}}}
)
LEVELS = st.lists(st.sampled_from([1.0, 1.9, 3.0, np.nan]), min_size=HOURS, max_size=HOURS)


def rows(levels: list[float]) -> pl.DataFrame:
    values = np.array([levels])
    return goodput_rows(np.nan_to_num(values, nan=1.0), np.where(np.isnan(values), 0, 1000))


def run(recorded: list[Any], frame: pl.DataFrame, hour: int) -> list[Any]:
    seen = frame.filter(pl.col("window_start") < MONDAY + timedelta(hours=hour))
    now = MONDAY + timedelta(hours=hour, minutes=5)
    return recorded + Evaluation(Evidence({"goodput": seen}, ONLY_BOUND), now).new_events(recorded)


def alarms(recorded: list[Any]) -> list[Any]:
    return [e for e in recorded if e["kind"] == "absolute"]


def by_hand(levels: list[float]) -> list[tuple[str, int]]:
    """The machine of one window, one window after the other."""
    found, firing = [], False
    for hour, level in enumerate(levels):
        if not firing and level > 2.0:
            found.append(("firing", hour + 1))
            firing = True
        elif firing and level <= 1.8:  # a tenth below the bound
            found.append(("resolved", hour + 1))
            firing = False
    return found


@settings(max_examples=10, deadline=None)
@given(LEVELS, st.sets(st.integers(1, HOURS), max_size=6), st.randoms())
def test_any_runs_tell_what_one_run_tells(levels: list[float], hours: set[int], random: Any) -> None:
    frame = rows(levels)
    recorded: list[Any] = []
    for hour in sorted(hours | {HOURS}):
        shuffled = frame.sample(fraction=1.0, shuffle=True, seed=random.randrange(1000))
        recorded = run(recorded, shuffled, hour)
        assert run(recorded, frame, hour) == recorded
    past = {
        (e["transition"], round((e["occurred_at"] - MONDAY).total_seconds() / 3600))
        for e in alarms(recorded)
        if e["transition"] == "resolved" or e["occurred_at"] == e["starts_at"]
    }
    assert past == set(by_hand(levels))
    assert len({e["event_id"] for e in recorded}) == len(recorded)
    assert "corrected" not in {e["transition"] for e in recorded}


@settings(max_examples=25, deadline=None)
@given(LEVELS, LEVELS)
def test_after_late_data_the_events_that_stand_are_those_of_the_new_history(old: list[float], new: list[float]) -> None:
    recorded = run(run([], rows(old), HOURS), rows(new), HOURS)
    corrected = {e["corrects"] for e in alarms(recorded)}
    standing = {
        (e["transition"], round((e["occurred_at"] - MONDAY).total_seconds() / 3600))
        for e in alarms(recorded)
        if e["transition"] in {"firing", "resolved"} and e["event_id"] not in corrected
        if e["transition"] == "resolved" or e["occurred_at"] == e["starts_at"]
    }
    assert standing == set(by_hand(new))


@settings(max_examples=25, deadline=None)
@given(LEVELS)
def test_who_is_told_of_a_resolve_was_told_of_its_firing(levels: list[float]) -> None:
    recorded: list[Any] = []
    for hour in range(6, HOURS + 1, 22):
        recorded = run(recorded, rows(levels), hour)
    fired: set[Any] = set()
    for event in alarms(recorded):
        if event["transition"] == "firing" and event["suppressed"] is None:
            assert event["starts_at"] not in fired  # once
            fired.add(event["starts_at"])
        if event["transition"] == "resolved":
            assert (event["suppressed"] is None) == (event["starts_at"] in fired)
