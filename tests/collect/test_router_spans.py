"""Root spans of Dynamo and llm-d, OpenInference spans and raw Anthropic usage, by hand (telemetry 1, 4)."""

import json
from pathlib import Path

import pytest

from collect.telemetry import CHAT, SECOND_NS, START_NS, Reading, Row, attributes, columns, put, read, span
from goodput.collect.dialects.registry import LOG_DIALECTS, SPAN_DIALECTS

DYNAMO = {"method": "POST", "uri": "/v1/chat/completions", "version": "HTTP/1.1", "x_request_id": "req-17"}
LLM = {
    "openinference.span.kind": "LLM",
    "llm.system": "openai",
    "llm.model_name": "gpt-5",
    "llm.token_count.prompt": 100,
    "llm.token_count.prompt_details.cache_read": 60,
    "llm.token_count.prompt_details.cache_write": 10,
    "llm.token_count.completion": 50,
    "llm.token_count.completion_details.reasoning": 30,
    "llm.token_count.total": 150,
    "llm.cost.total": 0.0125,
    "llm.cost.prompt": 0.01,
    "llm.finish_reason": "length",
    "llm.invocation_parameters": '{"temperature": 0, "stream": true}',
    "session.id": "s-1",
    "user.id": "u-1",
}
ANTHROPIC = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "anthropic",
    "gen_ai.usage.input_tokens": 12,
    "gen_ai.usage.cache_read.input_tokens": 1000,
    "gen_ai.usage.cache_creation.input_tokens": 200,
    "gen_ai.usage.output_tokens": 5,
}


def read_scope(folder: Path, scope: str, *spans: Row) -> Reading:
    scopes = [{"scope": {"name": scope}, "spans": list(spans)}]
    return Reading(put(folder / "traces.jsonl", json.dumps({"resourceSpans": [{"scopeSpans": scopes}]})))


def test_the_root_span_of_dynamo_covers_whatever_its_workers_do(tmp_path: Path) -> None:
    workers = [
        span(name, {"x_request_id": "req-17"}, spanId=f"{i}" * 16)
        for i, name in enumerate(("prefill_routing", "handle_payload", "handle_payload"), start=1)
    ]
    reading = read(tmp_path, *workers, span("http-request", DYNAMO, kind="internal"))
    expected = {
        "dialect": "dynamo",
        "layer": "gateway",
        "covers_tries": True,
        "call_id": "req-17",
        "started_ns": START_NS,
        "ended_ns": START_NS + 2 * SECOND_NS,
        "outcome": None,  # trap 6: nothing is said, so nothing is known
    }
    assert columns(reading.record, list(expected)) == expected
    assert reading.ignored == {"span_is_no_request": 3}


DYNAMO_ANSWER = {
    **DYNAMO,
    "decode_worker_id": "11890853333673067340",
    "input_tokens": "515",
    "model": "mock-7b",
    "output_tokens": "16",
    "request.outcome": "success",
    "request_id": "fa281feb-18f8-42b1-8511-b35820056e1f",
    "ttft_ms": "57.70",
}


@pytest.mark.parametrize(("asked", "streamed"), [("unary", False), ("stream", True)])
def test_the_root_span_of_dynamo_tells_of_an_answer(tmp_path: Path, asked: str, streamed: bool) -> None:
    received = {
        "timeUnixNano": str(START_NS),
        "name": "request received",
        "attributes": attributes({"endpoint": "chat_completions", "request_type": asked}),
    }
    record = read(tmp_path, span("http-request", DYNAMO_ANSWER, kind="internal", events=[received])).record
    expected = {
        "call_id": "req-17",
        "response_id": "chatcmpl-fa281feb-18f8-42b1-8511-b35820056e1f",
        "model": "mock-7b",
        "replica": "11890853333673067340",
        "input_tokens": 515,
        "output_tokens": 16,
        "ttft_s": 0.0577,
        "streamed": streamed,
        "outcome": "ok",
    }
    assert columns(record, list(expected)) == expected


def test_a_failed_request_to_dynamo_names_no_model(tmp_path: Path) -> None:
    said = {**DYNAMO, "model": "unknown_model", "request.outcome": "error"}
    record = read(tmp_path, span("http-request", said, kind="internal", status={"code": 2})).record
    assert columns(record, ["model", "outcome", "response_id"]) == {
        "model": None,
        "outcome": "error",
        "response_id": None,
    }


def test_an_empty_id_is_none_and_links_nothing(tmp_path: Path) -> None:
    assert read(tmp_path, span("http-request", {**DYNAMO, "x_request_id": ""})).record["call_id"] is None


@pytest.mark.parametrize("uri", ["/v1/models", "/health", "/v1/embeddings", "/metrics"])
def test_other_http_requests_to_dynamo_are_none(tmp_path: Path, uri: str) -> None:
    assert read(tmp_path, span("http-request", {**DYNAMO, "uri": uri})).ignored == {"span_is_no_request": 1}


@pytest.mark.parametrize(("status", "outcome"), [({}, None), ({"code": 2, "message": "ModelServerError"}, "error")])
def test_the_router_span_of_llm_d(tmp_path: Path, status: Row, outcome: str | None) -> None:
    said = {"gen_ai.request.id": "req-17", "gen_ai.request.model": "llama"}
    router = span("gateway.request", said, kind="server", status=status)
    steps = [
        span(name, {}, spanId=f"{i}" * 16)
        for i, name in enumerate(("gateway.request_orchestration", "pick_endpoints", "llm_d.pd_proxy.decode"), start=1)
    ]
    reading = read_scope(tmp_path, "llm-d-router/pkg/epp/handlers", router, *steps)
    expected = {
        "dialect": "llm-d",
        "layer": "gateway",
        "covers_tries": True,
        "call_id": "req-17",
        "model": "llama",
        "outcome": outcome,
    }
    assert columns(reading.record, list(expected)) == expected
    assert reading.ignored == {"span_is_no_request": 3}


@pytest.mark.parametrize(
    ("scope", "read_as_request"),
    [
        ("gateway-api-inference-extension", True),
        ("gateway-api-inference-extension/bbr/extproc", False),  # an earlier step of the same request
        ("shop", False),  # others call a span so, too
    ],
)
def test_which_gateway_request_is_of_the_endpoint_picker(tmp_path: Path, scope: str, read_as_request: bool) -> None:
    reading = read_scope(tmp_path, scope, span("gateway.request", {}, kind="server"))
    assert ("serving_records" in reading.tables) is read_as_request


def test_trap_11_openinference_names(tmp_path: Path) -> None:
    record = read(tmp_path, span("ChatCompletion", LLM, kind="internal", status={"code": 1})).record
    expected = {
        "dialect": "openinference",
        "layer": "client",
        "model": "gpt-5",
        "input_tokens": 100,
        "cached_input_tokens": 60,
        "cache_write_tokens": 10,
        "output_tokens": 50,
        "reasoning_tokens": 30,
        "reported_cost_usd": 0.0125,
        "finish_reason": "length",
        "streamed": True,
        "session_id": "s-1",
        "tenant": "u-1",
        "outcome": "ok",
        "error_type": None,
    }
    assert columns(record, list(expected)) == expected


def test_trap_16_what_an_openinference_span_leaves_out_is_unknown(tmp_path: Path) -> None:
    record = read(tmp_path, span("llm", {"openinference.span.kind": "LLM", "llm.token_count.prompt": 5})).record
    told = columns(record, ["streamed", "outcome", "output_tokens", "finish_reason", "cached_input_tokens"])
    assert told == dict.fromkeys(told)


def test_a_failed_openinference_span(tmp_path: Path) -> None:
    record = read(tmp_path, span("llm", {"openinference.span.kind": "LLM"}, status={"code": 2})).record
    assert (record["outcome"], record["error_type"]) == (None, "_OTHER")


@pytest.mark.parametrize("said", [LLM, CHAT])
def test_trap_12_what_a_gateway_wrote_is_of_its_layer(tmp_path: Path, said: Row) -> None:
    assert read_scope(tmp_path, "envoyproxy/ai-gateway", span("chat", said)).record["layer"] == "gateway"


@pytest.mark.parametrize("kind", ["EMBEDDING", "CHAIN", "AGENT", "TOOL", "RETRIEVER", "RERANKER", "GUARDRAIL"])
def test_other_openinference_spans_are_no_requests(tmp_path: Path, kind: str) -> None:
    reading = read(tmp_path, span("x", {**LLM, "openinference.span.kind": kind}))
    assert reading.ignored == {"span_is_no_request": 1}


def test_a_span_in_two_vocabularies_is_one_record(tmp_path: Path) -> None:
    said = {**LLM, **CHAT, "gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 50}
    record = read(tmp_path, span(said=said)).record
    assert columns(record, ["dialect", "input_tokens", "output_tokens"]) == {
        "dialect": "genai",
        "input_tokens": 100,
        "output_tokens": 50,
    }


@pytest.mark.parametrize(
    ("said", "whole"),
    [
        ({}, 1212),  # 12 + 1000 + 200: they cannot be parts of 12
        ({"gen_ai.usage.input_tokens": 1212}, 1212),  # as the convention asks
        ({"gen_ai.provider.name": "aws.bedrock"}, 1212),
        ({"gen_ai.provider.name": "gateway", "gen_ai.request.model": "claude-opus"}, 1212),
        ({"gen_ai.provider.name": "openai"}, 12),  # absurd, and for the contract to refuse
    ],
)
def test_trap_10_anthropic_counts_cached_input_apart(tmp_path: Path, said: Row, whole: int) -> None:
    record = read(tmp_path, span(said={**ANTHROPIC, **said})).record
    assert columns(record, ["input_tokens", "cached_input_tokens", "cache_write_tokens"]) == {
        "input_tokens": whole,
        "cached_input_tokens": 1000,
        "cache_write_tokens": 200,
    }


def test_trap_10_raw_anthropic_usage_in_openinference(tmp_path: Path) -> None:
    said = {**LLM, "llm.system": "anthropic", "llm.token_count.prompt": 12}
    assert read(tmp_path, span(said=said)).record["input_tokens"] == 82  # 12 + 60 + 10


@pytest.mark.parametrize(
    "name",
    [
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.cache_read_input_tokens",
        "gen_ai.usage.cached_tokens",
    ],
)
def test_trap_11_cached_tokens_by_any_name(tmp_path: Path, name: str) -> None:
    said = {**CHAT, "gen_ai.usage.input_tokens": 10, name: 4}
    assert read(tmp_path, span(said=said)).record["cached_input_tokens"] == 4


@pytest.mark.parametrize("dialects", [SPAN_DIALECTS, LOG_DIALECTS], ids=["spans", "logs"])
def test_no_two_dialects_want_a_name_as_different_types(dialects: tuple[object, ...]) -> None:
    types: dict[str, set[str]] = {}
    for dialect in dialects:
        for wanted in dialect.wanted:  # type: ignore[attr-defined]
            types.setdefault(wanted.key, set()).add(wanted.type)
    assert {key: found for key, found in types.items() if len(found) > 1} == {}
