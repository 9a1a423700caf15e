"""What is worth trying first: what each change would gain, by rows of which the truth is plain."""

from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

from goodput.report.catalog import all_charts
from report.test_sums import DAY, asked
from report.test_unlike import of_contract

ANSWERS = {chart.name: chart.answer for chart in all_charts()}
TEXT, NUMBER, COUNT, FLAG, TIME = pa.string(), pa.float64(), pa.int64(), pa.bool_(), pa.timestamp("us", "UTC")
READ = {  # what is read of relations that are the page's own
    "parts_apart": {"period": TEXT, "workload": TEXT, "divided_by": TEXT, "name": TEXT, "beside": TEXT}
    | dict.fromkeys(("offered", "other_offered", "gap", "gap_half", "p"), NUMBER),
    "replica_paces": {"period": TEXT, "pool": TEXT, "replica": TEXT, "at": TIME, "is_slow": FLAG}
    | {"slow_answers": COUNT, "others_slow_answers": COUNT, "attempts_ratio": NUMBER},
    "operations_done": {"period": TEXT, "event_id": TEXT, "kind": TEXT, "pool": TEXT, "at": TIME, "judge": TEXT}
    | dict.fromkeys(("lost_accepted", "lost_accepted_ci_low", "lost_accepted_ci_high", "times_reach"), NUMBER)
    | dict.fromkeys(("excess_cost_usd", "high_usd"), NUMBER)
    | dict.fromkeys((f"{side}_{end}" for side in ("before", "after") for end in ("ratio", "low", "high")), NUMBER),
    "spare_replicas": {"period": TEXT, "pool": TEXT, "is_by_knee": FLAG}
    | dict.fromkeys(("spare_usd", "spare_low_usd", "spare_high_usd"), NUMBER),
    "load_curves": {"divided_by": TEXT, "pool": TEXT, "replica_hour_usd": NUMBER},
}
ENDS = ("goodput_ci_low_rps", "goodput_ci_high_rps")
ENDLESS = dict.fromkeys(ENDS, 93 / 86400)
EACH_USD, POOL_EACH_USD = 0.5, 0.25  # of a request of the workload, and of the pool


def served(workload: str = "chat", pool: str = "p", **counts: float) -> list[dict[str, Any]]:
    """A day of a workload and its pool, of which 100 answers passed all gates but quality, 25 in its first hour."""
    day = {"window_start": DAY, "window_s": 86400, "offered": 100} | dict.fromkeys(ENDS, 0.0) | counts
    passed = {"accepted": 30, "rejected": 10, "unlabelled": 60, "direct_cost_usd": 100 * POOL_EACH_USD}
    return [
        {"direct_cost_usd": 100 * EACH_USD} | day | {"slice": "workload", "workload": workload},
        day | {"slice": "workload_pool", "workload": workload, "pool": pool},
        day | passed | {"slice": "pool", "pool": pool},
        day | {"slice": "pool", "pool": pool, "window_s": 3600, "accepted": 5, "unlabelled": 20},
    ]


def trying(windows: list[dict[str, Any]], **rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    tables = {
        name: pa.Table.from_pylist(
            [{"period": "all"} | row for row in rows.get(name, [])], schema=pa.schema(list(columns.items()))
        )
        for name, columns in READ.items()
    }
    waste = of_contract("waste", rows.get("waste", []))
    return asked("worth_trying", goodput=of_contract("goodput", windows), waste=waste, **tables)


def of_kind(found: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    (row,) = [row for row in found if row["kind"] == kind]
    return row


def test_what_one_cause_made_late_counts_as_far_as_its_answers_may_be_good() -> None:
    good = dict(zip(ENDS, (50 / 86400, 60 / 86400), strict=True))
    windows = served(queue_late=8, accepted=20, rejected=20, unlabelled=40, **good)
    spent = {"slice": "workload", "workload": "chat", "window_start": DAY, "window_s": 86400}
    waste = [
        spent | {"bucket": "slow", "usd": 5.0, "queue_late_usd": 2.5},
        spent | {"bucket": "rejected", "usd": 7.0, "ci_high_usd": 8.0},
    ]
    found = trying(windows, waste=waste, load_curves=[{"divided_by": "pool", "pool": "p", "replica_hour_usd": 2.0}])
    queue = of_kind(found, "queue")
    # of 80 answers that passed all else at most 60 are good: at most three quarters of those that waited would be
    assert (queue["basis"], queue["answers"], queue["low_answers"]) == ("bound", None, 0)
    assert (queue["high_answers"], queue["high_worth_usd"]) == (pytest.approx(6), 2.5)
    quality = of_kind(found, "quality")  # at least 50 are good
    assert (quality["high_answers"], quality["high_worth_usd"]) == (pytest.approx(30), 8.0)
    answer = ANSWERS["worth_trying"](found)
    assert answer.startswith("No change has evidence for it")
    assert (
        "Shorten the queue of workload chat: at most 6 more accepted answers by that alone, worth $2.50. Look" in answer
    )
    assert "where workload = 'chat' and late_by = 'queue' group by all" in answer
    assert "shows when and where; one more replica for those times costs $2.00 an hour." in answer


def test_a_name_that_a_shell_would_read_is_in_no_command() -> None:
    answer = ANSWERS["worth_trying"](trying(served('a"; rm -rf $HOME', failed=7, accepted=93, **ENDLESS)))
    assert "from requests where verdict = 'failed' group by all" in answer


def test_what_chance_explains_is_no_evidence() -> None:
    pair = {"workload": "chat", "divided_by": "route", "name": "b", "beside": "a", "offered": 50, "other_offered": 70}
    apart = pair | {"gap": -0.1, "gap_half": 0.05}
    (row,) = trying(served(), parts_apart=[apart | {"p": 0.02}])
    assert (row["name"], row["other"], row["basis"]) == ("b", "a", "compared")
    assert [row[name] for name in ("answers", "low_answers", "high_answers")] == pytest.approx([5, 2.5, 7.5])
    assert [row[name] for name in ("worth_usd", "low_worth_usd", "high_worth_usd")] == pytest.approx([2.5, 1.25, 3.75])
    # share and price of each pair are asked for at once
    assert trying(served(), parts_apart=[apart | {"p": 0.03}]) == []
    assert trying(served(), parts_apart=[apart | {"p": 0.02}, apart | {"name": "c", "p": 0.9}]) == []
    # of the other the better share is to be had by the requests that it has itself
    (row,) = trying(served(), parts_apart=[apart | {"gap": 0.1, "p": 0.001}])
    assert (row["name"], row["other"], row["answers"]) == ("a", "b", pytest.approx(7))


def test_a_slow_replica_gains_only_while_it_is_slow() -> None:
    paces = [
        {"pool": "p", "replica": "r", "at": DAY + timedelta(hours=nth), "is_slow": is_slow}
        | ({"slow_answers": 50, "others_slow_answers": 20, "attempts_ratio": 0.5} if is_slow else {})
        for nth, is_slow in enumerate((False, True, True))
    ]
    (row,) = trying(served(), replica_paces=paces)
    # 100 answers were late there, 20 of as many at the others; counts vary by their roots: sqrt(100 + 40 / 4)
    reach = 1.959963984540054 * 110**0.5
    assert (row["kind"], row["basis"]) == ("replica", "compared")
    assert [row[name] for name in ("answers", "low_answers", "high_answers")] == pytest.approx(
        [80, 80 - reach, 80 + reach]
    )
    assert row["worth_usd"] == pytest.approx(80 * POOL_EACH_USD)
    (row,) = trying(served(), replica_paces=[*paces, paces[0] | {"at": DAY + timedelta(hours=3)}])
    assert (row["kind"], row["basis"], row["low_answers"]) == ("replicas", "bound", 0)
    assert row["high_answers"] == pytest.approx(80 + reach)
    assert "as r was from 20 Nov 01:00 UTC on: at most 101 more" in ANSWERS["worth_trying"](at_ms([row]))


def at_ms(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows as a chart has them."""
    return [row | {"occurred_at": row["occurred_at"] and 1000 * row["occurred_at"].timestamp()} for row in rows]


def test_evidence_comes_before_what_may_be_more() -> None:
    spare = [
        {"pool": "p", "is_by_knee": True, "spare_usd": usd, "spare_low_usd": 0.0, "spare_high_usd": 2 * usd}
        for usd in (1.0, 0.5, 0.0)
    ]
    late = served(queue_late=90, accepted=10, **dict.fromkeys(ENDS, 10 / 86400))
    found = trying(late, spare_replicas=spare)
    assert [(row["kind"], row["basis"]) for row in found] == [("spare", "computed"), ("queue", "bound")]
    assert [found[0][name] for name in ("usd", "low_usd", "high_usd", "spare_s")] == pytest.approx([1.5, 0, 3, 7200])
    assert found[1]["high_worth_usd"] > found[0]["high_worth_usd"]  # 90 requests, of half a dollar each
    saved = "about $1.50 ($0.00 to $3.00) off the bill, in 2.0 h. Test: take one"
    assert ANSWERS["worth_trying"](found).startswith(f"First run pool p with fewer replicas off its peak: {saved}")
    # of one hour nobody knows what fewer would bear
    found = trying(
        late, spare_replicas=[*spare[:2], spare[2] | {"is_by_knee": None, "spare_usd": 4.0, "spare_high_usd": 4.0}]
    )
    assert [(row["kind"], row["basis"], row["usd"]) for row in found][1] == ("spare", "bound", None)
    assert "at most $7.00 off the bill, in 3.0 h with at most half of its peak" in ANSWERS["worth_trying"](found)


def test_an_operation_is_undone_for_answers_that_are_surely_worse_and_done_gently_for_what_it_cost() -> None:
    done = {"event_id": "e", "kind": "deployment", "pool": "p", "at": DAY, "judge": "ok of chat", "times_reach": 2.0}
    done |= {"before_ratio": 0.9, "before_low": 0.86, "before_high": 0.93}
    done |= {"after_ratio": 0.7, "after_low": 0.6, "after_high": 0.73}
    (row,) = trying(served(), operations_done=[done | {"at": DAY - timedelta(hours=1)}])
    assert row["times_a_period"] == pytest.approx(100 / 25)
    (row,) = trying(served(), operations_done=[done])
    # of 25 answers since 20 points fewer pass, by square-and-add sqrt(4^2 + 3^2) less to sqrt(3^2 + 10^2) more
    assert (row["kind"], row["basis"]) == ("revision", "compared")
    ends = [5, 3.75, 5 + 25 * (0.03**2 + 0.1**2) ** 0.5]
    assert [row[name] for name in ("answers", "low_answers", "high_answers")] == pytest.approx(ends)
    answer = ANSWERS["worth_trying"](at_ms([row]))
    assert (
        "undo the deployment of pool p at 20 Nov 00:00 UTC, after which ok of chat passed less often: about 5 more"
        in answer
    )
    assert (
        "so many since then, and 20 in a whole period like this if it stays. Test: `goodput labels plan --width"
        in answer
    )
    (row,) = trying(served(), operations_done=[done | {"after_high": 0.95}])
    assert (row["basis"], row["low_answers"]) == ("chance", 0)
    assert "What may be chance, and is cheap to settle: undo" in ANSWERS["worth_trying"](at_ms([row]))
    lost = {"lost_accepted": 12.0, "lost_accepted_ci_low": 3.0, "lost_accepted_ci_high": 20.0, "before_ratio": None}
    lost |= {"excess_cost_usd": 6.0, "high_usd": 9.0}
    (row,) = trying(served(), operations_done=[done | lost])
    assert (row["kind"], row["basis"], row["high_worth_usd"]) == ("operation", "bound", 9.0)
    assert "at most 20 more accepted answers each time, and $9.00 with what" in ANSWERS["worth_trying"](at_ms([row]))
    unpriced = trying(
        served(direct_cost_usd=None), operations_done=[done | lost | {"excess_cost_usd": None, "high_usd": None}]
    )
    told = [row | {"high_worth_usd": None} for row in at_ms(unpriced)]
    assert "at most 20 more accepted answers each time. Test" in ANSWERS["worth_trying"](told)
    assert trying(served(), operations_done=[done | lost | {"lost_accepted_ci_low": -1.0}]) == []


def test_without_a_price_answers_alone_are_told() -> None:
    found = trying(served(failed=7, accepted=93, direct_cost_usd=None, **ENDLESS))
    assert [row["high_worth_usd"] for row in found] == [None]
    answer = ANSWERS["worth_trying"](found)
    assert (
        "Mend what fails or is cancelled of workload chat: at most 7 more accepted answers by that alone. Look"
        in answer
    )
    assert "worth" not in answer
