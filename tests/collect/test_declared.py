"""Dialects of the settings: which rows they read, in which units, and that nothing else changes."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from collect.telemetry import CHAT, SECOND_NS, START_NS, Row, columns, landed, put, read, settings, span
from goodput.collect.landing import source_id_of
from goodput.collect.read import open_file
from goodput.conform.derive import derive
from goodput.contracts import polars_schema

ACME: dict[str, Any] = {
    "layer": "client",
    "match": {"name": "acme.*", "scope": "acme-sdk", "attributes": {"acme.kind": ["llm", "chat?"]}},
    "fields": {
        "model": ["acme.model.used", "acme.model"],
        "input_tokens": {"attribute": "acme.in", "unit": "tokens"},
        "output_tokens": "acme.out",
        "cached_input_tokens": "acme.cached",
        "ttft_s": {"attribute": "acme.first_ms", "unit": "ms"},
        "queue_s": {"attribute": "acme.wait_us", "unit": "us"},
        "session_id": "acme.chat",
        "finish_reason": "gen_ai.response.finish_reasons",
        "streamed": "acme.stream",
        "intended_at": {"attribute": "acme.asked", "unit": "iso8601"},
        "tenant": "resource.acme.team",
    },
    "outcome": {"attribute": "acme.result", "ok": "fine", "timeout": ["late", "*deadline*"], "cancelled": "left"},
}
SAID: dict[str, object] = {
    "acme.kind": "llm",
    "acme.model": "m-1",
    "acme.in": 100,
    "acme.out": "40",
    "acme.cached": 64.0,
    "acme.first_ms": 250,
    "acme.wait_us": "1500",
    "acme.chat": "s-1",
    "gen_ai.response.finish_reasons": ["stop"],
    "acme.stream": True,
    "acme.asked": "2026-11-20T10:00:00.5+01:00",
    "acme.result": "fine",
}


def record(folder: Path, said: dict[str, object], scope: str = "acme-sdk", **given: Any) -> Row:
    """The record of one span after what follows from it is filled in."""
    whole = {"resource": {"attributes": [{"key": "acme.team", "value": {"stringValue": "blue"}}]}}
    spans = [span(given.pop("name", "acme.call"), said, **given)]
    line = json.dumps({"resourceSpans": [{**whole, "scopeSpans": [{"scope": {"name": scope}, "spans": spans}]}]})
    _, reading = open_file(landed(put(folder / "a.jsonl", line)), settings(dialects={"acme": ACME}))
    (block,) = list(reading)
    if block.ignored or block.refused:
        return {"ignored": block.ignored, "refused": [row.reason for row in block.refused]}
    (row,) = derive("serving_records", shaped(block.tables["serving_records"])).to_dicts()
    return row


def shaped(rows: pl.DataFrame) -> pl.DataFrame:
    missing = [name for name in polars_schema("serving_records") if name not in rows.columns]
    return rows.with_columns(pl.lit(None, polars_schema("serving_records")[name]).alias(name) for name in missing)


def test_each_column_is_read_in_its_unit(tmp_path: Path) -> None:
    row = record(tmp_path, SAID)
    wanted = {
        "dialect": "dialects.acme",
        "layer": "client",
        "covers_tries": False,
        "model": "m-1",
        "input_tokens": 100,
        "output_tokens": 40,
        "cached_input_tokens": 64,
        "ttft_s": 0.25,
        "queue_s": 0.0015,
        "session_id": "s-1",
        "finish_reason": "stop",
        "streamed": True,
        "intended_ns": START_NS + SECOND_NS // 2,
        "tenant": "blue",
        "outcome": "ok",
        "started_ns": START_NS,
        "ended_ns": START_NS + 2 * SECOND_NS,
        "e2e_s": 2.0,
    }
    assert columns(row, list(wanted)) == wanted


@pytest.mark.parametrize(
    ("result", "status", "outcome"),
    [
        ("fine", 2, "ok"),  # the rule comes before the status
        ("late", 0, "timeout"),
        ("upstream deadline exceeded", 0, "timeout"),
        ("left", 0, "cancelled"),
        ("other", 2, "error"),  # a value that the rule does not name leaves it to the status ...
        ("other", 0, "ok"),  # ... and to the finish reason
    ],
)
def test_the_outcome_follows_the_rule_else_the_status(tmp_path: Path, result: str, status: int, outcome: str) -> None:
    row = record(tmp_path, {**SAID, "acme.result": result}, status={"code": status})
    assert row["outcome"] == outcome


@pytest.mark.parametrize(
    ("changed", "scope", "name"),
    [
        ({"acme.kind": "tool"}, "acme-sdk", "acme.call"),
        ({}, "other-sdk", "acme.call"),
        ({}, "acme-sdk", "call"),
    ],
)
def test_a_row_that_any_part_of_the_match_excludes_is_not_read(
    tmp_path: Path, changed: dict[str, object], scope: str, name: str
) -> None:
    assert "ignored" in record(tmp_path, {**SAID, **changed}, scope, name=name)


def test_a_value_that_is_no_number_is_refused_with_the_attribute(tmp_path: Path) -> None:
    row = record(tmp_path, {**SAID, "acme.in": "many"})
    assert row["refused"] == ["attribute acme.in cannot be read as its type"]


def test_an_attribute_called_like_a_column_gives_only_the_column_that_is_mapped(tmp_path: Path) -> None:
    mine = {"layer": "client", "match": {"name": "x"}, "fields": {"model": "response_id", "tenant": "session_id"}}
    said: dict[str, object] = {"model": "wrong", "response_id": "m-2", "session_id": "t-1", "session.id": "s-2"}
    row = read(tmp_path, span("x", said), dialects={"mine": mine}).record
    assert columns(row, ["model", "tenant", "session_id"]) == {"model": "m-2", "tenant": "t-1", "session_id": "s-2"}
    assert "response_id" not in row


def test_it_comes_after_named_systems_and_before_conventions(tmp_path: Path) -> None:
    mine = {"layer": "gateway", "match": {"name": "*"}, "fields": {"model": "gen_ai.request.model"}}
    engine = span("llm_request", {"gen_ai.usage.completion_tokens": 3}, spanId="1" * 16)
    spans = [span(spanId="2" * 16), engine]
    rows = read(tmp_path, *spans, dialects={"mine": mine}).tables["serving_records"]
    assert {row["span_id"]: row["dialect"] for row in rows} == {"1" * 16: "vllm", "2" * 16: "dialects.mine"}


def test_the_same_attribute_may_give_a_text_here_and_a_number_there(tmp_path: Path) -> None:
    one = {"layer": "client", "match": {"name": "a"}, "fields": {"output_tokens": "n"}}
    two = {"layer": "client", "match": {"name": "b"}, "fields": {"session_id": "n"}}
    spans = [span("a", {"n": 7}, spanId="1" * 16), span("b", {"n": "seven"}, spanId="2" * 16)]
    rows = read(tmp_path, *spans, dialects={"one": one, "two": two}).tables["serving_records"]
    assert {row["span_id"][0]: (row.get("output_tokens"), row.get("session_id")) for row in rows} == {
        "1": (7, None),
        "2": (None, "seven"),
    }


def test_what_others_read_stays_the_same(tmp_path: Path) -> None:
    said = {**CHAT, "gen_ai.usage.input_tokens": 10, "gen_ai.response.id": "r"}
    before = read(tmp_path, span(said=said)).record
    after = read(tmp_path, span(said=said), dialects={"acme": ACME}).record
    assert {name: value for name, value in after.items() if name in before and not name.startswith("acme.")} == before


LINES: dict[str, Any] = {
    "reads": "json_lines",
    "layer": "gateway",
    "covers_tries": True,
    "match": {"attributes": {"kind": "llm.call"}},
    "fields": {
        "started_at": {"attribute": "t0", "unit": "epoch_ms"},
        "ended_at": {"attribute": "t1", "unit": "%d.%m.%Y %H:%M:%S", "tz": "Europe/Berlin"},
        "ttft_s": {"attribute": "timing.first", "unit": "ms"},
        "input_tokens": '$.usage."in"',
        "model": "model",
        "http_status": "status",
    },
}


def test_lines_of_json_are_read_by_their_paths(tmp_path: Path) -> None:
    line = {
        "kind": "llm.call",
        "t0": START_NS // 10**6,
        "t1": "20.11.2026 10:00:03",
        "timing": {"first": 120.5},
        "usage": {"in": 12},
        "model": "m",
        "status": 200,
        "text": {"layer": "engine"},
    }
    other = {"kind": "audit", "t0": 1}
    path = put(tmp_path / "calls.log", json.dumps(line), json.dumps(other), json.dumps(line))
    _, reading = open_file(landed(path), settings(dialects={"calls": LINES}))
    (block,) = list(reading)
    assert block.ignored == {"row_of_no_known_format": 1}
    first, second = block.tables["serving_records"].to_dicts()
    assert first["record_id"] == second["record_id"]  # the same line twice is one record
    wanted = {
        "dialect": "dialects.calls",
        "layer": "gateway",
        "covers_tries": True,
        "started_ns": START_NS,
        "ended_ns": START_NS + 3 * SECOND_NS,
        "ttft_s": 0.1205,
        "input_tokens": 12,
        "model": "m",
        "http_status": 200,
        "line": 1,
    }
    assert columns(first, list(wanted)) == wanted


def test_attributes_of_json_lines_are_kept_by_key_or_by_way_inwards(tmp_path: Path) -> None:
    line = {"kind": "llm.call", "t0": START_NS // 10**6, "model": "m", "meta": {"team": "blue", "size": 3}}
    dotted = line | {"meta.team": "red", "meta": None}
    path = put(tmp_path / "calls.log", *(json.dumps(one) for one in (line, dotted, {**line, "meta": {}})))
    kept = settings(dialects={"calls": LINES}, attributes={"keep": ["meta.team", "meta.size", "absent"]})
    (block,) = list(open_file(landed(path), kept)[1])
    found = [row["attributes"] and json.loads(row["attributes"]) for row in block.tables["serving_records"].to_dicts()]
    assert found == [{"meta.team": "blue", "meta.size": "3"}, {"meta.team": "red"}, None]


def test_a_change_of_a_dialect_makes_other_sources_of_the_same_bytes(tmp_path: Path) -> None:
    path = put(tmp_path / "a.jsonl", "{}")
    changed = {**ACME, "fields": {**ACME["fields"], "model": "acme.model"}}
    ids = [
        source_id_of("x", landed(path), settings(dialects=given)) for given in ({}, {"acme": ACME}, {"acme": changed})
    ]
    assert len(set(ids)) == 3
