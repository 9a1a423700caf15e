"""Rows held to their contract: which rule each kind of bad row breaks, and what is said of it."""

import json
import math
import random
from typing import Any

import duckdb
import polars as pl
import pytest

from goodput.collect.received import RefusedRow
from goodput.conform.enforce import Enforced, enforce, in_contract_shape
from goodput.contracts import polars_schema

START = 1_795_165_200_000_000_000
SECOND = 10**9
YEAR_2100 = 4_102_444_800_000_000_000
GOOD: dict[str, Any] = {
    "record_id": "r",
    "source_id": "s",
    "line": 3,
    "position": 7,
    "dialect": "genai",
    "layer": "client",
    "started_ns": START,
    "ended_ns": START + 2 * SECOND,
    "outcome": "ok",
}
LABEL: dict[str, Any] = {
    "record_id": "l",
    "label_id": "l",
    "source_id": "s",
    "line": 3,
    "position": 7,
    "dialect": "d",
    "subject_kind": "trace",
    "subject_id": "t",
    "evaluator": "judge",
    "score": 0.5,
    "labelled_ns": START,
    "withdrawn": False,
}


def enforced(table: str, *rows: dict[str, Any]) -> Enforced:
    frame = in_contract_shape(table, pl.DataFrame(rows, infer_schema_length=None))
    with duckdb.connect() as connection:
        return enforce(connection, table, frame)


def refused_rows(done: Enforced) -> list[RefusedRow]:
    """Those of the source that all rows here come from."""
    assert done.refused.keys() <= {"s"}
    return done.refused.get("s", [])


# Each breaks exactly one rule, so that a rule that goes missing is missed.
BAD: list[tuple[dict[str, Any], str, str]] = [
    ({"record_id": None}, "record_id_missing", "record_id is missing: NULL"),
    ({"dialect": None}, "dialect_missing", "dialect is missing: NULL"),
    ({"started_ns": None}, "started_ns_missing", "started_ns is missing: NULL"),
    ({"outcome": None}, "outcome_missing", "outcome is missing: NULL"),
    (
        {"outcome": "OK"},
        "outcome_invalid",
        "none of 'ok', 'error', 'timeout', 'cancelled', 'unknown': text of 2 characters",
    ),
    ({"layer": "proxy"}, "layer_invalid", "layer is none of 'client', 'gateway', 'engine': text of 5 characters"),
    ({"trace_id": "ABC"}, "trace_id_malformed", "trace_id is malformed: text of 3 characters"),
    ({"trace_id": "A" * 32}, "trace_id_malformed", "trace_id is malformed: text of 32 characters"),
    ({"span_id": "0" * 15}, "span_id_malformed", "span_id is malformed: text of 15 characters"),
    ({"parent_span_id": "x" * 16}, "parent_span_id_malformed", "parent_span_id is malformed: text of 16 characters"),
    ({"line": 0}, "line_out_of_range", "line breaks line >= 1: 0"),
    ({"position": -1}, "position_out_of_range", "position breaks position >= 0: -1"),
    ({"started_ns": 5 * SECOND, "ended_ns": None}, "started_ns_out_of_range", ": 5000000000"),  # a monotonic clock
    ({"started_ns": START, "ended_ns": 2**63 - 1}, "ended_ns_out_of_range", ": 9223372036854775807"),
    ({"intended_ns": -1}, "intended_ns_out_of_range", ": -1"),
    ({"ttft_s": -0.001}, "ttft_s_out_of_range", ": -0.001"),
    ({"ttft_s": math.nan}, "ttft_s_out_of_range", ": nan"),
    ({"e2e_s": math.inf}, "e2e_s_out_of_range", ": inf"),
    ({"e2e_s": 1e300, "ended_ns": None}, "e2e_s_out_of_range", ": 1e+300"),
    ({"queue_s": -math.inf}, "queue_s_out_of_range", ": -inf"),
    ({"prefill_s": math.nan}, "prefill_s_out_of_range", ": nan"),
    ({"decode_s": -1.0}, "decode_s_out_of_range", ": -1"),
    ({"itl_p95_s": math.nan}, "itl_p95_s_out_of_range", ": nan"),
    ({"jitter_s": -2.0}, "jitter_s_out_of_range", ": -2"),
    ({"input_tokens": -1}, "input_tokens_out_of_range", "1000000000: -1"),
    ({"output_tokens": -5}, "output_tokens_out_of_range", ": -5"),
    ({"http_status": 1000}, "http_status_out_of_range", ": 1000"),
    ({"http_status": 2**40}, "http_status_out_of_range", ": 1099511627776"),
    ({"preemptions": -1}, "preemptions_out_of_range", ": -1"),
    ({"preemptions": 2**62}, "preemptions_out_of_range", ": 4611686018427387904"),
    ({"reported_cost_usd": math.inf}, "reported_cost_usd_out_of_range", ": inf"),
    ({"reported_cost_usd": 1e300}, "reported_cost_usd_out_of_range", ": 1e+300"),
    ({"ended_ns": START - 1}, "ends_before_start", "ended before it started"),
    ({"started_ns": 1_577_836_800 * SECOND, "ended_ns": YEAR_2100}, "lasts_too_long", "more than 31 years"),
    ({"first_token_ns": START - 1}, "first_token_before_start", "first token before the start"),
    ({"first_token_ns": START + 2 * SECOND + 1_000_001}, "first_token_after_end", "first token after the end"),
    ({"ttft_s": 1.5, "e2e_s": 1.4}, "ttft_beyond_e2e", "time to first token is longer than the whole request"),
    ({"input_tokens": 5, "cached_input_tokens": 6}, "cached_beyond_input", "more cached than input tokens"),
    ({"input_tokens": 5, "cache_write_tokens": 6}, "cache_write_beyond_input", "more cache-write than input tokens"),
    ({"output_tokens": 5, "reasoning_tokens": 6}, "reasoning_beyond_output", "more reasoning than output tokens"),
    ({"draft_tokens": 5, "accepted_draft_tokens": 6}, "accepted_beyond_draft", "more accepted than drafted tokens"),
]


@pytest.mark.parametrize(("given", "rule", "said"), BAD, ids=[f"{rule}-{n}" for n, (_, rule, _) in enumerate(BAD)])
def test_a_bad_record_is_refused_with_its_place_rule_and_value(given: dict[str, Any], rule: str, said: str) -> None:
    done = enforced("serving_records", {**GOOD, **given})
    assert done.kept.height == 0
    (refused,) = refused_rows(done)
    row = {**GOOD, **given}
    assert (refused.line, refused.position, refused.table_name) == (row["line"], row["position"], "serving_records")
    assert refused.rule == rule
    assert said in refused.reason
    assert ";" not in refused.reason


EDGES: list[dict[str, Any]] = [
    {},
    {"started_ns": 1_577_836_800_000_000_000, "ended_ns": None},  # 2020
    {"started_ns": YEAR_2100, "ended_ns": YEAR_2100},
    {"ended_ns": START},
    {"first_token_ns": START},
    {"first_token_ns": START + 2 * SECOND + 1_000_000},  # clocks of one machine within a millisecond
    {"ttft_s": 0.0, "e2e_s": 0.0},
    {"ttft_s": 1.001, "e2e_s": 1.0},
    {"input_tokens": 5, "cached_input_tokens": 5, "cache_write_tokens": 5},
    {"cached_input_tokens": 7},  # of an unknown number
    {"http_status": 0},
    {"http_status": 999},
]


@pytest.mark.parametrize("given", EDGES, ids=str)
def test_what_lies_on_the_edge_or_is_not_told_holds(given: dict[str, Any]) -> None:
    done = enforced("serving_records", {**GOOD, **given})
    assert done.refused == {}
    assert done.kept.height == 1


@pytest.mark.parametrize("instant", [-(2**63), -1, 2**63 - 1])
@pytest.mark.parametrize("column", ["started_ns", "ended_ns", "first_token_ns", "intended_ns"])
def test_an_instant_at_either_end_of_its_type_is_refused(instant: int, column: str) -> None:
    done = enforced("serving_records", GOOD, {**GOOD, column: instant})
    assert done.kept.height == len(refused_rows(done)) == 1


@pytest.mark.parametrize("table", ["serving_records", "sample_records", "label_records", "event_records", "cost_lines"])
def test_no_rule_stops_at_numbers_at_the_ends_of_their_types(table: str) -> None:
    chance = random.Random(5)
    edges: dict[Any, list[Any]] = {
        pl.Int64: [-(2**63), 2**63 - 1, START, 0, None],
        pl.Int32: [-(2**31), 2**31 - 1, 0, None],
        pl.Float64: [-1.7976931348623157e308, 1.7976931348623157e308, math.inf, math.nan, 0.0, None],
    }
    drawn = {
        name: pl.Series([chance.choice(edges[dtype]) for _ in range(3000)], dtype=dtype)
        for name, dtype in polars_schema(table).items()
        if dtype in edges
    }
    frame = in_contract_shape(table, pl.DataFrame(drawn).with_columns(source_id=pl.lit("s")))
    with duckdb.connect() as connection:
        done = enforce(connection, table, frame)
    assert done.kept.height + len(refused_rows(done)) == frame.height


BAD_LABELS: list[tuple[dict[str, Any], str]] = [
    ({"subject_kind": None, "subject_id": None}, "subject_kind_missing"),
    ({"subject_kind": "user"}, "subject_kind_invalid"),
    ({"evaluator": None}, "evaluator_missing"),
    ({"labelled_ns": None}, "labelled_ns_missing"),
    ({"labelled_ns": 7}, "labelled_ns_out_of_range"),
    ({"score": None}, "nothing_judged"),
    ({"score": math.nan}, "score_not_finite"),
    ({"score": math.inf, "passed": True}, "score_not_finite"),
]


@pytest.mark.parametrize(("given", "rule"), BAD_LABELS, ids=str)
def test_a_bad_label_is_refused(given: dict[str, Any], rule: str) -> None:
    (refused,) = refused_rows(enforced("label_records", {**LABEL, **given}))
    assert (refused.table_name, refused.rule) == ("label_records", rule)


@pytest.mark.parametrize(
    "given", [{}, {"score": -3.5}, {"score": None, "label": "fail"}, {"score": None, "passed": False}], ids=str
)
def test_a_label_that_says_anything_holds(given: dict[str, Any]) -> None:
    assert enforced("label_records", {**LABEL, **given}).refused == {}


def test_a_label_may_take_back_without_judging() -> None:
    assert enforced("label_records", {**LABEL, "score": None, "withdrawn": True}).refused == {}


FIVE_YEARS_NS = (5 * 365 + 2) * 86400 * SECOND  # two of any five in a row may be leap years
CHARGE: dict[str, Any] = {
    **{
        "record_id": "c",
        "cost_id": "c",
        "source_id": "s",
        "line": 3,
        "position": 7,
        "dialect": "d",
        "basis": "billing",
    },
    **{"period_start_ns": START, "period_end_ns": START + SECOND, "amount_usd": 1.0},
}


@pytest.mark.parametrize(
    ("start_ns", "length_ns", "rules"),
    [
        (START, FIVE_YEARS_NS, []),
        (START, FIVE_YEARS_NS + 1, ["period_too_long"]),
        (1_577_836_800 * SECOND, YEAR_2100 - 1_577_836_800 * SECOND, ["period_too_long"]),
        (-(2**63), 2**64 - 1, ["period_start_ns_out_of_range"]),  # nor does the length of it overflow
    ],
)
def test_one_charge_is_of_no_more_than_five_years(start_ns: int, length_ns: int, rules: list[str]) -> None:
    """Each day of a period has an account of its own: a period of 80 years alone would be 29,220."""
    charge = {**CHARGE, "period_start_ns": start_ns, "period_end_ns": start_ns + length_ns}
    assert [row.rule for row in refused_rows(enforced("cost_lines", charge))] == rules


@pytest.mark.parametrize(
    ("amount", "currency", "rules"),
    [
        (1e9, None, []),
        (-1e9, "USD", []),
        (1.1e9, None, ["amount_not_believed"]),
        (-1e12, "USD", ["amount_not_believed"]),
        (1e12, "IRR", []),  # some 24 million US dollars
    ],
)
def test_a_charge_is_of_no_more_than_a_billion_dollars(amount: float, currency: str | None, rules: list[str]) -> None:
    charge = {**CHARGE, "amount_usd": amount, "currency": currency}
    assert [row.rule for row in refused_rows(enforced("cost_lines", charge))] == rules


def test_every_rule_that_is_broken_is_named_the_first_one_first() -> None:
    (refused,) = refused_rows(
        enforced("serving_records", {**GOOD, "layer": "proxy", "ttft_s": -1.0, "ended_ns": START - 1})
    )
    assert refused.rule == "layer_invalid"
    assert refused.reason.split("; ") == [
        "layer is none of 'client', 'gateway', 'engine': text of 5 characters",
        "ttft_s breaks ttft_s >= 0 AND ttft_s <= 1000000000 AND isfinite(ttft_s): -1.0",
        "ended before it started",
    ]


def test_good_rows_stay_as_they_are_in_the_order_of_the_file() -> None:
    rows = [{**GOOD, "record_id": f"r{n}", "line": n, "ttft_s": -1.0 if n % 3 == 0 else 0.1} for n in range(1, 10)]
    done = enforced("serving_records", *rows)
    assert done.kept["line"].to_list() == [1, 2, 4, 5, 7, 8]
    assert sorted(row.line for row in refused_rows(done)) == [3, 6, 9]
    expected = in_contract_shape("serving_records", pl.DataFrame([row for row in rows if row["ttft_s"] > 0]))
    assert done.kept.equals(expected)
    assert done.kept.schema == expected.schema


def test_of_text_that_breaks_a_rule_only_its_length_is_told() -> None:
    """What was mapped to the wrong column may be what a user wrote."""
    prompt = "my pin is 4711, please"
    for column in ("outcome", "layer", "trace_id"):
        (refused,) = refused_rows(enforced("serving_records", {**GOOD, column: prompt}))
        assert refused.reason.endswith(": text of 22 characters")
        assert "4711" not in refused.reason


def test_the_excerpt_shows_the_row_cut_short() -> None:
    (refused,) = refused_rows(enforced("serving_records", {**GOOD, "model": "m" * 500, "layer": "proxy"}))
    assert refused.excerpt is not None
    assert refused.excerpt.startswith('{"record_id":"r","line":3,"position":7,')
    assert len(refused.excerpt) == 300
    assert "source_id" not in refused.excerpt


def test_the_excerpt_of_a_short_row_is_json() -> None:
    quarantine = {"source_id": "s", "path": "p", "line": -1, "position": 0, "rule": "r", "reason": 'says "x"'}
    (refused,) = refused_rows(enforced("quarantine", quarantine))
    assert json.loads(refused.excerpt or "")["reason"] == 'says "x"'


def test_the_shape_of_the_contract_is_filled_with_nulls_and_loses_what_is_not_in_it() -> None:
    shaped = in_contract_shape("span_links", pl.DataFrame({"span_id": ["a"], "other": [1], "line": [1]}))
    assert shaped.columns == [
        *("link_id", "source_id", "line", "position", "trace_id", "span_id", "parent_span_id", "ended_ns"),
        *("marks_try", "session_id", "outcome", "error_type"),
    ]
    assert shaped.row(0) == (None, None, 1, None, None, "a", *[None] * 6)
    assert shaped.schema["position"] == pl.Int32


def test_refused_rows_are_told_apart_by_their_source() -> None:
    rows = [{**GOOD, "source_id": name, "line": n, "ttft_s": -1.0} for n, name in enumerate("aba", 1)]
    done = enforced("serving_records", *rows, GOOD)
    assert {name: [row.line for row in found] for name, found in done.refused.items()} == {"a": [1, 3], "b": [2]}
    assert done.kept["source_id"].to_list() == ["s"]
