"""Streamed calls told in two records, until the headers and from them on, are one attempt each.

See docs/semantics.md#one-attempt-several-records.
"""

from river import Row, at_ns, join, key, record

SCOPE: Row = {"instrumentation": "logfire.openai", "model": "m", "streamed": True}


def until_headers(name: str, start: float, headers: float, **given: object) -> Row:
    return record(name, start, None, headers_ns=at_ns(headers), **{**SCOPE, **given})


def stream(name: str, began: float, end: float, **given: object) -> Row:
    told = {"output_tokens": 9, "finish_reason": "stop"}
    return record(name, began, end, headers_ns=at_ns(began), dialect="stream", **{**SCOPE, **told, **given})


def test_a_call_and_its_stream_below_one_parent_are_one_attempt() -> None:
    joined = join([until_headers("call", 0, 2, parent="p"), stream("log", 2.25, 5, parent="p")])
    attempt = joined.attempt
    assert attempt["record_ids"] == [key("call"), key("log")]
    assert (attempt["started_ns"], attempt["ended_ns"]) == (at_ns(0), at_ns(5))
    assert (attempt["e2e_s"], attempt["ttft_s"]) == (5.0, None)
    assert (attempt["outcome"], attempt["output_tokens"], attempt["finish_reason"]) == ("ok", 9, "stop")
    assert (joined.request["attempts"], joined.request["e2e_s"]) == (1, 5.0)


def test_without_a_parent_each_has_a_trace_of_its_own() -> None:
    rows = [until_headers("call", 0, 2, trace="1" * 32), stream("log", 2.001, 5, trace="2" * 32)]
    assert join(rows).request["e2e_s"] == 5.0


def test_calls_at_once_find_their_streams_each() -> None:
    rows = [
        until_headers("a", 0.0, 1.0, trace="1" * 32),
        until_headers("b", 0.5, 3.0, trace="2" * 32),
        stream("x", 1.001, 9.0, trace="3" * 32, output_tokens=1),
        stream("y", 3.001, 4.0, trace="4" * 32, output_tokens=2),
    ]
    attempts = join(rows).attempts.values()
    assert {row["output_tokens"]: (row["started_ns"], row["ended_ns"]) for row in attempts} == {
        1: (at_ns(0.0), at_ns(9.0)),
        2: (at_ns(0.5), at_ns(4.0)),
    }


def test_a_call_whose_stream_never_ended_takes_no_other_calls_stream() -> None:
    rows = [
        until_headers("lost", 0.0, 1.0, parent="p"),
        until_headers("call", 4.0, 5.0, parent="p"),
        stream("log", 5.001, 8.0, parent="p"),
    ]
    attempts = join(rows).attempts
    assert {name: row["e2e_s"] for name, row in attempts.items()} == {key("lost"): None, key("call"): 4.0}
    assert attempts[key("lost")]["outcome"] == "unknown"


def test_a_stream_whose_call_was_lost_takes_no_call_that_has_one() -> None:
    rows = [
        until_headers("call", 0.0, 1.0, parent="p"),
        stream("log", 1.001, 2.0, parent="p"),
        stream("alone", 3.0, 4.0, parent="p"),
    ]
    assert {row["e2e_s"] for row in join(rows).attempts.values()} == {2.0, 1.0}


def test_streams_of_another_application_or_parent_are_not_its() -> None:
    call = until_headers("call", 0.0, 1.0, parent="p")
    for other in (
        {"parent": "q"},
        {"parent": "p", "model": "n"},
        {"parent": "p", "instrumentation": "logfire.anthropic"},
    ):
        assert len(join([call, stream("log", 1.001, 2.0, **other)]).attempts) == 2


def test_what_ran_below_the_call_is_part_of_the_attempt() -> None:
    rows = [
        until_headers("call", 0, 2, parent="p"),
        stream("log", 2.001, 5, parent="p", output_tokens=None),
        record("engine", 0.5, 4.5, parent="call", layer="engine", dialect="engine", output_tokens=7),
    ]
    attempt = join(rows).attempt
    assert (attempt["e2e_s"], attempt["output_tokens"]) == (5.0, 7)
