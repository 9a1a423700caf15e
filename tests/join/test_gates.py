"""Gates and the verdict: bounds, missing values, and which of several failures names the verdict.

See docs/semantics.md#gates-and-verdicts.
"""

from collections.abc import Sequence
from typing import Any

import pytest

from goodput.settings.model import Settings
from river import Row, join, key, label, one_workload, record

# Each latency gate with its setting, its bound, and facts that lie exactly on the bound.
GATES: dict[str, tuple[str, float, Row]] = {
    "ttft": ("ttft_s", 0.5, {"first_token": 0.5}),
    "tpot": ("tpot_s", 0.25, {"first_token": 1.0, "end": 3.0, "output_tokens": 9}),
    "e2e": ("e2e_s", 2.5, {"end": 2.5}),
    "itl_p95": ("itl_p95_s", 0.125, {"itl_p95_s": 0.125}),
    "jitter": ("jitter_s", 0.75, {"jitter_s": 0.75}),
    "deadline": ("completion_window_s", 60.0, {"end": 60.0}),
}
BEYOND: dict[str, Row] = {
    "ttft": {"first_token": 0.500000001},
    "tpot": {"first_token": 1.0, "end": 3.000000001, "output_tokens": 9},
    "e2e": {"end": 2.500000001},
    "itl_p95": {"itl_p95_s": 0.1250001},
    "jitter": {"jitter_s": 0.7500001},
    "deadline": {"end": 60.000000001},
}


def judge(settings: Settings, *cases: Row, labels: Sequence[Row] = ()) -> list[Row]:
    """The request of each case in order, from facts of its only attempt, which answers 0..1 s if they do not say."""
    rows = []
    for n, facts in enumerate(cases):
        given: dict[str, Any] = {"end": 1.0, **facts}
        rows.append(record(f"r{n:02d}", 0, given.pop("end"), **given))
    joined = join(rows, labels, settings=settings)
    return [joined.requests[key(f"r{n:02d}")] for n in range(len(cases))]


@pytest.mark.parametrize("gate", GATES)
def test_bounds_are_inclusive_and_what_is_missing_is_not_accepted(gate: str) -> None:
    setting, bound, equal = GATES[gate]
    on_it, over_it, unknown = judge(one_workload(**{setting: bound}), equal, BEYOND[gate], {"output_tokens": 9})
    assert (on_it[f"pass_{gate}"], on_it["verdict"], on_it["sole_failing_gate"]) == (True, "accepted", None)
    assert (over_it[f"pass_{gate}"], over_it["verdict"], over_it["sole_failing_gate"]) == (False, "slow", gate)
    if gate not in {"e2e", "deadline"}:  # which every request that is over has
        assert (unknown[f"pass_{gate}"], unknown["verdict"], unknown["sole_failing_gate"]) == (
            None,
            "unevaluable",
            gate,
        )


def test_a_bound_holds_to_the_nanosecond_where_doubles_of_seconds_do_not() -> None:
    # 150 ms over 3 tokens is 50 ms each, but 0.2 - 0.05 is 0.15000000000000002
    on_it: Row = {"first_token": 0.05, "end": 0.2, "output_tokens": 4}
    (row,) = judge(one_workload(tpot_s=0.05), on_it)
    assert (row["pass_tpot"], row["verdict"]) == (True, "accepted")
    # a third of a nanosecond for each token too many is too many
    over: Row = {"first_token": 0.05, "end": 0.200000001, "output_tokens": 4}
    (row,) = judge(one_workload(tpot_s=0.05), over)
    assert (row["pass_tpot"], row["verdict"]) == (False, "slow")
    # a bound is as fine as what it bounds: 0.1 + 0.2 is a hair more than 0.3
    (row,) = judge(one_workload(e2e_s=0.3, itl_p95_s=0.3), {"end": 0.3, "itl_p95_s": 0.1 + 0.2})
    assert (row["pass_e2e"], row["pass_itl_p95"], row["verdict"]) == (True, True, "accepted")


def test_the_largest_bound_bounds_nothing() -> None:
    (row,) = judge(one_workload(e2e_s=1e9, tpot_s=1e9), {"first_token": 0.5, "output_tokens": 9})
    assert (row["pass_e2e"], row["pass_tpot"], row["verdict"]) == (True, True, "accepted")


def test_a_missing_value_passes_where_the_workload_says_so() -> None:
    latencies = ("ttft", "tpot", "itl_p95", "jitter")
    bounds = {GATES[gate][0]: GATES[gate][1] for gate in latencies}
    passing = one_workload(on_missing=dict.fromkeys(latencies, "pass"), **bounds)
    unknown, slow = judge(passing, {"output_tokens": 9}, {"output_tokens": 9, **BEYOND["jitter"]})
    assert unknown["verdict"] == "accepted"
    assert [unknown[f"pass_{gate}"] for gate in latencies] == [None] * 4  # it passes, and no gate measured it
    assert slow["verdict"] == "slow"
    one_short = one_workload(on_missing={gate: "pass" for gate in latencies if gate != "jitter"}, **bounds)
    (still,) = judge(one_short, {"output_tokens": 9})
    assert (still["verdict"], still["sole_failing_gate"]) == ("unevaluable", "jitter")


def test_on_missing_of_a_gate_that_is_not_set_creates_no_gate() -> None:
    (row,) = judge(one_workload(on_missing={"ttft": "pass"}), {})
    assert row["pass_ttft"] is None


def test_a_gate_that_is_not_set_does_not_exist() -> None:
    (row,) = judge(one_workload(), {"first_token": 500, "end": 1000, "output_tokens": 9, "itl_p95_s": 9, "jitter_s": 9})
    assert row["verdict"] == "accepted"
    assert [name for name, value in row.items() if name.startswith("pass_") and value is not None] == ["pass_success"]


def test_tpot_does_not_apply_to_a_single_token() -> None:
    slow = {"first_token": 0.1, "end": 9.0}
    cases = [{**slow, "output_tokens": n} for n in (0, 1, 2, None)] + [{**slow, "output_tokens": 9, "streamed": False}]
    rows = judge(one_workload(tpot_s=0.5), *cases)
    assert [row["tpot_na"] for row in rows] == [True, True, False, False, True]
    assert [row["pass_tpot"] for row in rows] == [None, None, False, None, None]
    assert [row["verdict"] for row in rows] == ["accepted", "accepted", "slow", "unevaluable", "accepted"]
    (ungated,) = judge(one_workload(), {**slow, "output_tokens": 1})
    assert ungated["tpot_na"] is False


@pytest.mark.parametrize("outcome", ["error", "timeout", "cancelled", "unknown"])
def test_an_answer_that_failed_has_no_first_token_unless_it_was_seen(outcome: str) -> None:
    # neither a stream that ended before its first token nor an answer that would have come whole brought anything
    failed: Row = {"outcome": outcome, "end": 0.3}
    cases: list[Row] = [
        {**failed, "streamed": True},
        {**failed, "streamed": False},
        {**failed, "streamed": False, "first_token": 0.2},  # which its engine saw, and the user did not
        {**failed, "streamed": True, "first_token": 0.2},
    ]
    rows = judge(one_workload(ttft_s=0.5), *cases)
    assert [row["ttft_s"] for row in rows] == [None, None, None, 0.2]
    assert [row["pass_ttft"] for row in rows] == [None, None, None, True]
    assert {row["verdict"] for row in rows} == {"failed"}


def test_of_a_slow_request_it_is_known_what_alone_made_it_late() -> None:
    late: Row = {"first_token": 0.6, "output_tokens": 9}
    whole: Row = {"first_token": 0.2, "output_tokens": 9, "end": 2.1}
    cases: list[tuple[Row, str | None]] = [
        ({**late, "queue_s": 0.1}, "queue"),  # without it on the bound, and that is in time
        ({**late, "queue_s": 0.099999999}, "work"),
        ({**late, "queue_s": 9.0}, "queue"),  # of another clock: longer than the wait that it is part of
        (late, None),
        ({**whole, "queue_s": 0.1}, "queue"),
        ({**late, "end": 2.15, "queue_s": 0.1}, "work"),  # the first token would be in time, and the answer not
        ({**late, "output_tokens": 2, "queue_s": 0.1}, "work"),  # a queue is before the first token
        ({"first_token": 0.4, "output_tokens": 2}, "work"),  # and nobody has to know it
        ({"first_token": 0.4, "output_tokens": 9, "queue_s": 0.3}, None),  # in time
        ({**late, "queue_s": 0.1, "outcome": "error"}, None),
        ({**late, "queue_s": 0.05, "prefill_s": 0.51}, "prefill"),  # which alone is beyond the bound
        ({**late, "queue_s": 0.05, "prefill_s": 0.5}, "work"),
        ({**late, "prefill_s": 0.51}, "prefill"),  # whatever it waited
        ({**late, "queue_s": 0.1, "prefill_s": 0.51}, "queue"),  # of two clocks: without its queue it is in time
        ({**late, "output_tokens": 2, "queue_s": 0.1, "prefill_s": 0.51}, "work"),  # its tokens come too slowly as well
    ]
    rows = judge(one_workload(ttft_s=0.5, tpot_s=0.25, e2e_s=2.0), *(facts for facts, _ in cases))
    assert [row["late_by"] for row in rows] == [by for _, by in cases]
    (row,) = judge(one_workload(completion_window_s=60.0), {"end": 60.5, "queue_s": 0.5})
    assert (row["verdict"], row["late_by"]) == ("slow", "queue")
    # without a gate on the first token nothing says how long a prefill may take
    (row,) = judge(one_workload(e2e_s=2.0), {"end": 2.5, "queue_s": 0.1, "prefill_s": 9.0})
    assert row["late_by"] == "work"


@pytest.mark.parametrize(
    ("first_token", "queue_s", "by"),
    [
        (6.4, None, "retries"),  # 0.4 s from the second try on, which began at 6 s
        (6.4, 0.3, "retries"),  # without its queue alone it would still be late
        (6.4, 6.0, "queue"),
        (6.8, 0.3, "retries"),  # without both it is in time
        (6.8, 0.2, "work"),
        (6.8, None, None),
    ],
)
def test_what_earlier_tries_took_is_not_the_work_of_the_one_that_answered(
    first_token: float, queue_s: float | None, by: str | None
) -> None:
    tries = [
        record("a", 0, 6, request_key="K", outcome="timeout"),
        record("b", 6, 9, request_key="K", first_token=first_token, queue_s=queue_s),
    ]
    assert join(tries, settings=one_workload(ttft_s=0.55)).request["late_by"] == by
    # where latency is that of the try alone, earlier ones never make it late
    alone = join(tries, settings=one_workload(ttft_s=0.35, latency_origin="attempt")).request
    assert alone["late_by"] != "retries"


def test_the_deadline_counts_from_submission() -> None:
    rows = [record("a", 0, 50, request_key="K", outcome="error"), record("b", 60, 100, request_key="K")]
    for origin in ("request", "attempt"):
        request = join(rows, settings=one_workload(completion_window_s=60, latency_origin=origin)).request
        assert (request["pass_deadline"], request["verdict"]) == (False, "slow")


def test_retries_count_against_the_budget() -> None:
    rows = [
        record(f"{k}{n}", 2 * n, 2 * n + 1, request_key=str(k), outcome="ok" if n == k else "error")
        for k in range(3)
        for n in range(k + 1)
    ]
    requests = join(rows, settings=one_workload(retry_budget=1)).requests
    assert [(requests[k]["retry_count"], requests[k]["pass_retries"]) for k in "012"] == [
        (0, True),
        (1, True),
        (2, False),
    ]
    assert [requests[k]["verdict"] for k in "012"] == ["accepted", "accepted", "over_budget"]
    assert requests["2"]["sole_failing_gate"] == "retries"
    none = join(rows, settings=one_workload(retry_budget=0)).requests
    assert [none[k]["verdict"] for k in "012"] == ["accepted", "over_budget", "over_budget"]


def test_trap_6_success_needs_a_delivered_answer() -> None:
    rows = judge(
        one_workload(), *({"outcome": outcome} for outcome in ("ok", "error", "timeout", "cancelled", "unknown"))
    )
    assert [row["pass_success"] for row in rows] == [True, False, False, False, False]
    assert [row["verdict"] for row in rows] == ["accepted"] + ["failed"] * 4


def test_success_comes_before_everything_else() -> None:
    # A rejected request often carries zeros that pass every latency gate.
    zeros: Row = {"end": 0.0, "first_token": 0.0, "output_tokens": 0, "outcome": "error", "http_status": 429}
    (row,) = judge(one_workload(ttft_s=1, e2e_s=1, tpot_s=1, retry_budget=1), zeros)
    assert (row["verdict"], row["pass_ttft"], row["sole_failing_gate"]) == ("failed", True, "success")


# The verdict is the first that applies. Each case fails everything that its flags name.
FACTS: dict[str, Row] = {
    "failed": {"outcome": "error"},
    "over_budget": {"reported_attempts": 5},
    "slow": {"end": 9.0},
    "unevaluable": {"first_token": None},
}
ORDER = ("failed", "over_budget", "slow", "rejected", "unevaluable", "unlabelled")
FLAGS = [
    flags
    for n in range(64)
    if not {"rejected", "unlabelled"} <= (flags := {name for i, name in enumerate(ORDER) if n >> i & 1})
]


def test_the_verdict_is_the_first_that_applies() -> None:
    settings = one_workload(retry_budget=1, ttft_s=1.0, e2e_s=2.0, quality={})
    cases, labels = [], []
    for n, flags in enumerate(FLAGS):
        facts: Row = {"first_token": 0.5}
        for flag in flags:
            facts.update(FACTS.get(flag, {}))
        cases.append(facts)
        if "unlabelled" not in flags:
            labels.append(label("span", key(f"r{n:02d}"), passed="rejected" not in flags))
    rows = judge(settings, *cases, labels=labels)
    expected = [next((name for name in ORDER if name in flags), "accepted") for flags in FLAGS]
    assert [row["verdict"] for row in rows] == expected
    assert set(expected) == {*ORDER, "accepted"}


def test_a_request_needs_a_label_when_every_other_gate_passes() -> None:
    settings = one_workload(retry_budget=1, ttft_s=1.0, e2e_s=2.0, quality={})
    good: Row = {"first_token": 0.5}
    rows = judge(settings, good, *({**good, **facts} for facts in FACTS.values()))
    assert [row["needs_label"] for row in rows] == [True, False, False, False, False]
    (ungated,) = judge(one_workload(ttft_s=1.0), good)
    assert ungated["needs_label"] is False


def test_the_sole_failing_gate_is_the_only_one_whose_removal_would_accept() -> None:
    settings = one_workload(retry_budget=1, ttft_s=1.0, e2e_s=2.0, quality={})
    good: Row = {"first_token": 0.5}
    slow: Row = {**good, "end": 9.0}
    cases: list[tuple[Row, bool | None, str | None]] = [  # facts, what the label says, the gate
        (good, True, None),
        (good, False, "quality"),
        (good, None, None),  # a label that is still missing fails nothing
        (slow, True, "e2e"),
        (slow, None, "e2e"),
        (slow, False, None),  # rejected, were it not slow
        ({}, True, "ttft"),  # not measured
        ({"end": 9.0}, True, None),  # slow, and not measured
        ({**slow, "first_token": 2.0}, True, None),
        ({**good, "outcome": "error"}, True, "success"),
        ({**slow, "outcome": "error"}, True, None),
        ({**good, "reported_attempts": 9}, True, "retries"),
    ]
    labels = [label("span", key(f"r{n:02d}"), passed=says) for n, (_, says, _) in enumerate(cases) if says is not None]
    rows = judge(settings, *(facts for facts, _, _ in cases), labels=labels)
    assert [row["sole_failing_gate"] for row in rows] == [gate for _, _, gate in cases]
