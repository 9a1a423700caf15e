"""Sentences say what rows say: by rows of which the truth is plain."""

from typing import Any

import pytest

from goodput.report.catalog import all_charts
from goodput.report.shown import Slice
from goodput.report.summary import _plain, _undivided

CHARTS = {chart.name: chart for chart in all_charts()}


def load(**more: Any) -> dict[str, Any]:
    row = {"name": "chat", "load_rps": 0.26, "is_sustained": False, "knee_rps": None, "knee_censored": None}
    ends = dict.fromkeys(("knee_ci_low_rps", "knee_ci_high_rps", "recommended_replicas"))
    return {**row, **ends, **more}


def test_without_a_knee_no_load_is_known_to_hold() -> None:
    """NULL is not censored: where every load failed, nobody says that none showed its limit."""
    answer = CHARTS["load_curves"].answer([load(), load(load_rps=0.1)])
    assert answer.startswith("chat: no limit is known; 0 loads of 2 seen, up to 0.26, kept its gates.")
    assert "has shown its limit" not in answer


def test_a_limit_that_no_load_showed_is_called_so() -> None:
    answer = CHARTS["load_curves"].answer([load(knee_rps=0.26, knee_censored=True, is_sustained=True)])
    assert answer.startswith("chat: no load up to 0.26 requests/s a replica has shown its limit.")


def test_of_many_pools_a_few_are_named() -> None:
    answer = CHARTS["load_curves"].answer([load(name=f"pool{n}") for n in range(24)])
    assert answer.count("pool") == 5
    assert "; and 19 more." in answer


def operation(baseline: str) -> dict[str, Any]:
    named = {"kind": "deployment", "pool": "rag", "at": 0.0, "baseline": baseline, "lost_accepted": 7.0}
    return {**named, "excess_cost_usd": 3.96, "low_usd": 2.74, "high_usd": 5.23}


@pytest.mark.parametrize(("baseline", "is_said"), [("matched", False), ("nearest", True), ("undisturbed", True)])
def test_a_price_says_where_load_is_in_it(baseline: str, is_said: bool) -> None:
    answer = CHARTS["operations_done"].answer([operation(baseline)])
    assert ("a load that changed is in the difference" in answer) == is_said


@pytest.mark.parametrize("name", ["accepted_over_time", "price_over_time"])
def test_extremes_are_those_of_windows_that_were_wholly_observed(name: str) -> None:
    def window(at: float, value: float, *, partial: bool) -> dict[str, Any]:
        ends = dict.fromkeys(("low", "high", "low_usd", "high_usd"), value)
        return {"at": at, "ratio": value, "price_usd": value, "partial": partial, **ends}

    rows = [window(0, 0.01, partial=True), window(6e5, 0.2, partial=False), window(12e5, 0.3, partial=False)]
    answer = CHARTS[name].answer([*rows, window(18e5, 1.0, partial=True)])
    assert "01 Jan 00:10" in answer
    assert "01 Jan 00:20" in answer
    assert "01 Jan 00:00" not in answer
    assert "01 Jan 00:30" not in answer
    assert "01 Jan 00:00" in CHARTS[name].answer([rows[0], window(18e5, 1.0, partial=True)])


def test_a_summary_says_which_charts_are_of_all() -> None:
    values = dict.fromkeys(Slice.__dataclass_fields__) | {"choice": 1, "workload": "batch"}
    one = Slice(**values)
    assert _undivided(CHARTS["accepted_over_time"], one) == ""
    assert _undivided(CHARTS["operations_done"], one) == " *Not divided by workload: of all.*"


def test_names_of_telemetry_do_not_speak_to_a_terminal() -> None:
    assert _plain("a\x1b[31m\u202eb\nc") == "a\N{REPLACEMENT CHARACTER}\\[31m\N{REPLACEMENT CHARACTER}b c"
