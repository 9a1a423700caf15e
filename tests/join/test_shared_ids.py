"""Records of one call that no parent links: by the id that both carry, or within one trace.

See docs/semantics.md#one-attempt-several-records.
"""

from itertools import permutations
from resource import RUSAGE_SELF, getrusage
from typing import Any

import pytest

from river import Row, join, key, record

GATEWAY: Row = {"layer": "gateway", "dialect": "spans"}
LOG: Row = {"layer": "gateway", "dialect": "log", "trace": None, "span_id": None}
ENGINE: Row = {"layer": "engine", "dialect": "engine"}
OTHER = "0" * 31 + "1"


def log(name: str, start: float, end: float, **given: object) -> Row:
    """A row of the gateway's log: it has no place in a trace of its own."""
    row = record(name, start, end, **{"span_id": None, "trace_id": None, **LOG, **given})
    return {**row, "record_id": name, "trace_id": given.get("trace_id")}


def call(start: float = 0.0, end: float = 3.0, **given: object) -> list[Row]:
    """A gateway's span of an HTTP request and its one try."""
    return [
        record("http", start, end, covers_tries=True, **GATEWAY),
        record("try", start + 0.5, end, parent="http", call_id="c1", output_tokens=9, **{**GATEWAY, **given}),
    ]


def test_the_log_row_of_a_try_stands_beside_its_span() -> None:
    joined = join([*call(), log("row", 0.6, 3.0, call_id="c1", output_tokens=11, reported_cost_usd=0.5)])
    assert joined.attempt["record_ids"] == [key("http"), key("try"), "row"]
    assert joined.attempt["output_tokens"] == 9  # never 20, and the span before the log
    assert joined.attempt["reported_cost_usd"] == 0.5  # what only the log tells
    assert joined.request["attempts"] == 1


def test_the_record_that_saw_a_try_fail_is_right() -> None:
    joined = join([*call(), log("row", 0.6, 3.0, call_id="c1", outcome="cancelled", http_status=499)])
    assert joined.request["outcome"] == "cancelled"


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_of_records_that_saw_a_try_fail_the_first_by_id_is_right_in_any_order(order: tuple[int, ...]) -> None:
    def fails(name: str, outcome: str) -> Row:
        return record(name, 0, 3, layer="engine", dialect="engine", call_id="c1", response_id="r", outcome=outcome)

    rows = [fails("a", "unknown"), fails("b", "cancelled"), fails("c", "error"), fails("d", "timeout")]
    joined = join([rows[number] for number in order])
    assert joined.request["outcome"] == "cancelled"


def test_the_status_of_a_call_says_only_that_an_answer_began() -> None:
    assert join(call(outcome="error")).request["outcome"] == "error"


def test_each_row_finds_the_try_that_ended_when_it_did() -> None:
    rows = [
        record("http", 0, 9, covers_tries=True, **GATEWAY),
        record("t1", 1, 3, parent="http", call_id="c1", outcome="error", **GATEWAY),
        record("t2", 4, 8, parent="http", call_id="c1", **GATEWAY),
        log("r2", 4.2, 8, call_id="c1"),
        log("r1", 1.2, 3, call_id="c1", outcome="error"),
    ]
    joined = join(rows)
    assert {row["attempt_index"]: row["record_ids"] for row in joined.attempts.values()} == {
        0: [key("t1"), "r1"],
        1: [key("http"), key("t2"), "r2"],
    }
    assert joined.request["attempts"] == 2


def test_a_try_that_only_the_log_knows_is_an_attempt_of_the_call() -> None:
    joined = join([*call(), log("refused", 0.1, 0.2, call_id="c1", outcome="error", error_type="RateLimit")])
    assert joined.request["attempts"] == 2
    assert joined.request["outcome"] == "ok"
    assert joined.attempts["refused"]["attempt_index"] == 0


def test_rows_of_one_call_without_any_span_are_its_tries() -> None:
    joined = join([log("r1", 0, 1, call_id="c1", outcome="error"), log("r2", 2, 3, call_id="c1")])
    assert (joined.request["attempts"], joined.request["outcome"]) == (2, "ok")


def test_trap_15_an_id_used_again_a_day_later_is_another_call() -> None:
    assert len(join([log("r1", 0, 1, call_id="c1"), log("r2", 86_400, 86_401, call_id="c1")]).requests) == 2


@pytest.mark.parametrize("named", ["call_id", "response_id"])
def test_an_engine_span_of_another_trace_is_found_by_its_id(named: str) -> None:
    rows = [
        record("g", 0, 3, **GATEWAY, **{named: "x"}, input_tokens=90),
        record("e", 1, 3, trace=OTHER, **ENGINE, **{named: "x"}, input_tokens=100, replica="pod-7"),
    ]
    joined = join(rows)
    assert joined.attempt["record_ids"] == [key("g"), key("e", OTHER)]
    assert (joined.attempt["input_tokens"], joined.attempt["replica"]) == (100, "pod-7")


def test_trap_15_a_request_id_that_two_tries_share_finds_the_try_that_it_ran_in() -> None:
    rows = [
        record("g1", 0, 2, call_id="x", outcome="error", **GATEWAY),
        record("g2", 5, 8, call_id="x", **GATEWAY),
        record("e1", 0.5, 2, trace=OTHER, call_id="x", replica="a", **ENGINE),
        record("e2", 5.5, 8, trace=OTHER[::-1], call_id="x", replica="b", **ENGINE),
    ]
    joined = join(rows)
    assert [row["replica"] for row in sorted(joined.attempts.values(), key=lambda row: row["attempt_index"])] == [
        "a",
        "b",
    ]
    assert joined.request["attempts"] == 2


def test_a_row_that_knows_its_trace_is_no_second_request() -> None:
    joined = join([*call(), log("row", 0.6, 3.0, trace_id=key("").partition(":")[0])])
    assert len(joined.requests) == 1
    assert joined.request["attempts"] == 1


def test_a_refusal_without_any_common_id_is_the_call_of_that_status_around_it() -> None:
    refused: Row = {"outcome": "error", "http_status": 400}
    rows = [
        record("http", 0, 0.02, covers_tries=True, **GATEWAY, **refused),
        log("row", 0.005, 0.015, call_id="c9", **refused),
    ]
    assert len(join(rows).requests) == 1
    twice = [*rows, log("row2", 0.006, 0.016, call_id="c8", **refused)]
    assert len(join(twice).requests) == 3  # which of them it is, nobody can tell


def test_trap_12_two_spans_of_one_call_by_two_tracers_are_one_request() -> None:
    rows = [
        record("http", 0, 3, parent="remote", covers_tries=True, outcome="unknown", **GATEWAY),
        record("proxy", 0.1, 2.9, parent="remote", covers_tries=True, outcome="unknown", **GATEWAY),
        record("try", 0.5, 2.8, parent="proxy", **{**GATEWAY, "dialect": "calls"}),
    ]
    joined = join(rows)
    assert (joined.request["attempts"], joined.request["outcome"]) == (1, "ok")


def served(name: str, start: float, end: float, **given: object) -> Row:
    """An HTTP request at the gateway whose client's span is in no file."""
    return record(name, start, end, parent="remote", covers_tries=True, streamed=True, **{**GATEWAY, **given})


def test_a_client_that_left_and_asked_again_under_one_parent_tries_again() -> None:
    # The server notices late that its client left: after the next try began.
    rows = [
        served("a", 0, 4, outcome="cancelled", input_tokens=42),
        served("b", 1, 6, outcome="cancelled", input_tokens=42),
        served("c", 3, 5, input_tokens=63),
    ]
    joined = join(rows)
    assert (joined.request["attempts"], joined.request["outcome"]) == (3, "ok")


def test_answers_that_no_one_waited_for_are_tries_when_the_prompt_is_the_same() -> None:
    rows = [served(name, start, start + 2, input_tokens=215) for name, start in (("a", 0), ("b", 1.2), ("c", 2.8))]
    assert join(rows).request["attempts"] == 3


def test_questions_asked_at_once_are_no_tries_of_each_other() -> None:
    rows = [served("a", 0, 4, outcome="cancelled", input_tokens=42), served("b", 0.1, 4, input_tokens=63)]
    assert len(join(rows).requests) == 2
    follow_up = [served("a", 0, 4, input_tokens=42), served("b", 5, 9, input_tokens=142)]
    assert len(join(follow_up).requests) == 2


def test_an_empty_stream_had_no_first_token() -> None:
    row = record("a", 0, 2, first_token=1.0, output_tokens=0, streamed=True)
    assert join([row]).request["ttft_s"] is None


def test_trap_14_parallel_choices_of_one_prompt_are_one_attempt() -> None:
    # n = 2: two engine spans with one id, one start and the prompt counted in each; nobody tried again.
    choice: Row = {"layer": "engine", "call_id": "x", "input_tokens": 100, "parent": "c"}
    rows = [
        record("c", 0, 4, first_token=1.0),
        record("e1", 0.5, 3.5, first_token=1.0, output_tokens=31, **choice),
        record("e2", 0.5, 2.5, first_token=1.0, output_tokens=20, **choice),
    ]
    joined = join(rows)
    assert joined.request["attempts"] == 1
    assert (joined.attempt["input_tokens"], joined.attempt["output_tokens"]) == (100, 51)
    assert joined.request["tpot_s"] == pytest.approx((4 - 1) / (31 - 1))
    assert len(joined.attempt["record_ids"]) == 3


def test_trap_14_prompts_of_a_list_are_questions_of_their_own() -> None:
    rows = [record(f"e{n}", 0, 3, layer="engine", call_id="x", input_tokens=n, trace=OTHER) for n in (5, 6)]
    assert len(join(rows).attempts) == 2


def told(name: str, dialect: str, start: float = 0.0, end: float = 3.0, **given: object) -> Row:
    """A row of a log that stands for a whole request."""
    return log(name, start, end, dialect=dialect, covers_tries=True, **given)


@pytest.mark.parametrize("named", [{"call_id": "x-1"}, {"response_id": "chatcmpl-1"}])
def test_a_request_that_is_told_in_a_span_and_two_logs_is_one(named: Row) -> None:
    span = record("http", 0, 3, covers_tries=True, **GATEWAY, **named)
    rows = [told("json", "json", 0.001, 3, pool="p", **named), told("text", "text", 0.001, 3, replica="r", **named)]
    joined = join([span, *rows])
    assert joined.attempt["record_ids"] == [key("http"), "json", "text"]
    assert (joined.attempt["pool"], joined.attempt["replica"]) == ("p", "r")
    assert (joined.request["attempts"], joined.request["retry_count"]) == (1, 0)


def test_a_request_that_is_told_in_two_logs_alone_is_one() -> None:
    joined = join([told("json", "json", call_id="x-1", reported_attempts=2), told("text", "text", call_id="x-1")])
    assert joined.attempt["record_ids"] == ["json", "text"]
    assert joined.request["retry_count"] == 1


def test_a_caller_that_tries_again_with_its_id_is_told_twice_in_each_log() -> None:
    first = [told(f"{name}1", name, 0, 1, call_id="x-1", outcome="error") for name in ("json", "text")]
    again = [told(f"{name}2", name, 1.5, 4, call_id="x-1") for name in ("json", "text")]
    joined = join([*first, *again])
    assert sorted(attempt["record_ids"] for attempt in joined.attempts.values()) == [
        ["json1", "text1"],
        ["json2", "text2"],
    ]
    assert (joined.request["attempts"], joined.request["outcome"]) == (2, "ok")


def told_twice(number: int, **given: Any) -> list[Row]:
    """A call by a framework's instrumentation and, 5 ms within it, by its SDK's, in traces of their own."""
    counts = {"input_tokens": 100 + number, "output_tokens": 10, "model": "m", "layer": "client"}
    start, end = 2.0 * number, 2.0 * number + 1
    return [
        record("f", start, end, trace=f"{number:032x}", instrumentation="framework", **counts, **given),
        record("s", start + 0.005, end - 0.005, trace=f"{number + 99:032x}", instrumentation="sdk", **counts, **given),
    ]


def test_a_call_that_two_instrumentations_record_is_one_where_ids_show_it() -> None:
    with_ids = [row for n in range(3) for row in told_twice(n, response_id=f"r{n}")]
    without = [row for n in range(3, 6) for row in told_twice(n)]
    assert len(join([*with_ids, *without]).requests) == 6
    assert len(join(with_ids[:4]).requests) == 2  # each by its own id
    assert len(join([*with_ids[:4], *without]).requests) == 2 + 6  # ids of two calls show too little of others


def test_calls_alike_of_two_instrumentations_that_ids_tell_apart_stay_apart() -> None:
    alike = [row | {"response_id": row["record_id"]} for n in range(6) for row in told_twice(n)]
    assert len(join(alike).requests) == 12


def test_matching_by_ids_takes_memory_in_proportion_to_the_records() -> None:
    """Pairs that an answer's id alone joins: comparing all records with all would take 2 GB for so many."""
    rows = []
    for n in range(2000):
        at, answer = n / 100, {"response_id": f"R{n}"}
        rows.append(record(f"g{n}", at, at + 5, trace=f"{n:032x}", layer="gateway", dialect="a", **answer))
        rows.append(record(f"e{n}", at + 1, at + 4, trace=f"{n + 2000:032x}", layer="engine", dialect="b", **answer))
    before_kb = getrusage(RUSAGE_SELF).ru_maxrss
    joined = join(rows)
    assert {len(attempt["record_ids"]) for attempt in joined.attempts.values()} == {2}
    assert len(joined.requests) == 2000
    assert getrusage(RUSAGE_SELF).ru_maxrss - before_kb < 600 * 1024


def passed_through(ids: dict[str, Row], start: float = 0.0) -> list[Row]:
    """A call whose gateway hands its caller's trace context on unchanged, and writes no span but a row of its log."""
    client = record("ask", start, start + 4, layer="client", dialect="sdk", **ids.get("client", {}))
    engine = record(
        "made", start + 1, start + 3, parent="ask", input_tokens=8, output_tokens=9, **ENGINE, **ids.get("engine", {})
    )
    return [client, engine, log("row", start + 0.2, start + 3.8, **{"call_id": "c1", **ids.get("log", {})})]


@pytest.mark.parametrize(
    "ids",
    [
        {name: {"response_id": "r1"} for name in ("client", "log", "engine")},
        {"log": {"response_id": "r1"}, "engine": {"response_id": "r1"}},
        {"engine": {"call_id": "c1"}},  # an engine that takes the gateway's id over, as vLLM takes Envoy's
        {"client": {"call_id": "c1"}},  # the engine knows no id, and lies in the row's time
        {"client": {"call_id": "c1"}, "log": {"input_tokens": 8}},
    ],
    ids=["all three", "log and engine", "taken over", "by time", "by time and prompt"],
)
def test_a_row_of_the_gateways_log_stands_between_a_caller_and_the_engine_below_it(ids: dict[str, Row]) -> None:
    joined = join(passed_through(ids))
    assert joined.attempt["record_ids"] == [key("ask"), "row", key("made")]
    assert (joined.request["attempts"], joined.request["retry_count"]) == (1, 0)
    assert joined.attempt["output_tokens"] == 9


def test_an_engine_that_shows_another_prompt_is_no_try_of_the_row() -> None:
    rows = passed_through({"client": {"call_id": "c1"}, "log": {"input_tokens": 9}})
    assert join(rows).request["attempts"] == 2


def test_each_try_of_a_caller_goes_below_its_own_row() -> None:
    rows = [
        record("ask", 0, 9, layer="client", dialect="sdk", covers_tries=True, call_id="c1"),
        record("first", 1, 2, parent="ask", outcome="error", response_id="r1", **ENGINE),
        record("second", 4, 8, parent="ask", response_id="r2", **ENGINE),
        log("row2", 3.9, 8.1, call_id="c1", response_id="r2"),
        log("row1", 0.9, 2.1, call_id="c1", response_id="r1", outcome="error"),
    ]
    joined = join(rows)
    assert {row["attempt_index"]: row["record_ids"] for row in joined.attempts.values()} == {
        0: ["row1", key("first")],
        1: [key("ask"), "row2", key("second")],
    }
    assert (joined.request["attempts"], joined.request["retry_count"]) == (2, 1)


def test_tries_of_the_engine_beyond_what_the_row_counts_are_the_callers_own() -> None:
    rows = passed_through({"client": {"call_id": "c1"}})
    again = record("again", 3.1, 3.6, parent="ask", **ENGINE)
    assert join([*rows, again]).request["attempts"] == 2
    assert join([*rows[:2], {**rows[2], "reported_attempts": 2}, again]).request["attempts"] == 2
