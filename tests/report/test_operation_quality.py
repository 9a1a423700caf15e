"""What judges said before and after an operation: which windows count, and how sure the shares are, by plain rows."""

from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

from goodput.contracts import arrow_schema
from goodput.plumbing.sql_files import connect
from goodput.report.catalog import all_charts
from report.test_sums import DAY, asked

ANSWER = next(chart.answer for chart in all_charts() if chart.name == "operations_done")
MINUTES = 5  # of a window
GOOD, BAD = (100, 95), (100, 80)


def operation(minute: float, kind: str = "deployment", pool: str | None = "p", lasts: int = 10) -> dict[str, Any]:
    begin = DAY + timedelta(minutes=minute)
    named = {"event_id": f"{kind} {minute:g}", "kind": kind, "pool": pool}
    return {**named, "occurred_at": begin, "ended_at": begin + timedelta(minutes=lasts)}


def said(nth: int, counts: tuple[int, int], **more: Any) -> dict[str, Any]:
    judged, passed = counts
    at = {"window_start": DAY + timedelta(minutes=nth * MINUTES), "window_s": 300}
    named = {"workload": "rag", "model": "m", "evaluator": "e"}
    return {**at, **named, "judged": judged, "passed": passed, "answered": 400, "pass_ratio": passed / judged, **more}


def found(operations: list[dict[str, Any]], quality: list[dict[str, Any]], **given: Any) -> dict[str, dict[str, Any]]:
    """By operation what is said of it; every window is served by the pools that are given, as a rule the one."""
    pools, final_day = given.get("pools", ("p",)), given.get("final_day", 9)
    served = [
        {"slice": "workload_pool", "workload": "rag", "pool": pool, "offered": 400}
        | {"window_start": DAY + timedelta(minutes=nth * MINUTES), "window_s": 300}
        for pool in pools
        for nth in range(24)
    ]
    tables = {"disruptions": operations, "quality": quality, "goodput": served}
    instant = pa.timestamp("us", "UTC")
    mark = pa.table({"final_until_at": pa.array([DAY + timedelta(days=final_day)], instant)})
    rows = asked(
        "operation_quality",
        watermark=mark,
        **{name: pa.Table.from_pylist(some, schema=arrow_schema(name)) for name, some in tables.items()},
    )
    return {row.pop("event_id"): row for row in rows}


def wilson(ratio: float, size: float) -> list[float]:
    with connect() as connection:
        (ends,) = connection.execute("SELECT wilson(?::DOUBLE, ?::DOUBLE)", [ratio, size]).fetchone() or ()
    return [ends["low"], ends["high"]]


def ends(row: dict[str, Any], side: str) -> list[float]:
    return [row[f"{side}_low"], row[f"{side}_high"]]


def test_counts_before_and_after_are_pooled_and_the_window_of_the_operation_is_neither() -> None:
    quality = [said(0, GOOD), said(1, GOOD), said(2, (100, 0)), said(3, BAD), said(4, BAD)]
    row = found([operation(12)], quality)["deployment 12"]
    assert (row["judge"], row["before_judged"], row["after_judged"]) == ("e of rag", 200, 200)
    assert (row["before_ratio"], row["after_ratio"]) == (0.95, 0.8)
    # windows that are alike show no spread: Wilson's at all labels
    assert ends(row, "before") == pytest.approx(wilson(0.95, 200))
    assert ends(row, "after") == pytest.approx(wilson(0.8, 200))
    assert row["is_apart"]
    # 0.15 beside the root of the squares of 0.0393 down and 0.0495 up
    assert row["times_reach"] == pytest.approx(2.37, abs=0.01)


def test_windows_that_differ_are_worth_fewer_labels() -> None:
    quality = [said(0, (100, 100)), said(1, (100, 90)), said(3, BAD), said(4, BAD)]
    row = found([operation(12)], quality)["deployment 12"]
    # 5 off each: 2 x 50 beside the 200 x 0.95 x 0.05 of chance, 10.5 times as much
    assert ends(row, "before") == pytest.approx(wilson(0.95, 200 * 9.5 / 100))
    assert not row["is_apart"]


def test_other_deployments_of_the_pool_bound_what_is_compared() -> None:
    bad = [said(nth, BAD) for nth in (0, 1, 4, 5, 12, 13)]
    good = [said(nth, GOOD) for nth in (6, 7, 9, 10)]
    before, after = operation(2, "config_change", lasts=28), operation(58, pool=None)
    row = found([before, operation(42), after], [*bad, *good])["deployment 42"]
    assert (row["before_judged"], row["after_judged"]) == (200, 200)
    assert (row["before_ratio"], row["after_ratio"]) == (0.95, 0.95)
    # of another pool it is nobody's bound, and scaling bounds nothing
    elsewhere = [before | {"pool": "q"}, operation(58, "scale_out")]
    assert found([*elsewhere, operation(42)], [*bad, *good])["deployment 42"]["before_judged"] == 600


def test_what_is_not_the_pools_or_says_nothing_is_left_out() -> None:
    quality = [said(nth, GOOD) for nth in (0, 1, 3, 4)]
    assert found([operation(12, "scale_in")], quality) == {}
    assert found([operation(12)], quality, pools=("p", "q")) == {}
    assert found([operation(12, pool="q")], quality) == {}
    assert set(found([operation(12, pool=None)], quality, pools=("p", "q"))) == {"deployment 12"}
    assert found([operation(12)], quality[:3]) == {}  # one window shows no spread
    assert found([operation(12)], [row | {"pass_ratio": None} for row in quality]) == {}  # nobody drew these
    assert found([operation(12)], [row | {"evaluator": None} for row in quality]) == {}  # the gate repeats its judges
    assert found([operation(12)], [row | {"label": "good"} for row in quality]) == {}


def test_of_several_judges_the_one_is_told_that_differs_most_surely() -> None:
    quality = [said(nth, GOOD, evaluator="a") for nth in (0, 1, 3, 4)]
    quality += [said(nth, counts) for nth, counts in ((0, GOOD), (1, GOOD), (3, BAD), (4, BAD))]
    assert found([operation(12)], quality)["deployment 12"]["judge"] == "e of rag"


@pytest.mark.parametrize(("final_day", "is_final"), [(-1, False), (1, True)])
def test_labels_may_still_come_until_windows_are_final(final_day: int, is_final: bool) -> None:
    quality = [said(nth, GOOD) for nth in (0, 1, 3, 4)]
    assert found([operation(12)], quality, final_day=final_day)["deployment 12"]["is_final"] is is_final


def told(name: str, after: float, *, apart: bool, reach: float = 2.0, **more: Any) -> dict[str, Any]:
    row = {
        **dict.fromkeys(
            column.name for chart in all_charts() if chart.name == "operations_done" for column in chart.columns
        ),
        "kind": "deployment",
        "pool": name,
        "at": 0.0,
        "excess_cost_usd": None,
    }
    before = {"before_ratio": 0.92, "before_low": 0.90, "before_high": 0.94}
    of = {"after_ratio": after, "after_low": after - 0.02, "after_high": after + 0.02}
    return {
        **row,
        "judge": f"e of {name}",
        **before,
        **of,
        "is_apart": apart,
        "times_reach": reach,
        "is_final": True,
        **more,
    }


def test_a_sentence_tells_of_quality_that_surely_differs_and_calls_nothing_its_cause() -> None:
    sure, unsure = told("rag", 0.8, apart=True), told("chat", 0.91, apart=False, reach=0.3)
    shares = (
        "e of rag, from 92.0 % (90.0 to 94.0 %) to 80.0 % (78.0 to 82.0 %) at the deployment of rag at 01 Jan 00:00"
    )
    assert ANSWER([unsure, sure]).endswith(
        f"\nJudged quality was another before and after, whatever the cause: {shares}."
    )
    assert ANSWER([sure | {"is_final": False}]).endswith(f"{shares} (labels may still come).")
    four = [told(name, 0.8, apart=True, reach=reach) for name, reach in zip("abcd", (5.0, 2.0, 4.0, 3.0), strict=True)]
    many = ANSWER(four)
    assert many.index("e of a") < many.index("e of c") < many.index("e of d")
    assert many.endswith("; and 1 more.")
    assert "e of b" not in many


def test_quality_that_may_differ_by_chance_is_called_so() -> None:
    near, far = told("rag", 0.89, apart=False, reach=0.9), told("chat", 0.91, apart=False, reach=0.3)
    answer = ANSWER([far, near])
    assert (
        "No operation surely changed judged quality; the nearest is e of rag, from 92.0 % (90.0 to 94.0 %) to 89.0 %"
        in answer
    )
    assert answer.endswith(
        "at the deployment of rag at 01 Jan 00:00, which may be chance: more labels would tell (`goodput labels plan`)."
    )
    assert "Judged quality" not in ANSWER([far | {"judge": None}])
