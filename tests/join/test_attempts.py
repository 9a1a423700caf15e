"""Records of one attempt become one row, each fact from the layer that has authority over it.

See docs/semantics.md#one-attempt-several-records.
"""

from itertools import permutations

import pytest

from river import TRACE, Row, join, key, link, one_workload, record

CLIENT: Row = {"layer": "client", "tenant": "acme", "session_id": "chat-1", "reported_cost_usd": 0.02}
GATEWAY: Row = {
    "layer": "gateway",
    "tenant": "gateway-tenant",
    "session_id": "gateway-session",
    "pool": "pool-a",
    "route": "blue",
    "reported_cost_usd": 0.01,
    "input_tokens": 90,
    "output_tokens": 40,
    "queue_s": 9.0,
    "replica": "gateway-pod",
}
ENGINE: Row = {
    "layer": "engine",
    "tenant": "engine-tenant",
    "replica": "pod-7",
    "queue_s": 0.1,
    "prefill_s": 0.2,
    "decode_s": 1.0,
    "input_tokens": 100,
    "cached_input_tokens": 60,
    "cache_write_tokens": 5,
    "output_tokens": 50,
    "reasoning_tokens": 7,
    "draft_tokens": 20,
    "accepted_draft_tokens": 11,
    "preemptions": 2,
    "recomputed_tokens": 30,
}


def stack(**links: str) -> list[Row]:
    """Client over gateway over engine; `links` replaces a layer's parent."""
    return [
        record("c", 0, 4, first_token=1.0, **CLIENT),
        record("g", 0.5, 3.5, first_token=0.9, parent=links.get("g", "c"), **GATEWAY),
        record("e", 1, 3, first_token=1.4, parent=links.get("e", "g"), **ENGINE),
    ]


def test_parent_and_child_spans_are_one_attempt() -> None:
    joined = join(stack())
    assert list(joined.attempts) == [key("c")]
    assert joined.attempt["record_ids"] == [key("c"), key("g"), key("e")]
    assert joined.request["attempts"] == 1
    assert joined.request["retry_count"] == 0


def test_records_find_each_other_through_spans_that_are_none() -> None:
    # e -> h2 -> h1 -> g -> h0 -> c
    links = [link("h2", "h1"), link("h1", "g"), link("h0", "c")]
    joined = join(stack(g="h0", e="h2"), links=links)
    assert joined.attempt["record_ids"] == [key("c"), key("g"), key("e")]


def test_the_nearest_record_above_is_the_parent_not_the_outermost() -> None:
    # h is below g and g below c: e belongs to g's try, whatever lies above.
    rows = [
        record("c", 0, 9),
        record("g1", 0, 3, parent="c", layer="gateway", outcome="error"),
        record("g2", 4, 9, parent="c", layer="gateway"),
        record("e", 1, 2, parent="h", layer="engine"),
    ]
    joined = join(rows, links=[link("h", "g1")])
    assert joined.attempts[key("g1")]["record_ids"] == [key("g1"), key("e")]
    assert joined.attempts[key("c")]["record_ids"] == [key("c"), key("g2")]


def test_a_record_that_another_source_knows_as_a_link_is_still_the_nearest() -> None:
    rows = [
        record("c", 0, 9),
        record("g1", 0, 3, parent="c", layer="gateway", outcome="error"),
        record("g2", 4, 9, parent="c", layer="gateway"),
        record("e", 1, 2, parent="g1", layer="engine"),
    ]
    joined = join(rows, links=[link("g1", "c", "s2"), link("g2", "c", "s2")])
    assert joined.attempts[key("g1")]["record_ids"] == [key("g1"), key("e")]


def test_a_parent_in_another_trace_is_no_parent() -> None:
    other = "0af7651916cd43dd8448eb211c80319c"
    joined = join([record("c"), record("e", parent="c", layer="engine", trace=other)])
    assert {row["attempts"] for row in joined.requests.values()} == {1}
    assert len(joined.requests) == 2


def test_engine_facts_come_from_the_engine() -> None:
    attempt = join(stack()).attempt
    expected = {name: value for name, value in ENGINE.items() if name not in {"layer", "tenant"}}
    assert {name: attempt[name] for name in expected} == expected


def test_trap_8_what_the_user_waited_is_told_by_the_outermost_layer() -> None:
    attempt = join(stack()).attempt
    assert (attempt["tenant"], attempt["session_id"], attempt["reported_cost_usd"]) == ("acme", "chat-1", 0.02)
    assert (attempt["ttft_s"], attempt["e2e_s"]) == (1.0, 4.0)
    # the outermost layer that has them: the client knows neither
    assert (attempt["pool"], attempt["route"]) == ("pool-a", "blue")


def test_trap_12_tokens_of_layers_never_add_and_fall_back_to_the_gateway() -> None:
    without_engine_count = [row | {"output_tokens": None} if row["layer"] == "engine" else row for row in stack()]
    joined = join(without_engine_count)
    assert joined.attempt["output_tokens"] == 40  # the gateway's
    assert joined.attempt["input_tokens"] == 100  # the engine's, not 190
    assert joined.request["output_tokens"] == 40


def test_trap_6_a_client_that_left_counts_though_its_engine_wrote_nothing() -> None:
    rows = [
        record("g1", 0, 4, layer="gateway"),
        record("e1", 1, 3, layer="engine", parent="g1"),
        record("g2", 5, 6, layer="gateway", outcome="cancelled"),
    ]
    joined = join(rows, settings=one_workload())
    assert {name: row["verdict"] for name, row in joined.requests.items()} == {
        key("g1"): "accepted",
        key("g2"): "failed",
    }


def test_trap_12_three_spans_of_a_gateway_around_one_call_are_one_attempt_and_its_tokens() -> None:
    counted: Row = {"layer": "gateway", "input_tokens": 100, "output_tokens": 50, "reported_cost_usd": 0.01}
    joined = join(
        [
            record("proxy", 0, 4, covers_tries=True, **counted),
            record("call", 0.1, 3.9, parent="proxy", **counted),
            record("raw", 0.2, 3.8, parent="call", **counted),
        ]
    )
    told = ("attempts", "input_tokens", "output_tokens")
    assert [joined.request[name] for name in told] == [1, 100, 50]
    assert joined.attempt["reported_cost_usd"] == 0.01


def test_an_answer_is_of_a_cache_where_any_of_its_records_says_so() -> None:
    for of_gateway, of_call in ((True, None), (None, True), (False, False), (None, None)):
        spans = [
            record("c", 0, 4, layer="client"),
            record("g", 0.1, 3.9, parent="c", layer="gateway", answered_from_cache=of_gateway),
            record("raw", 0.2, 3.8, parent="g", layer="gateway", answered_from_cache=of_call),
        ]
        expected = None if of_gateway is None and of_call is None else of_gateway or of_call
        assert join(spans[:2]).attempt["answered_from_cache"] is of_gateway
        assert join(spans).attempt["answered_from_cache"] is expected


def test_a_failure_that_the_caller_saw_stands_over_the_engines_success() -> None:
    for seen in ("error", "timeout", "cancelled"):
        joined = join([record("c", 0, 2, outcome=seen), record("e", 0.1, 1.9, parent="c", layer="engine")])
        assert joined.attempt["outcome"] == seen
        assert joined.request["outcome"] == seen
        assert joined.request["verdict"] == "failed"


def test_trap_6_a_caller_that_does_not_know_leaves_the_outcome_to_the_layer_below() -> None:
    rows = [record("c", 0, 2, outcome="unknown"), record("e", 0.1, 1.9, parent="c", layer="engine", outcome="ok")]
    assert join(rows).attempt["outcome"] == "ok"
    assert join([rows[0]]).request["verdict"] == "failed"  # a missing error is not success


def test_an_engine_under_a_failing_engine_less_layer_does_not_change_who_is_outermost() -> None:
    # A gateway's failure is hidden by the client's own success: the user got an answer.
    joined = join([record("c", 0, 2), record("g", 0.1, 1.9, parent="c", layer="gateway", outcome="error")])
    assert joined.request["outcome"] == "ok"


def test_trap_9_an_answer_that_was_not_streamed_arrives_whole() -> None:
    joined = join([record("c", 0, 4, first_token=1.0, streamed=False, output_tokens=31)])
    assert joined.attempt["ttft_s"] == joined.attempt["e2e_s"] == 4.0
    assert joined.attempt["first_token_at"] == joined.attempt["ended_at"]
    assert joined.attempt["tpot_s"] is None
    assert joined.request["ttft_s"] == joined.request["e2e_s"] == 4.0
    assert joined.request["tpot_s"] is None


def test_streaming_is_what_the_outermost_layer_says() -> None:
    # The gateway buffered the engine's stream: its caller saw the first token at the end.
    joined = join(
        [
            record("g", 0, 4, layer="gateway", streamed=False),
            record("e", 1, 3, parent="g", layer="engine", streamed=True, first_token=1.5, output_tokens=9),
        ]
    )
    assert joined.request["ttft_s"] == 4.0


def test_tpot_is_per_token_after_the_first() -> None:
    attempt = join([record("c", 0, 4, first_token=1.0, output_tokens=31)]).attempt
    assert attempt["tpot_s"] == (4.0 - 1.0) / 30
    for tokens in (0, 1, None):
        assert join([record("c", 0, 4, first_token=1.0, output_tokens=tokens)]).attempt["tpot_s"] is None


def test_loops_of_parents_end() -> None:
    loop = [record("a", parent="b"), record("b", 0.1, parent="a"), record("self", 0.2, parent="self")]
    links = [link("h1", "h2"), link("h2", "h1"), link("h3", "h3")]
    lost = [record("e1", 0.3, parent="h1", layer="engine"), record("e3", 0.4, parent="h3", layer="engine")]
    joined = join(loop + lost, links=links)
    named = [name for attempt in joined.attempts.values() for name in attempt["record_ids"]]
    assert sorted(named) == sorted(row["record_id"] for row in loop + lost)


def test_a_loop_of_parents_ends_where_another_system_tells_of_the_same_call() -> None:
    """What shares an id with a record of the loop stands neither above nor below it: a loop has no root."""
    loop = [record("a", parent="b", dialect="spans", call_id="c1"), record("b", 0.1, parent="a", dialect="spans")]
    log = record("row", 0.2, dialect="log", layer="gateway", call_id="c1") | {"trace_id": None, "span_id": None}
    joined = join([*loop, log])
    named = [name for attempt in joined.attempts.values() for name in attempt["record_ids"]]
    assert sorted(named) == sorted(row["record_id"] for row in [*loop, log])


def test_a_loop_of_links_from_many_sources_ends() -> None:
    links = [link(a, b, source) for a, b in (("h1", "h2"), ("h2", "h1")) for source in ("s1", "s2", "s3")]
    joined = join([record("e", parent="h1", layer="engine")], links=links)
    assert list(joined.attempts) == [key("e")]


def test_trap_1_a_copy_from_another_source_counts_once() -> None:
    rows = stack()
    copies = [row | {"source_id": "s0", "line": 7} for row in rows]
    assert join(copies + rows).attempts == join(copies).attempts
    assert join(rows + copies).attempts == join(copies).attempts
    assert join(rows + copies).requests == join(rows).requests


def test_trap_1_of_copies_that_differ_the_same_one_counts_in_any_order() -> None:
    copies = [record("c", source_id=source, output_tokens=tokens) for source, tokens in (("s2", 7), ("s1", 9))]
    for rows in (copies, copies[::-1]):
        attempt = join(rows).attempt
        assert (attempt["output_tokens"], attempt["source"]) == (9, "s1")


def test_a_copy_of_a_link_changes_nothing() -> None:
    rows = stack(e="h")
    once = join(rows, links=[link("h", "g")])
    twice = join(rows, links=[link("h", "g", "s9"), link("h", "g")])
    assert once.attempts == twice.attempts
    assert once.attempt["record_ids"] == [key("c"), key("g"), key("e")]


def test_attempts_say_where_they_come_from() -> None:
    rows = [
        record("c", source_id="s-client", dialect="genai"),
        record("e", 0.1, parent="c", layer="engine", source_id="s-engine", dialect="vllm"),
    ]
    attempt = join(rows).attempt
    assert (attempt["source"], attempt["dialect"]) == ("s-client", "genai")
    assert (attempt["trace_id"], attempt["span_id"], attempt["parent_span_id"]) == (TRACE, "c", None)


def test_a_gateway_that_hands_on_its_callers_context_is_still_above_the_engine() -> None:
    # g and e are both children of c; the answer's id stands in the gateway's call and in the engine's record
    rows = [
        record("c", 0, 4, first_token=1.0, **CLIENT),
        record("g", 0.1, 3.9, parent="c", layer="gateway", covers_tries=True, dialect="http"),
        record("call", 0.2, 3.8, parent="g", **GATEWAY, response_id="r1", dialect="call"),
        record("e", 1, 3, first_token=1.4, parent="c", **ENGINE, response_id="r1", dialect="engine"),
    ]
    for found in (rows, rows[::-1]):
        joined = join(found)
        assert joined.attempt["record_ids"] == [key("c"), key("g"), key("call"), key("e")]
        assert (joined.request["attempts"], joined.attempt["replica"], joined.attempt["queue_s"]) == (1, "pod-7", 0.1)
    # with the caller not recorded, the two stand below the same missing span
    assert join(rows[1:]).attempt["record_ids"] == [key("g"), key("call"), key("e")]


def test_views_of_one_try_without_an_id_are_found_by_their_time() -> None:
    # two tries of the gateway, each with the engine's record of it; all four are children of c
    rows = [
        record("c", 0, 9),
        record("g1", 0.1, 3, parent="c", layer="gateway", outcome="error"),
        record("g2", 4, 9, parent="c", layer="gateway"),
        record("e1", 0.2, 2.9, parent="c", layer="engine", outcome="error"),
        record("e2", 4.1, 8.9, parent="c", layer="engine"),
    ]
    joined = join(rows)
    assert joined.request["attempts"] == 2
    assert joined.attempts[key("g1")]["record_ids"] == [key("g1"), key("e1")]
    assert joined.attempts[key("c")]["record_ids"] == [key("c"), key("g2"), key("e2")]


def test_calls_beside_each_other_are_no_views_of_one() -> None:
    # below one agent's span: a call through the gateway, and one straight to an engine while it runs
    def below_agent(**of_engine: object) -> list[Row]:
        return [
            record("g", 0, 4, parent="agent", layer="gateway", input_tokens=100),
            record("e", 1, 3, parent="agent", layer="engine", **of_engine),
        ]

    assert len(join(below_agent(input_tokens=7)).requests) == 2
    assert len(join(below_agent(input_tokens=100)).requests) == 1
    # what lies in the time of a call that has its engine's record is another call
    both = [*below_agent(input_tokens=100), record("direct", 2, 3.5, parent="agent", layer="engine", input_tokens=100)]
    assert sorted(len(a["record_ids"]) for a in join(both).attempts.values()) == [1, 2]
    # later than the gateway's answer
    assert len(join([*below_agent()[:1], record("e", 6, 7, parent="agent", layer="engine")]).requests) == 2


def test_an_inner_record_above_an_outer_one_ends() -> None:
    # each of two siblings has a descendant that could stand above the other
    rows = [
        record("g", 0, 4, parent="top", layer="gateway", call_id="x"),
        record("e", 0, 4, parent="top", layer="engine", call_id="y"),
        record("below_g", 1, 2, parent="g", layer="client", call_id="y"),
        record("below_e", 1, 2, parent="e", layer="client", call_id="x"),
    ]
    found = [record_id for attempt in join(rows).attempts.values() for record_id in attempt["record_ids"]]
    assert sorted(found) == sorted(row["record_id"] for row in rows)


def test_a_try_that_does_not_say_what_was_asked_counts_below_its_request_alone() -> None:
    request = record("r", 0, 4, layer="gateway", covers_tries=True)
    failed = record("t", 0.1, 1, parent="r", layer="gateway", needs_parent=True, replica="a", outcome="error")
    answered = record("u", 1.1, 4, parent="r", layer="gateway", needs_parent=True, replica="b")
    other = record("v", 0, 1, parent="x", layer="gateway", needs_parent=True)  # below what generates nothing
    joined = join([request, failed, answered, other])
    assert joined.attempts.keys() == {key("r"), key("t")}
    assert joined.attempts[key("r")]["record_ids"] == [key("r"), key("u")]
    assert [joined.attempts[key(name)]["replica"] for name in "rt"] == ["b", "a"]
    assert (joined.request["attempts"], joined.request["retry_count"]) == (2, 1)


def test_spans_that_mark_tries_are_counted_at_the_request_above_them() -> None:
    request = record("p", 0, 4, layer="gateway", covers_tries=True, outcome="error")
    call = record("c", 0.1, 1, parent="p", layer="gateway", outcome="error")  # the only one with a span
    links = [link("f", "p"), *({**link(name, "f"), "marks_try": True} for name in "qrs")]
    joined = join([request, call], links=[*links, *links])  # a copy marks no other try
    assert (joined.request["attempts"], joined.request["retry_count"]) == (1, 2)


def test_a_call_without_a_session_has_that_of_the_nearest_span_above_it() -> None:
    # agent > team > step > c1, and agent > c2; the span of c3 names its own
    links = [
        link("agent", None, session_id="chat-1"),
        link("team", "agent", session_id="chat-2"),
        link("step", "team"),
    ]
    rows = [
        record("c1", 0, 1, parent="step"),
        record("c2", 2, 3, parent="agent"),
        record("c3", 4, 5, parent="agent", session_id="own"),
        record("c4", 6, 7),
    ]
    attempts = join(rows, links=links).attempts
    assert {name: row["session_id"] for name, row in attempts.items()} == {
        key("c1"): "chat-2",
        key("c2"): "chat-1",
        key("c3"): "own",
        key("c4"): None,
    }


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_what_stands_above_a_call_is_above_the_copy_that_counts_in_any_order(order: tuple[int, ...]) -> None:
    links = [
        link(name, None, session_id=name, end=1.0, outcome="error", error_type=name) for name in ("one", "two", "three")
    ]
    copies = [
        record("c", 0, 1, source_id=source, parent=parent, outcome="unknown")
        for source, parent in (("s2", "two"), ("s1", "one"), ("s3", "three"))
    ]
    attempt = join([copies[number] for number in order], links=links).attempt
    assert (attempt["session_id"], attempt["error_type"]) == ("one", "one")


def test_a_session_of_a_span_above_is_that_of_the_whole_stack_of_layers_below_it() -> None:
    rows = [row | {"session_id": None} for row in stack()]
    attempt = join(
        [rows[0] | {"parent_span_id": "agent"}, *rows[1:]], links=[link("agent", None, session_id="s")]
    ).attempt
    assert (attempt["session_id"], len(attempt["record_ids"])) == ("s", 3)


def test_a_call_that_does_not_show_how_it_ended_failed_with_the_span_above_it() -> None:
    agent = link("agent", None, end=4.3, outcome="timeout", error_type="ModelTimeoutError")
    rows = [
        record("c1", 0, 1, parent="agent", outcome="unknown"),
        record("c2", 2, 4, parent="agent", outcome="unknown"),
    ]
    attempts = join(rows, links=[agent]).attempts
    told = {name: (row["outcome"], row["error_type"]) for name, row in attempts.items()}
    # of the first nobody knows: the agent went on after it
    assert told == {key("c1"): ("unknown", None), key("c2"): ("timeout", "ModelTimeoutError")}


def test_what_failed_later_or_above_an_answer_says_nothing_of_the_call() -> None:
    late = link("late", None, end=5.1, outcome="error", error_type="ValueError")
    soon = link("soon", None, end=8.1, outcome="error", error_type="ValueError")
    rows = [record("c1", 2, 4, parent="late", outcome="unknown"), record("c2", 6, 8, parent="soon", outcome="ok")]
    attempts = join(rows, links=[late, soon]).attempts
    assert [(row["outcome"], row["error_type"]) for row in attempts.values()] == [("unknown", None), ("ok", None)]


def test_of_two_records_of_one_caller_the_later_first_token_counts() -> None:
    framework, sdk = record("f", 0, 4, first_token=0.1), record("s", 0, 4, first_token=0.7, parent="f")
    assert join([framework, sdk]).attempt["ttft_s"] == 0.7
    assert (
        join([framework, sdk, record("g", 1, 3, first_token=0.9, layer="gateway", parent="s")]).attempt["ttft_s"] == 0.7
    )
    # the other way round, of another layer, or by a clock that is ahead: the outermost counts
    early, engine = sdk | {"first_token_ns": framework["started_ns"]}, sdk | {"layer": "engine"}
    ahead = sdk | {"first_token_ns": framework["ended_ns"] + 1}
    assert {join([framework, inner]).attempt["ttft_s"] for inner in (early, engine, ahead)} == {0.1}


def test_an_end_that_another_layer_dates_before_the_start_is_no_latency() -> None:
    """A client that was never seen to end, above an engine whose clock is ten seconds behind."""
    client, engine = record("c", 20, None, layer="client"), record("e", 8, 12, parent="c", layer="engine")
    joined = join([client, engine])
    assert (joined.attempt["e2e_s"], joined.request["e2e_s"]) == (None, None)
    assert joined.attempt["ended_at"] == joined.attempt["started_at"]
    assert joined.request["ended_at"] == joined.request["arrived_at"]
