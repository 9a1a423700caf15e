"""Sentences say what rows say: by rows of which the truth is plain."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from goodput.report.catalog import all_charts
from goodput.report.chart import dollars
from goodput.report.shown import Period, Slice
from goodput.report.summary import _plain, _undivided
from goodput.report.write import _narrowed

CHARTS = {chart.name: chart for chart in all_charts()}


def load(**more: Any) -> dict[str, Any]:
    row = {
        "name": "chat",
        "load_rps": 0.26,
        "peak_rps": 0.5,
        "is_sustained": False,
        "knee_rps": None,
        "knee_censored": None,
        "knee_gate": "ttft",
        "bound": 0.01,
        "fail_ratio": None,
        "arrivals": 900,
        "headroom": 1.2,
    }
    ends = dict.fromkeys(
        (
            "knee_ci_low_rps",
            "knee_ci_high_rps",
            "recommended_replicas",
            "most_replicas",
            "replica_hour_usd",
            "prefill_late_ratio",
            "is_failed_by_prompts",
        )
    )
    return {**row, **ends, **more}


def test_without_a_knee_no_load_is_known_to_hold() -> None:
    """NULL is not censored: where every load failed, nobody says that none showed its limit."""
    answer = CHARTS["load_curves"].answer([load(), load(load_rps=0.1)])
    assert answer.startswith("chat: its gates failed at every load seen, from 0.1 to 0.26 requests/s a replica, so its")
    one_of_two = CHARTS["load_curves"].answer([load(), load(load_rps=0.1, is_sustained=True)])
    assert one_of_two.startswith("chat: its limit is not known; 1 load of 2 seen, up to 0.26, kept its gates.")
    assert "has shown its limit" not in answer


def test_it_is_said_what_a_limit_is_judged_by() -> None:
    answer = CHARTS["load_curves"].answer
    known = load(knee_rps=0.3, knee_censored=False, is_sustained=True)
    assert "; from about there on more than 1 % of the answers fail the gate ttft." in answer([known])
    assert "on more than 5.2 % are not accepted." in answer([known | {"knee_gate": "goodput", "bound": 0.052}])
    assert "from about there" not in answer([known | {"knee_gate": None, "bound": None}])


def test_without_a_limit_it_is_said_how_far_from_it_all_loads_are() -> None:
    """A load of fewer than 100 requests shows no share."""
    found = [load(fail_ratio=0.21), load(load_rps=0.1, fail_ratio=0.058), load(fail_ratio=0.5, arrivals=99)]
    answer = CHARTS["load_curves"].answer
    assert "its limit is unknown: 5.8 % to 21 % failed the gate ttft, where 1 % may." in answer(found)
    assert "unknown: 5.8 % failed the gate ttft, where 1 % may." in answer(found[1:])
    assert "its limit is unknown.\n" in answer(found[2:])


def test_headroom_is_what_the_replicas_were_counted_with() -> None:
    more = {"knee_rps": 0.1, "knee_censored": False, "is_sustained": True, "recommended_replicas": 8, "headroom": 1.5}
    # 0.5 / 0.125 is 4, half more 6; 0.5 / 0.0625 is 8, half more 12
    found = load(**more, knee_ci_low_rps=0.0625, knee_ci_high_rps=0.125)
    assert "needs 8 such replicas (6 to 12), 50 % headroom included" in CHARTS["load_curves"].answer([found])


def test_a_limit_that_no_load_showed_is_called_so() -> None:
    answer = CHARTS["load_curves"].answer([load(knee_rps=0.26, knee_censored=True, is_sustained=True)])
    assert answer.startswith("chat: no load up to 0.26 requests/s a replica has shown its limit.")


def test_a_peak_is_set_beside_the_replicas_that_bore_it() -> None:
    answer = CHARTS["load_curves"].answer([load(knee_rps=0.068, recommended_replicas=9, most_replicas=3)])
    beside = "where it had 3, 20 % headroom included; below the peak fewer do."
    assert f"its peak of 0.5 requests/s needs 9 such replicas, {beside}" in answer


def test_how_many_replicas_a_peak_needs_is_as_sure_as_the_limit() -> None:
    """0.48 / 0.068 x 1.2 is 8.5; at 0.0887 it is 6.5, and at 0.0475 12.1."""
    limit = {"knee_rps": 0.068, "knee_ci_low_rps": 0.0475, "knee_ci_high_rps": 0.0887, "peak_rps": 0.48}
    priced = CHARTS["load_curves"].answer(
        [load(recommended_replicas=9, most_replicas=3, replica_hour_usd=7.5, **limit)]
    )
    assert "where it had 3, 20 % headroom included (6 more would cost $45.00 an hour); below" in priced
    enough = load(recommended_replicas=3, most_replicas=3, replica_hour_usd=7.5, **limit)
    assert "more would cost" not in CHARTS["load_curves"].answer([enough])
    answer = CHARTS["load_curves"].answer([load(recommended_replicas=9, most_replicas=3, **limit)])
    assert "its peak of 0.48 requests/s needs 9 such replicas (7 to 13), where it had 3, 20 %" in answer


def test_loads_beyond_a_knee_that_kept_the_gates_are_counted_of_those_that_were_judged() -> None:
    answer, knee = (
        CHARTS["load_curves"].answer,
        {"knee_rps": 0.07, "knee_censored": False, "recommended_replicas": None},
    )
    knee |= {"knee_ci_low_rps": None, "knee_ci_high_rps": None, "most_replicas": None}
    beyond = [
        load(load_rps=0.1 + n / 100, is_sustained=kept, **knee) for n, kept in enumerate((True, False, False, None))
    ]
    said = answer([load(load_rps=0.05, is_sustained=True, **knee), *beyond])
    assert said.startswith(
        "chat: well served up to 0.07 requests/s a replica, though 1 of 3 heavier loads kept the gates; from"
    )
    assert "though" not in answer([load(load_rps=0.05, is_sustained=True, **knee), *beyond[1:]])


def test_where_prompts_alone_fail_more_than_may_no_replicas_are_asked_for() -> None:
    answer = CHARTS["load_curves"].answer
    limit = {"knee_rps": 0.07, "knee_censored": False, "recommended_replicas": 9, "most_replicas": 3}
    vain = {"prefill_late_ratio": 0.018, "is_failed_by_prompts": True}
    said = answer([load(**limit, **vain, replica_hour_usd=2.0)])
    assert "1.8 % of its answers have a prompt that alone takes longer than that gate allows: more replicas do" in said
    assert "needs 9" not in said
    assert "would cost" not in said
    assert "needs 9 such replicas" in answer([load(**limit, prefill_late_ratio=0.009)])
    assert "have a prompt that alone" in answer([load(**vain)])  # no load kept the gates


def test_a_knee_below_which_no_load_was_judged_is_no_promise() -> None:
    answer = CHARTS["load_curves"].answer
    knee = {"knee_rps": 0.07, "knee_censored": False}
    thin, heavy = load(load_rps=0.05, is_sustained=None, **knee), load(load_rps=0.1, **knee)
    said = answer([thin, heavy])
    assert said.startswith("chat: its limit is about 0.07 requests/s a replica by the curve through all loads; none up")
    assert "none up to it had the 100 requests that judging takes; from" in said
    assert "none up to it that was judged kept the gates; from" in answer([thin, load(load_rps=0.06, **knee), heavy])
    assert "well served up to 0.07" in answer([thin, load(load_rps=0.06, is_sustained=True, **knee), heavy])


def test_of_many_pools_a_few_are_named() -> None:
    answer = CHARTS["load_curves"].answer([load(name=f"pool{n}") for n in range(24)])
    assert len(re.findall(r"pool\d", answer)) == 5
    assert "19 more are in the numbers." in answer


def operation(why: str | None = None, **given: Any) -> dict[str, Any]:
    named = {"kind": "deployment", "pool": "rag", "at": 0.0, "no_interval": why, "overlapping_events": 0}
    named |= {"ended_by": "recovered", "duration_s": 600.0, "judge": None, "priced_windows": 10}
    named |= {"replicas_before": 5.0, "replicas_most": 5.2, "lost_usd": None, "paid_usd": None}
    known = {"lost_accepted": 7.0, "excess_cost_usd": 3.96, "low_usd": 2.74, "high_usd": 5.23}
    named |= dict.fromkeys(("lost_accepted_ci_low", "lost_accepted_ci_high"))
    return {**named, **(dict.fromkeys(known) if why else known), **given}


def test_of_an_operation_it_is_said_by_what_it_is_priced_and_whether_replicas_came() -> None:
    answer = CHARTS["operations_done"].answer
    priced = "$3.96 ($2.74 to $5.23) more than its accepted answers cost when steady, by 10 windows"
    assert priced in answer([operation()])
    assert "replicas meanwhile" not in answer([operation()])
    split = operation(lost_usd=2.5, paid_usd=1.46)
    assert " $1.46 of it was paid beyond, $2.50 is what the answers lost cost when steady." in answer([split])
    assert "paid beyond" not in answer([split | {"lost_usd": -1.0}])
    grown = "Its pool went from 5 to 6 replicas meanwhile: what these cost is in it."
    assert grown in answer([operation(replicas_most=5.63)])
    assert "replicas meanwhile" not in answer([operation(replicas_before=None)])


def test_an_operation_without_a_price_says_why() -> None:
    answer = CHARTS["operations_done"].answer
    found = answer([operation(), operation("load_unmatched"), operation("load_unmatched"), operation("few_windows")])
    assert found.startswith(
        "Dearest of 1 priced operation: deployment of rag at 01 Jan 00:00 UTC, $3.96 ($2.74 to $5.23)"
    )
    named = "deployment of rag at 01 Jan 00:00"
    assert f"no undisturbed window before had its load ({named}, {named})" in found
    assert f"too few undisturbed windows came before ({named})" in found
    assert f"({named}): more telemetry from before it would give a price" in found
    assert f"({named}, {named}, {named} and 2 more)" in answer([operation("few_windows")] * 5)
    known = [answer([operation(why)]) for why in ("cost_unknown", "nothing_accepted")]
    assert "no bill or price covers all of it" in known[0]
    assert "nothing was accepted at its load" in known[1]
    assert answer([operation("load_unmatched")]).startswith("1 operation; none can be priced: no undisturbed window")
    # all that was accepted may have failed: a price without an upper end of accepted requests has no interval
    assert " to " not in answer([operation("nothing_judged", excess_cost_usd=3.96, lost_accepted=7.0, high_usd=5.23)])


def test_an_operation_that_may_have_saved_says_which_way_each_end_is() -> None:
    answer = CHARTS["operations_done"].answer
    saved = {"excess_cost_usd": -1.4, "low_usd": -1.56, "high_usd": 1.12}
    assert "$1.40 ($1.56 less to $1.12 more) less than its accepted" in answer([operation(**saved)])
    unsure = {"excess_cost_usd": 0.5, "low_usd": -0.25, "high_usd": 1.25}
    assert "$0.500 ($0.250 less to $1.25 more) more than its accepted" in answer([operation(**unsure)])


def test_a_price_that_is_of_several_operations_says_so() -> None:
    answer = CHARTS["operations_done"].answer
    assert "overlapped" not in answer([operation()])
    found = answer([operation(overlapping_events=2), operation(excess_cost_usd=1.0)])
    assert "7 accepted answers lost. 2 other operations overlapped it: what it shows is of all of them." in found
    assert "Not to be added up" not in found
    found = answer([operation(overlapping_events=1), operation(excess_cost_usd=1.0, overlapping_events=1)])
    assert (
        "Not to be added up, since each overlaps another: deployment of rag at 01 Jan 00:00, deployment of rag" in found
    )
    assert "not over" not in found
    capped = answer([operation(ended_by="cap", duration_s=1200.0)])
    assert (
        "After 20 min, the longest that is looked at, its cache hits and first tokens were not both back: what came"
        in capped
    )
    lost = {"lost_accepted_ci_low": -3.0, "lost_accepted_ci_high": 17.2}
    assert "7 accepted answers (-3 to 17) lost." in answer([operation(**lost)])


@pytest.mark.parametrize("name", ["accepted_over_time", "price_over_time"])
def test_extremes_are_those_of_windows_that_were_wholly_observed(name: str) -> None:
    def window(at: float, value: float, *, partial: bool) -> dict[str, Any]:
        ends = dict.fromkeys(("low", "high", "low_usd", "high_usd"), value)
        return {"at": at, "ratio": value, "price_usd": value, "unpriced": 0, "partial": partial, "offered": 100, **ends}

    rows = [window(0, 0.01, partial=True), window(6e5, 0.2, partial=False), window(12e5, 0.3, partial=False)]
    answer = CHARTS[name].answer([*rows, window(18e5, 1.0, partial=True)])
    assert "01 Jan 00:10" in answer
    assert "01 Jan 00:20" in answer
    assert "01 Jan 00:00" not in answer
    assert "01 Jan 00:30" not in answer
    assert ", of windows observed whole (2 windows were not: ringed)." in answer
    in_part = CHARTS[name].answer([rows[0], window(18e5, 1.0, partial=True)])
    assert "01 Jan 00:00" in in_part
    assert ", of windows observed in part." in in_part
    # one that was observed whole leaves no extremes to tell, and the rest is not passed over
    one = CHARTS[name].answer([rows[0], rows[1], window(18e5, 1.0, partial=True)])
    assert "01 Jan 00:00" in one
    assert "01 Jan 00:30" in one
    assert " (2 windows were observed in part: ringed)." in one
    assert "observed" not in CHARTS[name].answer(rows[1:])


@pytest.mark.parametrize("name", ["accepted_over_time", "price_over_time"])
def test_extremes_are_those_of_windows_with_enough_requests(name: str) -> None:
    """All of 99 requests may be accepted by chance; where every window is as thin the sentence says so."""

    def window(at: float, value: float, offered: int) -> dict[str, Any]:
        ends = dict.fromkeys(("low", "high", "low_usd", "high_usd"), value)
        return {
            "at": at,
            "ratio": value,
            "price_usd": value,
            "unpriced": 0,
            "partial": False,
            "offered": offered,
            **ends,
        }

    thin = [window(0, 0.01, 99), window(18e5, 1.0, 6)]
    answer = CHARTS[name].answer([*thin, window(6e5, 0.2, 100), window(12e5, 0.3, 500)])
    assert all(at in answer for at in ("01 Jan 00:10", "01 Jan 00:20", ", of windows with at least 100 requests."))
    assert all(at not in answer for at in ("01 Jan 00:00", "01 Jan 00:30"))
    one = CHARTS[name].answer([*thin, window(6e5, 0.2, 100)])
    assert one.count("01 Jan") == one.count("01 Jan 00:10 UTC") == 1
    assert ", of windows with at least 100 requests." in one
    answer = CHARTS[name].answer(thin)
    assert all(at in answer for at in ("01 Jan 00:00", "01 Jan 00:30", ", of windows with fewer than 100 requests."))


def bucket(name: str, usd: float, **more: Any) -> dict[str, Any]:
    unknown = dict.fromkeys(("low_usd", "high_usd"))
    return {"bucket": name, "usd": usd, **unknown, "unpriced": 0, **more}


def test_what_a_price_leaves_out_and_why_others_are_missing_is_said() -> None:
    def window(usd: float | None, *, unpriced: int = 0, why: str | None = None) -> dict[str, Any]:
        return {"at": 0.0, "price_usd": usd, "unpriced": unpriced, "no_price": why, "partial": False, "offered": 100}

    answer = CHARTS["price_over_time"].answer
    assert answer([window(0.02)]) == "An accepted answer cost $0.0200, idle time and shared cost included."
    found = answer([window(0.02), window(0.03, unpriced=4), window(None, why="nothing_accepted")])
    assert "In 1 window a part of the work had no price, so that it may have cost more." in found
    assert found.endswith("Without a price (1 window: nothing was accepted).")
    found = answer([window(None, why="cost_unknown"), window(None, why="cost_unknown")])
    assert found == "No window has a price (2 windows: no bill or price covers them)."
    money = CHARTS["money_totals"].answer([bucket("accepted", 20.0, unpriced=2)])
    assert money.endswith("2 parts of the work had no price and may have cost more: shares leave them out.")


def test_a_judge_s_lowest_share_names_the_model_where_a_workload_has_several() -> None:
    def judge(workload: str, model: str | None, ratio: float) -> dict[str, Any]:
        shares = {"ratio": ratio, "low": None, "high": None, "judged": 10, "answered": 100}
        return {"workload": workload, "model": model, "evaluator": "judge", **shares}

    answer, good = CHARTS["judged_answers"].answer, judge("rag", "m", 0.9)
    one = "Lowest: judge passes 50.0 % of the answers of chat{}, by 10 judgements of 100 answers."
    assert answer([good, judge("chat", "bad", 0.5)]) == one.format("")
    assert answer([good, judge("chat", "bad", 0.5), judge("chat", "m", 0.9)]) == one.format(" by bad")
    assert answer([judge("chat", None, 0.5), judge("chat", "m", 0.9)]) == one.format(" by an unknown model")


def test_a_summary_says_which_charts_are_of_all() -> None:
    values = dict.fromkeys(Slice.__dataclass_fields__) | {"choice": 1, "workload": "batch"}
    one = Slice(**values)
    assert _undivided(CHARTS["accepted_over_time"], one) == ""
    assert _undivided(CHARTS["operations_done"], one) == " *Not divided by workload: of all.*"
    pooled = Slice(**values | {"pool": "chat"})
    assert _undivided(CHARTS["operations_done"], pooled) == " *Not divided by workload: of all of pool chat.*"
    assert _undivided(CHARTS["slice_totals"], pooled) == " *Not divided by pool: of all of workload batch.*"
    served = Slice(**values | {"pools": ("a", "b")})
    assert _undivided(CHARTS["replica_hits"], served) == " *Of pools that serve it, whatever else they serve: a, b.*"
    assert _undivided(CHARTS["judged_answers"], served) == ""
    for workload, slice_ in ((None, "tenant"), ("batch", "workload_tenant")):
        tenant = Slice(**values | {"workload": workload, "slice": slice_, "slice_value": "acme"})
        assert _undivided(CHARTS["slice_totals"], tenant) == ""


def test_names_of_telemetry_do_not_speak_to_a_terminal() -> None:
    assert _plain("a\x1b[31m\u202eb\nc") == "a\N{REPLACEMENT CHARACTER}\\[31m\N{REPLACEMENT CHARACTER}b c"


def verdicts(**requests: int) -> list[dict[str, Any]]:
    total = sum(requests.values())
    return [
        {"verdict": name, "requests": number, "share": number / total, "expected": number}
        for name, number in requests.items()
    ]


def test_what_was_tried_too_often_is_not_called_late() -> None:
    """A request has one verdict, and tries are looked at before times: an answer after 20 s may be over_budget."""
    answer = CHARTS["verdict_totals"].answer
    said = "needed too many tries count as over_budget, however late they came"
    assert said in answer(verdicts(accepted=7, slow=2, over_budget=1))
    assert said not in answer(verdicts(accepted=7, slow=3, over_budget=0))


def test_the_largest_loss_counts_what_nobody_judged() -> None:
    """Of 60 unjudged answers as many fail as of the judged, a tenth: more than the 5 that were late."""
    found = verdicts(accepted=27, rejected=3, unlabelled=60, slow=5, failed=5)
    found[1]["expected"] = 9.0
    said = CHARTS["verdict_totals"].answer(found)
    assert "9.0 % failed the quality gate, as estimated (3.0 % judged so): the largest loss" in said


def test_the_unjudged_lead_from_the_judged_to_the_share_at_the_head() -> None:
    """Of 60 unjudged answers 54 count: with the 27 that were judged 81 of 100."""
    found = verdicts(accepted=27, rejected=3, unlabelled=60, slow=10)
    assert "count as accepted" not in CHARTS["verdict_totals"].answer(found)
    found[0]["expected"] = 81.0
    said = CHARTS["verdict_totals"].answer(found)
    assert said.endswith("judged by nobody: 90.0 % of these count as accepted, so that 81.0 % of all do.")


def test_a_gate_that_judges_a_sample_says_so() -> None:
    found = [
        {"gate": "ttft", "gated": 900, "failing": 40, "only_failing": 30, "with_others": 10},
        {"gate": "quality", "gated": 300, "failing": 25, "only_failing": 25, "with_others": 0},
    ]
    assert "Of quality only the 300 answers that were judged count." in CHARTS["gate_totals"].answer(found)
    assert "judged" not in CHARTS["gate_totals"].answer(found[:1])


def test_the_slowest_p99_is_one_of_enough_answers() -> None:
    def window(at: float, p99: float, n: int) -> dict[str, Any]:
        return {"metric": "ttft", "at": at, "p50": 0.2, "p95": 0.5, "p99": p99, "n": n, **more}

    more: dict[str, Any] = {"bound": None, "workload": None, "partial": False}
    answer = CHARTS["latency_over_time"].answer
    assert answer([window(0, 40.0, 34), window(6e5, 3.0, 500)]) == (
        "The first token was slowest at 01 Jan 00:10 UTC: p99 3 s, median 0.2 s, of windows with at least 100 answers."
        " Of 34 answers at 01 Jan 00:00 it was 40 s, which says little. Choose a workload to see its gates."
    )
    assert "at least" not in answer([window(0, 40.0, 340), window(6e5, 3.0, 500)])
    more["workload"] = "batch"
    assert answer([window(6e5, 3.0, 500)]).endswith(" Workload batch has no gate on it.")
    more["bound"] = 2.0
    said = "That p99 was above the gate of 2 s in 1 of 2 windows."
    assert answer([window(0, 1.0, 500), window(6e5, 3.0, 500)]).endswith(said)
    apart = "1 of 2 windows with at least 100 answers and 2 of 2 windows with fewer, of which a p99 says little."
    assert answer([window(0, 1.0, 500), window(6e5, 3.0, 500), window(0, 4.0, 3), window(0, 5.0, 4)]).endswith(apart)
    assert "p99 40 s, median 0.2 s, of 34 answers, which is few for a p99." in answer([window(0, 40.0, 34)])
    in_part = window(0, 9.0, 500) | {"partial": True}
    whole = [window(6e5, 3.0, 500), window(12e5, 2.0, 500)]
    assert "at 01 Jan 00:10 UTC: p99 3 s, median 0.2 s, of windows observed whole (1 window was not)" in answer(
        [in_part, *whole]
    )
    assert "at 01 Jan 00:00 UTC: p99 9 s, median 0.2 s (1 window was observed in part)" in answer([in_part, whole[0]])


def loss(name: str, usd: float, share: float, **more: Any) -> dict[str, Any]:
    return {
        "bucket": name,
        "usd": usd,
        "share": share,
        "part": None,
        "divided_by": None,
        "spare_usd": None,
        "spare_by": None,
        "at_peak": None,
        "low_usd": None,
        "high_usd": None,
        "mendable_usd": usd,
        "headroom": 1.2,
        **dict.fromkeys(
            f"{name}_usd" for name in ("queue_late", "retries_late", "prefill_late", "work_late", "wait_unknown")
        ),
        **dict.fromkeys(("spare_low_usd", "spare_high_usd"), 0.0),
        **more,
    }


def test_losses_are_named_in_their_order_with_what_would_mend_them() -> None:
    of_rag, of_chat = ({"divided_by": "workload", "part": name} for name in ("rag", "chat"))
    idle, slow = loss("idle", 28.36, 0.494, **of_rag), loss("slow", 2.41, 0.042, **of_chat)
    answer = CHARTS["worth_mending"].answer
    assert answer([idle, slow, loss("over_budget", 1.0, 0.02), loss("failed", 0.5, 0.01)]).splitlines() == [
        "First idle replicas of workload rag, $28.36 (49.4 % of all spent): fewer of them at hours below the peak "
        "would save at most this.",
        "Then slow answers of workload chat, $2.41 (4.2 %): shorter queues would mend the wait, fewer timeouts the "
        "tries, caching or shorter prompts the prompts, smaller batches or a looser gate the rest; "
        "no source reports `queue_s`, which would say how much is which.",
        "Then requests with too many tries, $1.00 (2.0 %): to mend what makes callers try again would save it.",
        "All 4 of the chart come to at most about $32.27 that can be mended: $28.36 ($0.00 to $0.00) off the bill, the "
        "rest is work that could have counted, or been avoided. What to try, and what speaks for it, is asked next.",
    ]


def test_of_idle_replicas_it_is_said_what_fewer_would_save() -> None:
    answer = CHARTS["worth_mending"].answer
    idle = loss("idle", 28.36, 0.494)
    by_knee = {"spare_usd": 1.27, "spare_low_usd": 0.0, "spare_high_usd": 3.8, "spare_by": "knee"}
    knee = answer([idle | by_knee | {"at_peak": "pool rag needs 9 where there were 3"}])
    borne = "of it in windows that fewer replicas would bear at the knee, 20 % headroom included"
    assert f"$1.27 ($0.00 to $3.80) {borne}; the rest is room" in knee
    assert "the rest is room that the gates need; none can go at the peak: pool rag needs 9 where there were 3." in knee
    none = answer([idle | {"spare_usd": 0.1, "spare_by": "knee"}])
    assert "none ($0.00 to $0.00) of it in windows that fewer replicas would bear" in none
    assert "save" not in none
    quiet = answer([idle | {"spare_usd": 9.0, "spare_by": "quiet"}])
    assert "$9.00 of it while its pools had at most half of the requests of their peak, what fewer" in quiet
    assert "being unknown, the most that fewer then would save" in quiet
    assert "room that the gates need" not in quiet
    short = answer([idle | {"spare_usd": 0.0, "spare_by": "short"}])
    assert ": none of it is spare: at no load seen did the gates of its pool hold." in short
    assert "or in which pools without a knee had at most half" in answer(
        [idle | {"spare_usd": 9.0, "spare_by": "both"}]
    )


def test_of_slow_answers_it_is_said_how_much_each_remedy_would_mend_and_the_remedies_once() -> None:
    answer = CHARTS["worth_mending"].answer
    late = loss("slow", 4.0, 0.1, queue_late_usd=1.0, retries_late_usd=0.25, work_late_usd=1.5, wait_unknown_usd=0.5)
    late |= {"prefill_late_usd": 0.75}
    remedy = (
        "shorter queues would mend the wait, fewer timeouts the tries, caching or shorter prompts the prompts, smaller "
        "batches or a looser gate the rest"
    )
    split = (
        "$1.00 of it for their wait in a queue alone, $0.250 for tries that came before, $0.750 for prompts "
        "that alone took longer to read than the gate allows, $1.50 late without any of these, no source reports "
        "the wait"
    )
    assert answer([late]).splitlines()[0] == (
        f"First slow answers, $4.00 (10.0 % of all spent): {split} of $0.500: {remedy}."
    )
    assert answer([late, late]).splitlines()[1] == f"Then slow answers, $4.00 (10.0 %): {split} of $0.500."
    known = answer(
        [
            late
            | dict.fromkeys(("queue_late_usd", "retries_late_usd", "prefill_late_usd", "wait_unknown_usd"), 0.0)
            | {"work_late_usd": 4.0}
        ]
    )
    assert "$4.00 late without any of these: shorter" in known
    assert "in a queue alone" not in known
    assert "no source reports `queue_s`" in answer(
        [late | dict.fromkeys(("queue_late_usd", "retries_late_usd", "prefill_late_usd", "work_late_usd"), 0.0)]
    )
    idle = loss("idle", 9.0, 0.2, spare_usd=2.0, spare_by="knee", mendable_usd=2.0)
    idle |= {"spare_low_usd": 0.5, "spare_high_usd": 3.0}
    all_of = "come to at most about $6.00 that can be mended: $2.00 ($0.500 to $3.00) off the bill, the rest"
    assert all_of in answer([late, idle])
    assert "at most about $7.00 that can be mended" in answer([late | {"high_usd": 5.0}, idle])
    assert "All 2 of the chart come to at most about $8.00 that can be mended. What" in answer([late, late])
    unexplained = loss("unattributed", 50.0, 0.5)
    assert "What else is in the chart comes to at most about $6.00 that" in answer([unexplained, late, idle])
    assert "that can be mended" not in answer([unexplained, late])


def test_replicas_are_no_remedy_for_what_is_late_in_an_empty_pool() -> None:
    answer = CHARTS["worth_mending"].answer
    late = loss("slow", 4.0, 0.1, queue_late_usd=1.0, retries_late_usd=0.5, work_late_usd=1.5, wait_unknown_usd=0.0)
    late |= {"prefill_late_usd": 0.5}
    idle = loss("idle", 9.0, 0.2, spare_usd=2.0, spare_by="knee", at_peak="pool a needs 9 where there were 3")
    vain = "yet most slow answers here are late without any wait, which more replicas alone need not mend"
    assert vain in answer([idle, late])
    assert vain not in answer([idle, late | {"prefill_late_usd": 0.0, "work_late_usd": 1.0}])
    prompts = answer([idle, late | {"prefill_late_usd": 3.5}])
    assert (
        "most slow answers here have prompts that alone take longer than the gate allows: no replica mends" in prompts
    )
    assert vain not in prompts
    assert vain not in answer([idle | {"part": "other"}, late])
    assert vain not in answer([idle | {"at_peak": None}, late])


def test_of_idle_time_it_is_said_how_much_is_sure() -> None:
    answer = CHARTS["worth_mending"].answer
    said = "; only $1.00 of it is idle for sure: requests that no record places on a replica may have run there"
    assert said in answer([loss("idle", 9.0, 0.5, low_usd=1.0)])
    assert said in answer([loss("idle", 9.0, 0.5, low_usd=1.0, spare_usd=2.0, spare_by="knee")])
    assert "for sure" not in answer([loss("idle", 9.0, 0.5, low_usd=8.5)])
    assert "for sure" not in answer([loss("slow", 9.0, 0.5, low_usd=1.0)])


def test_the_largest_loss_is_named_though_little_of_it_is_spare() -> None:
    answer = CHARTS["worth_mending"].answer
    small = [loss("slow", 3.0, 0.1), loss("failed", 2.0, 0.1), loss("retry", 1.5, 0.1)]
    idle = loss("idle", 30.0, 0.6, spare_usd=1.0, spare_by="knee")
    assert "Then retries, $1.50 (10.0 %)" in answer([*small, idle])
    assert "The largest loss is idle replicas, $30.00 (60.0 %): $1.00 ($0.00 to $0.00) of it" in answer([*small, idle])
    assert "largest loss" not in answer([small[0], idle])


def test_idle_time_beside_a_peak_that_needs_more_replicas_is_no_contradiction() -> None:
    said = "fewer of them at hours below the peak would save at most this"
    assert said in CHARTS["worth_mending"].answer([loss("idle", 30.0, 0.6)])
    answer = CHARTS["load_curves"].answer([load(knee_rps=0.07, knee_censored=False, recommended_replicas=9)])
    # 0.5 / 0.07 is 7.14, a fifth more 8.57
    assert "its peak of 0.5 requests/s needs 9 such replicas, 20 % headroom included; below the peak" in answer


def test_a_leak_has_the_interval_that_waste_has() -> None:
    answer = CHARTS["money_totals"].answer
    assert "slow $3.78 ($3.69 to $3.87)." in answer([bucket("slow", 3.78, low_usd=3.69, high_usd=3.87)])
    assert "slow $3.78." in answer([bucket("slow", 3.78, low_usd=3.78, high_usd=3.78)])  # known to the cent
    assert "slow $3.78." in answer([bucket("slow", 3.78)])


@pytest.mark.parametrize(
    ("buckets", "said"),
    [
        ({"accepted": 6.0, "idle": 2.0}, "Of $8.00, 25.0 % was not for accepted answers. Largest: idle $2.00."),
        # what nobody judged may be neither
        (
            {"accepted": 1.0, "unlabelled": 5.0, "idle": 2.0},
            "Of $8.00, at least 25.0 % was not for accepted answers. Largest: idle $2.00.",
        ),
        (
            {"accepted": 1.0, "unlabelled": 5.0},
            "All of $6.00 went into answers that were accepted or are not judged yet.",
        ),
        # a share of what credits have made less, or negative, is none
        (
            {"accepted": -1.0, "idle": -29.0, "unattributed": -6.0},
            "Of -$36.00, credits included, -$35.00 was not for accepted answers. "
            "Largest: idle -$29.00, unattributed -$6.00.",
        ),
        (
            {"accepted": 5.0, "idle": 4.0, "unattributed": -6.0},
            "Of $3.00, credits included, -$2.00 was not for accepted answers. "
            "Largest: unattributed -$6.00, idle $4.00.",
        ),
    ],
)
def test_what_was_not_for_accepted_answers_is_a_share_only_where_it_can_be(
    buckets: dict[str, float], said: str
) -> None:
    assert CHARTS["money_totals"].answer([bucket(name, usd) for name, usd in buckets.items()]) == said


@pytest.mark.parametrize(
    ("usd", "written"),
    [
        (6182.155, "$6,182.16"),  # in binary a little below the half cent: a browser writes the same
        (6182.1549999, "$6,182.15"),
        (1234567.894, "$1,234,567.89"),
        (-2.005, "-$2.01"),
        (0.004925, "$0.00493"),
        (0.0, "$0.00"),
    ],
)
def test_half_a_cent_goes_up_as_in_a_browser(usd: float, written: str) -> None:
    assert dollars(usd) == written


HOUR = datetime(2026, 11, 20, 9, tzinfo=UTC)
SHOWN = Period("all", HOUR, HOUR + timedelta(hours=2), 3600, 300)


@pytest.mark.parametrize(
    ("since_min", "until_min", "said"),
    [
        (None, None, ""),
        (0, 120, ""),
        (-10, None, " Asked for from 20 Nov 2026 08:50; whole windows within that are shown."),
        (None, 121, " Asked for until 20 Nov 2026 11:01; whole windows within that are shown."),
        (-1, 130, " Asked for from 20 Nov 2026 08:59 until 20 Nov 2026 11:10; whole windows within that are shown."),
    ],
)
def test_a_period_that_whole_windows_narrow_is_said(since_min: int | None, until_min: int | None, said: str) -> None:
    since, until = (None if at is None else HOUR + timedelta(minutes=at) for at in (since_min, until_min))
    assert _narrowed(SHOWN, (since, until)) == said


def priced(
    name: str, within: str | None, usd: float | None, half: float | None = 0.0001, **more: Any
) -> dict[str, Any]:
    ends = (None, None) if usd is None or half is None else (usd - half, usd + half)
    shares = {"ratio": 0.9, "low": None, "high": None, "wasted_usd": None, "unpriced": 0, "cost_usd": 1.0}
    named = {"name": name, "within": within, "scope": "all", "divided_by": "tenant"}
    return {**named, "price_usd": usd, "low_usd": ends[0], "high_usd": ends[1], **shares, **more}


def as_a_rule(sides: str, workload: str) -> str:
    """What a page says of how tenants differ in what some requests cost: a command that tells chance from it."""
    command = f"`goodput compare --by tenant {sides} --workload {workload}`"
    return f" So much these requests cost; whether that is more than chance, {command} says."


def test_whose_answers_cost_most_over_all_need_not_within_workloads() -> None:
    """globex asks for hardly anything but rag, so that it is dearest; within each workload it is cheapest."""
    found = [
        *(priced(name, None, usd) for name, usd in (("globex", 0.0099), ("acme", 0.0060), ("initech", 0.0050))),
        *(
            priced(name, "rag", usd, cost_usd=9.0)
            for name, usd in (("globex", 0.010), ("acme", 0.011), ("initech", 0.012))
        ),
        *(priced(name, "chat", usd) for name, usd in (("globex", 0.001), ("acme", 0.003), ("initech", 0.002))),
        *(priced(name, "batch", usd, 0.001, cost_usd=0.1) for name, usd in (("globex", 0.0010), ("initech", 0.0011))),
        priced("globex", "voice", 0.01),
    ]
    answer = CHARTS["slice_totals"].answer(found)
    assert answer == (
        "An accepted answer of globex costs most: $0.00990 ($0.00980 to $0.0100). Within workloads the order "
        "differs: its mix of workloads makes it dear: of rag initech's cost most, "
        "$0.0120 ($0.0119 to $0.0121); of chat acme's cost most, $0.00300 "
        "($0.00290 to $0.00310); of batch initech's come out dearest, $0.00110 ($0.000100 to $0.00210), not for sure."
        f"{as_a_rule('initech acme', 'rag')}"
    )


def test_whose_answers_cost_most_within_each_workload_too() -> None:
    over_all = [priced("a", None, 0.02), priced("b", None, 0.01)]
    chat, rag = ([priced("a", name, usd), priced("b", name, usd / 2)] for name, usd in (("chat", 0.002), ("rag", 0.04)))
    answer = CHARTS["slice_totals"].answer
    too = "of chat $0.00200 ($0.00190 to $0.00210); of rag $0.0400 ($0.0399 to $0.0401)."
    too += as_a_rule("a b", "chat")  # it costs as much as rag, and is the first by name
    assert answer([*over_all, *chat, *rag]).endswith(f"Within each workload too: {too}")
    more = answer([*over_all, *chat, *rag, priced("b", "batch", 0.5)])
    assert more.endswith(f"Within each workload that several of them use too: {too}")
    assert answer([*over_all, priced("a", "chat", 0.1), priced("b", "rag", 0.1)]).endswith(
        "No workload has priced answers of two of them."
    )


def test_an_order_within_workloads_that_intervals_do_not_show_is_not_said_to_be_another() -> None:
    found = [priced("a", None, 0.02), priced("b", None, 0.01), priced("a", "chat", 0.01), priced("b", "chat", 0.0101)]
    assert CHARTS["slice_totals"].answer(found) == (
        "An accepted answer of a costs most: $0.0200 ($0.0199 to $0.0201). Within workloads it is not sure that the "
        "order is the same: of chat b's come out dearest, $0.0101 ($0.0100 to $0.0102), not for sure."
        f"{as_a_rule('b a', 'chat')}"
    )


@pytest.mark.parametrize(
    ("half", "why"), [(0.0008, "their intervals overlap"), (None, "an end of their intervals is not known")]
)
def test_costs_most_is_said_only_where_intervals_show_it(half: float | None, why: str) -> None:
    """Of three the first is surely above the second, and not above the third, of which less is known."""
    found = [priced("a", None, 0.010), priced("b", None, 0.0095), priced("c", None, 0.0094, half)]
    answer = CHARTS["slice_totals"].answer
    assert answer(found[:2]).startswith("An accepted answer of a costs most: $0.0100 ")
    said = answer(found)
    assert "costs most" not in said
    assert said.startswith(
        "An accepted answer of a comes out dearest, at $0.0100 ($0.00990 to $0.0101); that it costs "
    )
    assert (
        f"more than one of c, at $0.00940{'' if half is None else ' ($0.00860 to $0.0102)'}, is not sure: {why}."
        in said
    )


def test_idle_money_of_nobody_makes_no_answer_of_unknown_callers_dear() -> None:
    """Their row holds it, over all; within a workload it does not."""
    answer = CHARTS["slice_totals"].answer
    nobody = priced("unknown", None, 0.025, wasted_usd=17.0, cost_usd=20.0)
    said = answer([nobody, priced("a", None, 0.009, wasted_usd=0.5), priced("b", None, 0.008)])
    assert said.startswith("An accepted answer of a costs most: $0.00900 ")
    assert "Most is lost at a: $0.500 of $1.00" in said
    assert answer([nobody]) == "None has a price; fewest were accepted of unknown: 90.0 %."
    within = [priced("unknown", "chat", 0.02), priced("a", "chat", 0.009)]
    assert "unknown's cost most" in answer([nobody, priced("a", None, 0.009), priced("b", None, 0.008), *within])


def test_what_tells_tenants_apart_within_workloads_is_named_where_nothing_does() -> None:
    answer = CHARTS["slice_totals"].answer
    of_all = answer([priced("a", None, 0.02), priced("b", None, 0.01)])
    assert of_all.endswith(
        "What each asks for is in its price: `workload_tenant` in `slices.by` tells it within each workload, and "
        "`goodput compare --by tenant A B --workload W` sets two side by side."
    )
    team = {"divided_by": "attributes.team"}
    by_team = answer([priced("a", None, 0.02, **team), priced("b", None, 0.01, **team)])
    assert by_team.endswith("price: `workload_attributes.team` in `slices.by` tells it within each workload.")
    within = answer([priced("a", "rag", 0.02, scope="workload"), priced("b", "rag", 0.01, scope="workload")])
    assert within == (
        "An accepted answer of a costs most within rag: $0.0200 ($0.0199 to $0.0201). What each asks for is in its "
        "price: `goodput compare --by tenant A B --workload rag` sets two side by side."
    )
    unpriced = answer([priced("a", None, 0.02), priced("b", None, None)])
    assert unpriced.startswith(
        "An accepted answer of a costs $0.0200 ($0.0199 to $0.0201). No other has a price. What "
    )
    routes = [priced(name, None, usd, divided_by="workload_route") for name, usd in (("a", 0.02), ("b", 0.01))]
    assert answer(routes) == "An accepted answer of a costs most: $0.0200 ($0.0199 to $0.0201)."


def test_one_tenant_has_its_prices_within_workloads() -> None:
    found = [priced("a", None, 0.02), priced("a", "chat", 0.001), priced("a", "rag", 0.03, cost_usd=9.0)]
    assert CHARTS["slice_totals"].answer(found) == (
        "An accepted answer of a costs $0.0200 ($0.0199 to $0.0201). Within workloads: $0.0300 ($0.0299 to $0.0301) of "
        "rag; $0.00100 ($0.000900 to $0.00110) of chat."
    )
