"""Attempts become requests: what is a try of what, who delivered, how long the user waited.

See docs/semantics.md#attempts-and-requests, #gates-and-verdicts.
"""

from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

import pytest

from river import START_S, Joined, Row, join, key, link, one_workload, record

START = datetime.fromtimestamp(START_S, UTC)
OTHER_TRACE = "0af7651916cd43dd8448eb211c80319c"


def after(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def tries(joined: Joined) -> dict[str, list[str]]:
    """Span ids of each request's attempts in order, by the span id in its key."""
    found: dict[str, list[str]] = {}
    for row in sorted(joined.attempts.values(), key=lambda row: row["attempt_index"]):
        found.setdefault(row["request_key"].rpartition(":")[2], []).append(row["span_id"])
    return found


def sibling(span: str, start: float, end: float | None, **given: Any) -> Row:
    return record(span, start, end, parent="p", **given)


# Hidden retries: several children under one record


def hidden(last: str = "ok", caller: str = "ok") -> Joined:
    """A client call from 0 to 10 s: its first engine try 1..3 s failed, its second ran 4..9 s."""
    return join(
        [
            record("c", 0, 10, outcome=caller, first_token=5),
            record("e1", 1, 3, layer="engine", parent="c", outcome="error", output_tokens=3, replica="pod-1"),
            record("e2", 4, 9, layer="engine", parent="c", outcome=last, output_tokens=50, replica="pod-2"),
        ]
    )


def test_trap_13_hidden_retries_are_attempts_of_the_callers_request() -> None:
    joined = hidden()
    assert list(joined.requests) == [key("c")]
    assert (joined.request["attempts"], joined.request["retry_count"]) == (2, 1)
    assert joined.attempts[key("c")]["record_ids"] == [key("c"), key("e2")]
    assert joined.attempts[key("e1")]["request_key"] == key("c")


def test_hidden_tries_belong_to_their_callers_key() -> None:
    rows = [
        record("c", 0, 10, request_key="K"),
        record("e1", 1, 3, layer="engine", parent="c", outcome="error"),
        record("e2", 4, 9, layer="engine", parent="c"),
    ]
    joined = join(rows)
    assert list(joined.requests) == ["K"]
    assert joined.request["retry_count"] == 1


def test_the_last_hidden_try_is_the_one_that_answered() -> None:
    request = hidden().request
    assert request["delivering_attempt_id"] == key("c")
    assert (request["output_tokens"], request["replica"]) == (50, "pod-2")
    assert (request["ttft_s"], request["e2e_s"]) == (5.0, 10.0)


def test_the_caller_says_what_became_of_hidden_tries() -> None:
    # An engine that finished a try which its caller had given up on did not deliver to the user.
    gave_up = join(
        [
            record("c", 0, 10, outcome="timeout"),
            record("e1", 1, 3, layer="engine", parent="c", outcome="ok"),
            record("e2", 4, 9.9, layer="engine", parent="c", outcome="cancelled"),
        ]
    )
    assert gave_up.request["outcome"] == "timeout"
    assert gave_up.request["verdict"] == "failed"
    assert gave_up.request["ended_at"] == after(10)


def test_when_all_hidden_tries_failed_the_request_ends_with_its_caller() -> None:
    request = hidden(last="error", caller="timeout").request
    assert (request["outcome"], request["e2e_s"]) == ("timeout", 10.0)
    assert request["delivering_attempt_id"] == key("c")


def test_hidden_tries_of_every_layer_count() -> None:
    joined = join(
        [
            record("c", 0, 20),
            record("g1", 1, 8, layer="gateway", parent="c", outcome="error"),
            record("e1", 2, 3, layer="engine", parent="g1", outcome="error"),
            record("e2", 4, 7, layer="engine", parent="g1", outcome="error"),
            record("g2", 9, 19, layer="gateway", parent="c"),
            record("e3", 10, 18, layer="engine", parent="g2"),
        ]
    )
    merged = {row["span_id"]: len(row["record_ids"]) for row in joined.attempts.values()}
    assert merged == {"c": 3, "g1": 2, "e1": 1}
    assert (joined.request["attempts"], joined.request["retry_count"]) == (3, 2)


# Siblings under one parent span


def test_trap_13_a_sibling_after_a_failure_is_another_try() -> None:
    joined = join([sibling("c1", 0, 1, outcome="error"), sibling("c2", 2, 5, first_token=3, output_tokens=11)])
    assert tries(joined) == {"c1": ["c1", "c2"]}
    request = joined.request
    assert (request["attempts"], request["retry_count"], request["outcome"]) == (2, 1, "ok")
    assert request["delivering_attempt_id"] == key("c2")
    # the user has waited since the first attempt arrived
    assert (request["ttft_s"], request["e2e_s"]) == (3.0, 5.0)
    assert request["tpot_s"] == pytest.approx((5.0 - 3.0) / 10)
    assert (request["arrived_at"], request["ended_at"]) == (after(0), after(5))


@pytest.mark.parametrize(
    ("outcome", "requests"), [("error", 1), ("timeout", 1), ("cancelled", 1), ("unknown", 3), ("ok", 3)]
)
def test_what_follows_a_call_of_which_no_failure_is_known_is_another_request(outcome: str, requests: int) -> None:
    """An agent's turns, where its framework reports neither status nor usage."""
    joined = join([sibling(f"c{n}", 2 * n, 2 * n + 1, outcome=outcome) for n in range(3)])
    assert len(joined.requests) == requests


def test_a_sibling_after_an_answer_is_another_request() -> None:
    joined = join([sibling("c1", 0, 1), sibling("c2", 2, 3)])
    assert tries(joined) == {"c1": ["c1"], "c2": ["c2"]}
    assert {row["retry_count"] for row in joined.requests.values()} == {0}


def test_an_agent_that_retries_one_call_and_goes_on() -> None:
    joined = join(
        [
            sibling("a1", 0, 1),
            sibling("b1", 2, 3, outcome="error"),
            sibling("b2", 4, 5, outcome="timeout"),
            sibling("b3", 6, 7),
            sibling("c1", 8, 9),
        ]
    )
    assert tries(joined) == {"a1": ["a1"], "b1": ["b1", "b2", "b3"], "c1": ["c1"]}
    assert joined.requests[key("b1")]["retry_count"] == 2


def test_siblings_that_overlap_are_separate_requests() -> None:
    joined = join([sibling("a", 0, 5, outcome="error"), sibling("b", 1, 6), sibling("c", 2, 7, outcome="error")])
    assert tries(joined) == {"a": ["a"], "b": ["b"], "c": ["c"]}


def test_a_failure_is_retried_once() -> None:
    # Two calls start after the failure of `a`; only the first of them is its retry.
    joined = join([sibling("a", 0, 1, outcome="error"), sibling("b", 2, 5), sibling("c", 2.5, 6)])
    assert tries(joined) == {"a": ["a", "b"], "c": ["c"]}


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_of_siblings_that_failed_at_once_the_first_to_start_is_retried_in_any_order(order: tuple[int, ...]) -> None:
    rows = [
        sibling("a", 1, 2, outcome="error"),
        sibling("b", 0.5, 2, outcome="error"),
        sibling("c", 0.5, 2, outcome="error"),
    ]
    joined = join([*(rows[number] for number in order), sibling("d", 3, 4)])
    assert tries(joined) == {"a": ["a"], "b": ["b", "d"], "c": ["c"]}


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_of_two_tries_begun_at_once_the_one_with_its_prompt_is_followed_in_any_order(order: tuple[int, ...]) -> None:
    # `c` has the prompt of `b`, and came after the failure of `a`
    served = {"layer": "gateway", "covers_tries": True}
    rows = [
        sibling("a", 0, 1, outcome="error", input_tokens=7, **served),
        sibling("b", 0, 2, input_tokens=5, **served),
        sibling("c", 3, 4, input_tokens=5, **served),
    ]
    assert tries(join([rows[number] for number in order])) == {"a": ["a"], "b": ["b", "c"]}


def test_engine_siblings_are_tries_of_one_request() -> None:
    joined = join(
        [
            sibling("e1", 0, 1, layer="engine"),
            sibling("e2", 2, 3, layer="engine", outcome="error"),
            sibling("e3", 2.5, 5, layer="engine"),
        ]
    )
    assert tries(joined) == {"e1": ["e1", "e2", "e3"]}
    assert joined.request["retry_count"] == 2


def test_siblings_of_different_parents_or_traces_are_strangers() -> None:
    joined = join(
        [
            sibling("a", 0, 1, outcome="error"),
            record("b", 2, 3, parent="q"),
            sibling("c", 4, 5, trace=OTHER_TRACE),
            record("d", 6, 7),
        ]
    )
    assert tries(joined) == {name: [name] for name in "abcd"}


def test_retries_under_one_parent_take_their_engines_along() -> None:
    joined = join(
        [
            sibling("c1", 0, 2, outcome="timeout"),
            record("e1", 0.5, 1.9, layer="engine", parent="c1"),
            sibling("c2", 3, 6),
            record("e2", 3.5, 5.5, layer="engine", parent="h2", output_tokens=8),
        ],
        links=[link("h2", "c2")],
    )
    assert tries(joined) == {"c1": ["c1", "c2"]}
    assert joined.attempts[key("c1")]["outcome"] == "timeout"
    assert joined.request["output_tokens"] == 8


# Keys, counts and origins


def test_trap_13_a_configured_key_groups_attempts_across_traces() -> None:
    joined = join(
        [
            record("a", 0, 1, outcome="error", request_key="K"),
            record("b", 5, 6, trace=OTHER_TRACE, request_key="K"),
            record("c", 0, 1, request_key="L"),
        ]
    )
    assert set(joined.requests) == {"K", "L"}
    assert joined.requests["K"]["attempts"] == 2
    assert joined.requests["K"]["e2e_s"] == 6.0


def test_a_configured_key_counts_before_the_trace() -> None:
    joined = join([sibling("a", 0, 1, outcome="error", request_key="K"), sibling("b", 2, 3, request_key="L")])
    assert set(joined.requests) == {"K", "L"}


def test_a_key_that_only_an_inner_layer_knows_still_counts() -> None:
    joined = join(
        [
            record("c1", 0, 1, outcome="error"),
            record("g1", 0.1, 0.9, layer="gateway", parent="c1", request_key="K"),
            record("c2", 2, 3, trace=OTHER_TRACE),
            record("g2", 2.1, 2.9, layer="gateway", parent="c2", request_key="K", trace=OTHER_TRACE),
        ]
    )
    assert list(joined.requests) == ["K"]
    assert joined.request["retry_count"] == 1


def test_trap_13_a_gateways_own_count_raises_the_retries() -> None:
    counted = {n: join([record("g", layer="gateway", reported_attempts=n)]).request for n in (None, 0, 1, 4)}
    assert {n: row["retry_count"] for n, row in counted.items()} == {None: 0, 0: 0, 1: 0, 4: 3}
    assert {row["attempts"] for row in counted.values()} == {1}


def test_trap_13_a_gateways_count_and_the_tries_that_were_seen_do_not_add() -> None:
    # attempts - 1, or the gateway's own count when that is larger: 3 tries reported, the same 3 seen
    rows = [record("g", 0, 10, layer="gateway", reported_attempts=3)]
    rows += [record(f"e{n}", 3 * n, 3 * n + 1, layer="engine", parent="g", outcome="error") for n in range(3)]
    assert join(rows).request["retry_count"] == 2
    # a gateway that counts upwards from try to try
    counting = [
        record("g1", 0, 1, layer="gateway", request_key="K", reported_attempts=1, outcome="error"),
        record("g2", 2, 3, layer="gateway", request_key="K", reported_attempts=2),
    ]
    assert join(counting).request["retry_count"] == 1


def test_the_tries_of_layers_multiply() -> None:
    # an SDK that tried 3 times over a gateway that tried each 3 times: 9, of which one record of each was collected
    rows = [record("c", 0, 9, reported_attempts=3), record("g", 6, 9, layer="gateway", parent="c", reported_attempts=3)]
    assert join(rows).request["retry_count"] == 8
    # where every try is recorded, each stands for its own: 3 + 1 + 2
    below: Row = {"layer": "gateway", "parent": "c"}
    tries = [
        record("g0", 0, 1, reported_attempts=3, outcome="error", **below),
        record("g1", 1, 2, reported_attempts=1, outcome="error", **below),
        record("g2", 2, 3, reported_attempts=2, **below),
    ]
    assert join([record("c", 0, 9), *tries]).request["retry_count"] == 5
    assert join([record("c", 0, 9, reported_attempts=3), *tries]).request["retry_count"] == 5
    # two records of one layer count the same tries
    told: Row = {"layer": "gateway", "reported_attempts": 3, "call_id": "x"}
    log = record("row", 0, 1, dialect="log", **told) | {"trace_id": None, "span_id": None}
    joined = join([record("g", 0, 1, **told), log])
    assert (joined.request["attempts"], joined.request["retry_count"]) == (1, 2)


def test_the_intended_send_time_is_the_arrival() -> None:
    joined = join([record("c", 2, 5, intended=0.5, first_token=3)])
    assert joined.attempt["arrived_ns"] == (START_S * 10**9 + 500_000_000)
    assert joined.request["arrived_at"] == after(0.5)
    assert (joined.request["ttft_s"], joined.request["e2e_s"]) == (2.5, 4.5)


def test_latency_may_be_measured_from_the_delivering_attempt() -> None:
    rows = [sibling("a", 0, 1, outcome="error"), sibling("b", 4, 8, first_token=5, output_tokens=4, intended=3.5)]
    from_attempt = join(rows, settings=one_workload(latency_origin="attempt")).request
    assert (from_attempt["ttft_s"], from_attempt["e2e_s"]) == (1.5, 4.5)
    assert from_attempt["tpot_s"] == pytest.approx(3.0 / 3)
    assert (from_attempt["arrived_at"], from_attempt["ended_at"]) == (after(0), after(8))
    assert join(rows, settings=one_workload(latency_origin="request")).request["e2e_s"] == 8.0


def test_trap_3_durations_keep_their_nanoseconds() -> None:
    odd = record("c", 0, 1) | {"started_ns": START_S * 10**9 + 1, "ended_ns": START_S * 10**9 + 1_000_000_003}
    joined = join([odd])
    assert joined.request["e2e_s"] == joined.attempt["e2e_s"] == 1.000000002


# Who delivered


def test_an_earlier_answer_stands_when_the_last_attempt_failed() -> None:
    rows = [
        record("a", 0, 3, request_key="K", model="m1"),
        record("b", 4, 5, request_key="K", model="m2", outcome="error"),
    ]
    request = join(rows).request
    assert (request["delivering_attempt_id"], request["outcome"], request["model"]) == (key("a"), "ok", "m1")
    assert request["e2e_s"] == 3.0
    assert request["ended_at"] == after(5)  # the end of its last attempt
    assert request["retry_count"] == 1


def test_without_an_answer_the_last_attempt_speaks() -> None:
    rows = [record("b", 4, 5, request_key="K", outcome="error"), record("a", 0, 3, request_key="K", outcome="timeout")]
    request = join(rows).request
    assert (request["delivering_attempt_id"], request["outcome"]) == (key("b"), "error")
    assert request["verdict"] == "failed"
    assert [row["delivered"] for row in join(rows).attempts.values()].count(True) == 1


def hedged(first: tuple[float, float], second: tuple[float, float], **given: Any) -> Joined:
    """Two tries with one key that both answered, on pod-1 and pod-2, from and until these seconds."""
    return join(
        [
            record("a", *first, request_key="K", replica="pod-1", output_tokens=10, **given),
            record("b", *second, request_key="K", replica="pod-2", output_tokens=20, **given),
        ]
    )


@pytest.mark.parametrize(
    ("first", "second", "winner"),
    [
        ((0, 3), (1, 5), "a"),
        ((0, 5), (1, 3), "b"),
        ((0, 3), (3, 5), "b"),  # asked again once the answer was there: it was not had
        ((0, 3), (8, 9), "b"),
        ((0, 3), (0, 3), "b"),  # both at once: always the same one
    ],
)
def test_of_hedged_tries_that_both_answer_the_user_had_the_first(
    first: tuple[float, float], second: tuple[float, float], winner: str
) -> None:
    joined = hedged(first, second)
    expected = {
        "a": (key("a"), first[1], 10, "pod-1"),
        "b": (key("b"), second[1], 20, "pod-2"),
    }[winner]
    request = joined.request
    named = ("delivering_attempt_id", "e2e_s", "output_tokens", "replica")
    assert tuple(request[name] for name in named) == expected
    assert {span: joined.attempts[key(span)]["delivered"] for span in "ab"} == {"a": winner == "a", "b": winner == "b"}
    assert request["ended_at"] == after(max(first[1], second[1]))


def test_a_hedge_that_failed_delivered_nothing_however_soon() -> None:
    rows = [
        record("a", 0, 5, request_key="K"),
        record("b", 1, 2, request_key="K", outcome="error"),
    ]
    assert join(rows).request["delivering_attempt_id"] == key("a")


def test_of_hedges_at_engines_alone_the_first_to_end_was_had() -> None:
    joined = join([sibling("e1", 0, 9, layer="engine"), sibling("e2", 2, 4, layer="engine")])
    assert tries(joined) == {"e1": ["e1", "e2"]}
    assert (joined.request["delivering_attempt_id"], joined.request["e2e_s"]) == (key("e2"), 4.0)


@pytest.mark.parametrize(
    ("gateway_end", "passed_on"),
    [
        (4.1, "e1"),  # passed on as soon as it was there
        (8.1, "e2"),  # the first was given up: the gateway ended with the second
        (None, "e1"),
    ],
)
def test_a_record_of_hedges_passed_on_the_try_that_it_ended_with(gateway_end: float | None, passed_on: str) -> None:
    below: Row = {"layer": "engine", "parent": "g"}
    joined = join(
        [
            record("g", 0, gateway_end, layer="gateway", outcome="ok"),
            record("e1", 0.1, 4, replica="pod-1", output_tokens=10, **below),
            record("e2", 2, 8, replica="pod-2", output_tokens=20, **below),
        ]
    )
    assert joined.attempts[key("g")]["record_ids"] == [key("g"), key(passed_on)]
    assert joined.request["replica"] == {"e1": "pod-1", "e2": "pod-2"}[passed_on]
    assert joined.request["retry_count"] == 1


def test_what_the_caller_saw_of_hedges_counts_before_what_servers_saw() -> None:
    # the client took the second answer and left the first, which its gateway nonetheless finished earlier
    rows = [
        record("c1", 0, 3, outcome="cancelled", request_key="K"),
        record("g1", 0.1, 3.5, layer="gateway", parent="c1", replica="pod-1"),
        record("c2", 1, 4, request_key="K"),
        record("g2", 1.1, 3.9, layer="gateway", parent="c2", replica="pod-2"),
    ]
    request = join(rows).request
    assert (request["delivering_attempt_id"], request["replica"], request["e2e_s"]) == (key("c2"), "pod-2", 4.0)


def test_attempts_are_numbered_in_the_order_of_their_start() -> None:
    joined = join(
        [
            record(span, start, start + 1, request_key="K", outcome="error")
            for span, start in (("late", 7), ("first", 0), ("middle", 3))
        ]
    )
    assert tries(joined) == {"K": ["first", "middle", "late"]}
    assert sorted(row["attempt_index"] for row in joined.attempts.values()) == [0, 1, 2]


# Never seen to end


def test_a_request_without_an_end_is_in_flight_until_its_lifetime_is_over() -> None:
    settings = one_workload(max_request_lifetime_s=100.0, ttft_s=1.0, quality={})
    young = join([record("c", 5, None)], settings=settings, observed_until_s=104.9).request
    assert (young["verdict"], young["ended_at"], young["needs_label"]) == ("in_flight", None, False)
    assert (young["pass_success"], young["ttft_s"], young["e2e_s"]) == (None, None, None)
    old = join([record("c", 5, None)], settings=settings, observed_until_s=105.1).request
    assert (old["verdict"], old["ended_at"], old["pass_success"]) == ("failed", after(105), False)
    assert old["outcome"] != "ok"


def test_a_retry_that_has_not_ended_keeps_its_request_in_flight() -> None:
    rows = [record("a", 0, 1, request_key="K", outcome="error"), record("b", 2, None, request_key="K")]
    young = join(rows, observed_until_s=60).request
    assert (young["verdict"], young["ended_at"]) == ("in_flight", None)
    old = join(rows, observed_until_s=2 * 3600).request
    assert (old["verdict"], old["ended_at"], old["attempts"]) == ("failed", after(3600), 2)


def test_an_answered_request_does_not_wait_for_a_try_without_end() -> None:
    rows = [record("a", 0, 1, request_key="K"), record("b", 0.5, None, request_key="K")]
    request = join(rows, settings=one_workload(), observed_until_s=60).request
    assert (request["verdict"], request["ended_at"], request["e2e_s"]) == ("accepted", after(1), 1.0)


def test_an_end_that_only_the_engine_saw_is_an_end() -> None:
    rows = [record("c", 0, None, outcome="unknown"), record("e", 1, 3, layer="engine", parent="c")]
    assert join(rows, settings=one_workload(), observed_until_s=60).request["verdict"] == "accepted"


def test_a_call_still_under_way_does_not_end_with_its_hidden_failures() -> None:
    rows = [
        record("c", 0, None, outcome="unknown"),
        record("e1", 1, 3, layer="engine", parent="c", outcome="error"),
        record("e2", 4, None, layer="engine", parent="c"),
    ]
    request = join(rows, observed_until_s=60).request
    assert (request["verdict"], request["attempts"]) == ("in_flight", 2)


def test_a_key_that_is_used_again_hours_later_names_another_request() -> None:
    rows = [record("a", 0, 5, request_key="K"), record("b", 5 * 3600, 5 * 3600 + 5, request_key="K")]
    requests = join(rows).requests_table.to_pylist()
    assert [(r["request_key"], r["attempts"], r["retry_count"]) for r in requests] == [("K", 1, 0), ("K", 1, 0)]


def test_engine_siblings_with_other_prompts_are_other_questions() -> None:
    rows = [
        record("a", 0, 5, parent="p", layer="engine", input_tokens=100),
        record("b", 6, 9, parent="p", layer="engine", input_tokens=100),
        record("c", 10, 12, parent="p", layer="engine", input_tokens=250),
    ]
    assert sorted(r["attempts"] for r in join(rows).requests.values()) == [1, 2]


def test_what_has_an_outcome_is_over_even_where_its_end_is_not_told() -> None:
    rows = [record("a", 5, None, outcome="ok", http_status=200)]
    told = join(rows, settings=one_workload(), observed_until_s=6).request
    assert (told["verdict"], told["outcome"], told["e2e_s"]) == ("accepted", "ok", None)


def test_trap_29_clocks_that_disagree_make_no_negative_latency() -> None:
    rows = [
        record("c", 10, 14, layer="client"),
        record("e", 9, 13, layer="engine", parent="c", first_token=9.5, output_tokens=10),
    ]
    request = join(rows, settings=one_workload(ttft_s=1.0)).request
    assert (request["ttft_s"], request["tpot_s"], request["verdict"]) == (None, None, "unevaluable")
