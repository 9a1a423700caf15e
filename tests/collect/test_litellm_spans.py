"""LiteLLM's spans in canonical words, by hand and on what a real gateway wrote (telemetry 4b)."""

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from collect.telemetry import (
    CHAT,
    GIVEN,
    SECOND_NS,
    START_NS,
    Reading,
    Row,
    captured_spans,
    columns,
    needs_captures,
    read,
    span,
)

CALL = {
    **CHAT,
    "gen_ai.request.model": "chat-main",
    "gen_ai.response.model": "chat-main",
    "gen_ai.response.id": "chatcmpl-1",
    "gen_ai.response.finish_reasons": ["stop"],
    "gen_ai.response.time_to_first_chunk": 0.25,
    "gen_ai.usage.input_tokens": 100,
    "gen_ai.usage.prompt_tokens": 100,
    "gen_ai.usage.output_tokens": 20,
    "gen_ai.usage.completion_tokens": 20,
    "gen_ai.usage.cache_creation.input_tokens": 8,
    "gen_ai.usage.cache_read.input_tokens": 64,
    "server.address": "10.0.0.1",
    "server.port": 8101,
    "litellm.call_id": "call-1",
    "litellm.call_type": "acompletion",
    "litellm.provider.model": "openai/llama-8b",
    "litellm.cost.total": 0.0125,
    "litellm.cost.input": 0.01,
    "litellm.request.streaming": True,
    "litellm.metadata.user_api_key_end_user_id": "user-7",
}
HIDDEN = json.dumps({"model_id": "replica-b", "api_base": "http://10.0.0.2:8102/v1", "cache_key": None})
FIRST_GENERATION = {
    "gen_ai.system": "openai",
    "gen_ai.request.model": "llama-8b",
    "gen_ai.response.model": "chat-main",
    "gen_ai.usage.input_tokens": 100,
    "gen_ai.usage.output_tokens": 20,
    "gen_ai.cost.total_cost": 0.0125,
    "hidden_params": HIDDEN,
    "litellm.call_id": "call-1",
    "litellm.model_group": "chat-main",
    "litellm.provider.model": "openai/llama-8b",
    "llm.is_streaming": "True",
    "llm.request.type": "acompletion",
    "metadata.user_api_key_end_user_id": "user-7",
}
_ROUTE = "metadata.user_api_key_request_route"
HTTP = {"http.request.method": "POST", "http.route": "/v1/chat/completions", "url.path": "/v1/chat/completions"}
UNSET: Row = {}
OK: Row = {"code": 1}
ERROR: Row = {"code": 2}


def http_span(status: Row | None = None, **said: object) -> Row:
    named = {name.replace("__", "."): value for name, value in said.items()}
    return span("POST /v1/chat/completions", {**HTTP, **named}, kind="server", status=status or {})


def read_scope(folder: Path, *spans: Row, scope: str = "fastapi") -> Reading:
    export = {"resourceSpans": [{"scopeSpans": [{"scope": {"name": scope}, "spans": list(spans)}]}]}
    path = folder / "traces.jsonl"
    path.write_text(json.dumps(export) + "\n")
    return Reading(path)


def test_a_call_of_the_second_generation(tmp_path: Path) -> None:
    record = read(tmp_path, span("chat chat-main", CALL)).record
    expected = {
        "dialect": "litellm.call",
        "layer": "gateway",
        "covers_tries": False,
        "call_id": "call-1",
        "response_id": "chatcmpl-1",
        "started_ns": START_NS,
        "ended_ns": START_NS + 2 * SECOND_NS,
        "ttft_s": 0.25,
        "model": "llama-8b",
        "route": "chat-main",
        "address": "10.0.0.1:8101",
        "tenant": "user-7",
        "streamed": True,
        "input_tokens": 100,
        "cached_input_tokens": 64,
        "cache_write_tokens": 8,
        "output_tokens": 20,
        "reported_cost_usd": 0.0125,
        "finish_reason": "stop",
        "error_type": None,
    }
    assert columns(record, list(expected)) == expected


@pytest.mark.parametrize("name", ["litellm_request", "chat llama-8b"])
def test_a_call_of_the_first_generation(tmp_path: Path, name: str) -> None:
    record = read(tmp_path, span(name, FIRST_GENERATION, kind="internal", status=OK)).record
    expected = {
        "dialect": "litellm.call",
        "layer": "gateway",
        "covers_tries": False,
        "call_id": "call-1",
        "model": "llama-8b",
        "route": "chat-main",
        "address": "10.0.0.2:8102",
        "tenant": "user-7",
        "streamed": True,
        "ttft_s": None,
        "input_tokens": 100,
        "output_tokens": 20,
        "reported_cost_usd": 0.0125,
        "outcome": "ok",
    }
    assert columns(record, list(expected)) == expected


def test_trap_9_a_call_that_was_not_streamed_has_no_first_token_and_a_failed_one_tells_of_neither(
    tmp_path: Path,
) -> None:
    said = {name: value for name, value in CALL.items() if "stream" not in name and "first_chunk" not in name}
    whole = read(tmp_path, span(said=said)).record
    assert (whole["streamed"], whole["ttft_s"]) == (False, None)  # trap 9: the end is not taken for the first token
    failed = read(tmp_path, span(said={**said, "error.type": "RateLimitError"}, status=ERROR)).record
    assert (failed["streamed"], failed["error_type"], failed["address"]) == (None, "RateLimitError", "10.0.0.1:8101")


@pytest.mark.parametrize(("details", "cached"), [("{'audio_tokens': None, 'cached_tokens': 64}", 64), ("None", None)])
def test_the_first_generation_prints_its_cached_tokens(tmp_path: Path, details: str, cached: int | None) -> None:
    usage = "{'completion_tokens': 20, 'prompt_tokens': 100, 'prompt_tokens_details': " + details + "}"
    said = {**FIRST_GENERATION, "metadata.usage_object": usage}
    assert read(tmp_path, span("litellm_request", said, status=OK)).record["cached_input_tokens"] == cached


@pytest.mark.parametrize(
    ("said", "layer"), [({}, "gateway"), ({_ROUTE: "/v1/chat/completions"}, "gateway"), ({_ROUTE: ""}, "client")]
)
def test_a_call_that_came_by_no_route_is_of_a_caller_that_has_litellm_as_a_library(
    tmp_path: Path, said: Row, layer: str
) -> None:
    assert read(tmp_path, span("litellm_request", {**FIRST_GENERATION, **said}, status=OK)).record["layer"] == layer


def test_a_stream_without_usage_has_no_tokens_and_no_price(tmp_path: Path) -> None:
    uncounted = {"gen_ai.usage.input_tokens": 0, "gen_ai.usage.output_tokens": 0, "gen_ai.cost.total_cost": 0.0}
    said, counted = {**FIRST_GENERATION, **uncounted}, ["input_tokens", "output_tokens", "reported_cost_usd"]
    answered = read(tmp_path, span("litellm_request", said, status=OK)).record
    assert columns(answered, counted) == dict.fromkeys(counted)
    failed = read(tmp_path, span("litellm_request", said, status=ERROR)).record
    assert columns(failed, counted) == {"input_tokens": 0, "output_tokens": 0, "reported_cost_usd": 0.0}


@pytest.mark.parametrize(
    ("cache_hit", "address"),
    [(True, None), ("True", None), (False, "10.0.0.2:8102"), ("None", "10.0.0.2:8102")],
)
def test_an_answer_from_the_cache_of_the_gateway_names_no_address(
    tmp_path: Path, cache_hit: object, address: str | None
) -> None:
    said = {**FIRST_GENERATION, "litellm.cache_hit": cache_hit}
    record = read(tmp_path, span("litellm_request", said, status=OK)).record
    assert (record["address"], record["answered_from_cache"]) == (address, address is None)


@pytest.mark.parametrize(
    ("said", "model"),
    [
        ({"litellm.provider.model": "hosted_vllm/meta/llama", "gen_ai.provider.name": "hosted_vllm"}, "meta/llama"),
        ({"litellm.provider.model": "meta/llama"}, "meta/llama"),  # no prefix that names the provider
        ({"litellm.provider.model": "no-such-model", "gen_ai.provider.name": ""}, "no-such-model"),
    ],
)
def test_the_model_is_named_as_its_replica_names_it(tmp_path: Path, said: Row, model: str) -> None:
    assert read(tmp_path, span(said={**CALL, **said})).record["model"] == model


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ({"litellm.api_key.hash": "litellm-internal-health-check"}, "litellm_health_check"),
        ({"litellm.metadata.user_api_key_alias": "litellm-internal-health-check"}, "litellm_health_check"),
        ({"metadata.user_api_key_alias": "litellm-internal-health-check"}, "litellm_health_check"),
        ({"litellm.request.purpose": "autorouter_classifier"}, "litellm_own_call"),
        ({"litellm.call_type": "aembedding", "gen_ai.operation.name": "embeddings"}, "litellm_not_generating"),
        (
            {"litellm.call_type": "aimage_generation", "gen_ai.operation.name": "generate_content"},
            "litellm_not_generating",
        ),
        ({"litellm.call_type": "arerank"}, "litellm_not_generating"),  # operations that it does not know are "chat"
        ({"litellm.call_type": "aget_responses"}, "litellm_not_generating"),
    ],
)
def test_trap_30_calls_that_no_user_made_are_left_out_and_counted(tmp_path: Path, said: Row, rule: str) -> None:
    reading = read(tmp_path, span(said={**CALL, **said}, spanId="1" * 16), span(said=CALL))
    assert reading.ignored == {rule: 1}
    assert reading.record["call_id"] == "call-1"
    assert reading.rows_read == 2


@pytest.mark.parametrize(
    "call_type", ["completion", "acompletion", "atext_completion", "responses", "aresponses", "anthropic_messages"]
)
def test_calls_that_generate(tmp_path: Path, call_type: str) -> None:
    assert read(tmp_path, span(said={**CALL, "litellm.call_type": call_type})).record["dialect"] == "litellm.call"


def test_trap_13_a_refused_route_is_a_try_that_cost_nothing_and_blames_no_replica(tmp_path: Path) -> None:
    said = {"gen_ai.request.model": "chat-main", "error.type": "RouterRateLimitError", "server.address": "10.0.0.1"}
    routes = [
        span("route chat-main", said, kind="internal", status=ERROR, spanId="1" * 16),
        span("route chat-main", {"gen_ai.request.model": "chat-main"}, kind="internal", spanId="2" * 16),
    ]
    reading = read_scope(tmp_path, *routes, scope="litellm")
    expected = {
        "dialect": "litellm.refusal",
        "span_id": "1" * 16,
        "layer": "gateway",
        "covers_tries": False,
        "route": "chat-main",
        "replica": None,
        "model": None,
        "error_type": "RouterRateLimitError",
        "reported_cost_usd": 0.0,
    }
    assert columns(reading.record, list(expected)) == expected
    assert reading.ignored == {"span_is_no_request": 1}  # the choice that succeeded, told by the call's own span


@pytest.mark.parametrize(
    ("status", "said", "outcome"),
    [
        (ERROR, {"http__response__status_code": 200, "error__type": "ConnectionError"}, "cancelled"),  # mid-stream
        (UNSET, {"http__response__status_code": 499}, None),  # conform knows the status
        (UNSET, {"http__response__status_code": 200}, "unknown"),  # trap 6: the headers were sent, no more is known
        (OK, {"http__response__status_code": 200}, "unknown"),
        (ERROR, {"http__response__status_code": 500, "error__type": "500"}, None),
        (UNSET, {"http__response__status_code": 400}, None),
        (UNSET, {}, None),
    ],
)
def test_trap_6_the_span_of_the_http_request_tells_who_went_away(
    tmp_path: Path, status: Row, said: dict[str, object], outcome: str | None
) -> None:
    record = read_scope(tmp_path, http_span(status, **said)).record
    expected = {"dialect": "litellm.http", "layer": "gateway", "covers_tries": True, "outcome": outcome}
    assert columns(record, list(expected)) == expected
    assert record["http_status"] == said.get("http__response__status_code")


@pytest.mark.parametrize(
    ("method", "route", "generates"),
    [
        ("POST", "/chat/completions", True),
        ("POST", "/engines/{model:path}/chat/completions", True),
        ("POST", "/v1/completions", True),
        ("POST", "/v1/responses", True),
        ("POST", "/responses", True),
        ("POST", "/v1/messages", True),
        ("POST", "/v1beta/models/{model_name:path}:streamGenerateContent", True),
        ("POST", "/v1/embeddings", False),
        ("POST", "/v1/responses/{response_id}/cancel", False),
        ("POST", "/v1/threads/{thread_id}/messages", False),
        ("GET", "/v1/responses", False),
        ("GET", "/health", False),
    ],
)
def test_http_requests_of_generating_routes_alone_are_requests(
    tmp_path: Path, method: str, route: str, generates: bool
) -> None:
    reading = read_scope(tmp_path, http_span(http__request__method=method, http__route=route))
    assert ("serving_records" in reading.tables) is generates


def captured(folder: str) -> tuple[list[Row], list[Row], Reading]:
    """The spans as the file has them, the same with their attributes as a dict, and the reading."""
    path = GIVEN / folder / "otlp_traces.jsonl.gz"
    spans = captured_spans(path)
    said = [{a["key"]: next(iter(a["value"].values()), None) for a in s.get("attributes", ())} for s in spans]
    return spans, said, Reading(path)


@needs_captures
@pytest.mark.parametrize("folder", ["", "variants/v2_sdk_retries", "aiperf/gateway"])
def test_a_real_gateway_of_the_second_generation(folder: str) -> None:
    spans, said, reading = captured(folder)
    records = {row["record_id"]: row for row in reading.tables["serving_records"]}
    expected = Counter()
    for one, attributes in zip(spans, said, strict=True):
        record = records.get(f"{one['traceId']}:{one['spanId']}", {})
        told = record.get("dialect")
        expected[told] += 1
        failed = one["status"].get("code") == 2
        if one["name"].startswith("chat "):
            assert told == "litellm.call"
            assert record["address"] == f"127.0.0.1:{attributes['server.port']}"
            assert record["route"] == one["name"].removeprefix("chat ")
            assert record["reported_cost_usd"] == attributes["litellm.cost.total"]
            assert (record["error_type"] is not None) is failed
        elif one["name"].startswith("route ") and failed:
            assert (told, record["address"], record["reported_cost_usd"]) == ("litellm.refusal", None, 0.0)
        elif one["kind"] == 2 and one["name"].startswith("POST "):
            assert told == "litellm.http"
            assert (record["outcome"] == "cancelled") is (attributes.get("error.type") == "ConnectionError")
        else:
            assert told is None
    assert reading.refused == []
    assert reading.rows_read == len(spans)
    assert reading.ignored == {"span_is_no_request": expected[None]}
    if not folder:  # what a count of the names in the file gives
        assert expected == {"litellm.call": 987, "litellm.refusal": 39, "litellm.http": 927, None: 4060}


@needs_captures
@pytest.mark.parametrize("folder", ["v1_default", "v1_semconv"])
def test_a_real_gateway_of_the_first_generation(folder: str) -> None:
    spans, said, reading = captured(f"variants/{folder}")
    calls = [row for row in reading.tables["serving_records"] if row["dialect"] == "litellm.call"]
    with gzip.open(GIVEN / "variants" / folder / "litellm_standard_logging.jsonl.gz", "rt") as lines:
        payloads = [json.loads(line)["standard_logging_object"] for line in lines]
    billed = {row["litellm_call_id"]: row for row in payloads if row["status"] == "success"}
    succeeded = {row["call_id"]: row for row in calls if row["outcome"] == "ok"}
    assert succeeded.keys() == billed.keys()
    for call, row in succeeded.items():
        assert row["reported_cost_usd"] == pytest.approx(billed[call]["response_cost"], abs=1e-12)
        assert (row["input_tokens"], row["output_tokens"]) == (
            billed[call]["prompt_tokens"],
            billed[call]["completion_tokens"],
        )
        assert f"http://{row['address']}/v1" == billed[call]["api_base"].rstrip("/")
        assert row["route"] == billed[call]["model_group"]
    assert len(calls) == sum("litellm.call_id" in attributes for attributes in said)
    assert reading.rows_read == len(spans)
