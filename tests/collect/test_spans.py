"""Each dialect in canonical words: hand-written spans and events in, canonical values out (telemetry 1-2)."""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from collect.telemetry import (
    CHAT,
    GIVEN,
    PARENT,
    SECOND_NS,
    SPAN,
    START_NS,
    TRACE,
    Reading,
    Row,
    columns,
    landed,
    log,
    logs_line,
    needs_captures,
    put,
    read,
    read_blocks,
    settings,
    span,
    spans_line,
)
from goodput.collect.read import open_file
from goodput.errors import SourceRefused

# telemetry 2a, the real capture of vLLM 0.29.0: the parts do not add up to the whole, nor the whole to the span.
VLLM = {
    "gen_ai.request.id": "chatcmpl-0b1c",
    "gen_ai.usage.prompt_tokens": 31,
    "gen_ai.usage.completion_tokens": 16,
    "gen_ai.latency.time_to_first_token": 0.11555,
    "gen_ai.latency.time_in_queue": 5.46e-5,
    "gen_ai.latency.time_in_model_prefill": 0.05781,
    "gen_ai.latency.time_in_model_decode": 0.13830,
    "gen_ai.latency.e2e": 0.25360,
    "gen_ai.request.top_p": 0.9,
    "gen_ai.request.n": 1,
}
EVALUATION = {
    "gen_ai.evaluation.name": "groundedness",
    "gen_ai.evaluation.score.value": 0.75,
    "gen_ai.evaluation.score.label": "pass",
}


def vllm_span(said: dict[str, Any] | None = None, **given: object) -> Row:
    end = START_NS + 254_920_000
    return span(
        "llm_request", VLLM if said is None else said, **{"kind": "server", "endTimeUnixNano": str(end), **given}
    )


def test_trap_8_the_ttft_of_vllm_spans_holds_the_queue_and_is_taken_as_it_stands(tmp_path: Path) -> None:
    resource = {"service.name": "vllm-llama", "k8s.pod.uid": "pod-7", "vllm.process_id": "1"}
    record = read(tmp_path, vllm_span(), resource=resource).record
    said = {
        "dialect": "vllm",
        "layer": "engine",
        "record_id": f"{TRACE}:{SPAN}",
        "trace_id": TRACE,
        "span_id": SPAN,
        "parent_span_id": PARENT,
        "response_id": "chatcmpl-0b1c",
        "model": None,  # V1 does not say it
        "started_ns": START_NS,
    }
    assert columns(record, list(said)) == said
    measured = {
        "ttft_s": 0.11555,
        "queue_s": 5.46e-5,
        "prefill_s": 0.05781,
        "decode_s": 0.13830,
        "e2e_s": 0.25360,
        "input_tokens": 31,
        "output_tokens": 16,
    }
    assert columns(record, list(measured)) == measured
    assert record["ended_ns"] is None  # not the flush of the span, 1.3 ms later: conform adds e2e to the start
    assert (record["replica"], record["pool"], record["outcome"]) == ("pod-7", "vllm-llama", None)


def test_a_vllm_span_without_e2e_ends_where_the_span_ends(tmp_path: Path) -> None:
    assert read(tmp_path, vllm_span({"gen_ai.usage.prompt_tokens": 1})).record["ended_ns"] == START_NS + 254_920_000


def test_a_vllm_span_with_error_status_failed(tmp_path: Path) -> None:
    assert read(tmp_path, vllm_span(status={"code": 2})).record["outcome"] == "error"


def test_vllm_v0_names_its_model(tmp_path: Path) -> None:
    assert read(tmp_path, vllm_span({**VLLM, "gen_ai.response.model": "llama"})).record["model"] == "llama"


def test_current_genai_names(tmp_path: Path) -> None:
    said = {
        **CHAT,
        "gen_ai.request.model": "alias",
        "gen_ai.response.model": "llama-3",
        "gen_ai.response.id": "resp-1",
        "gen_ai.conversation.id": "conv-1",
        "gen_ai.request.stream": True,
        "gen_ai.response.time_to_first_chunk": 0.25,
        "gen_ai.response.finish_reasons": ["length", "stop"],
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.cache_read.input_tokens": 60,
        "gen_ai.usage.cache_write.input_tokens": 20,
        "gen_ai.usage.output_tokens": 50,
        "gen_ai.usage.reasoning.output_tokens": 30,
        "server.address": "10.0.0.8",
        "server.port": 8000,
        "http.response.status_code": 200,
        "user.id": "u-1",
    }
    record = read(tmp_path, span(said=said)).record
    expected = {
        "dialect": "genai",
        "layer": "client",
        "started_ns": START_NS,
        "ended_ns": START_NS + 2 * SECOND_NS,
        "model": "llama-3",
        "response_id": "resp-1",
        "session_id": "conv-1",
        "streamed": True,
        "ttft_s": 0.25,
        "finish_reason": "length",
        "input_tokens": 100,
        "cached_input_tokens": 60,
        "cache_write_tokens": 20,
        "output_tokens": 50,
        "reasoning_tokens": 30,
        "address": "10.0.0.8:8000",
        "http_status": 200,
        "error_type": None,
        "tenant": "u-1",
        "request_key": None,
    }
    assert columns(record, list(expected)) == expected


def test_trap_11_deprecated_genai_names(tmp_path: Path) -> None:
    said = {
        "gen_ai.system": "az.ai.openai",
        "gen_ai.request.model": "gpt",
        "gen_ai.usage.prompt_tokens": 10,
        "gen_ai.usage.completion_tokens": 5,
        "gen_ai.usage.cache_read_input_tokens": 4,
        "gen_ai.usage.cache_creation.input_tokens": 3,
        "http.status_code": 200,
        "server.address": "api.example.com",
    }
    record = read(tmp_path, span("openai.chat", said, kind="internal")).record
    expected = {
        "dialect": "genai",
        "model": "gpt",
        "input_tokens": 10,
        "output_tokens": 5,
        "cached_input_tokens": 4,
        "cache_write_tokens": 3,
        "http_status": 200,
        "address": "api.example.com",
        "streamed": None,
    }
    assert columns(record, list(expected)) == expected


def test_trap_11_a_current_name_wins_over_its_deprecated_one_and_nothing_is_added(tmp_path: Path) -> None:
    said = {**CHAT, "gen_ai.usage.prompt_tokens": 99, "gen_ai.usage.input_tokens": 10}
    assert read(tmp_path, span(said=said)).record["input_tokens"] == 10


@pytest.mark.parametrize(("kind", "layer"), [("client", "client"), ("internal", "client"), ("server", "gateway")])
def test_who_recorded_a_genai_span(tmp_path: Path, kind: str, layer: str) -> None:
    assert read(tmp_path, span(kind=kind)).record["layer"] == layer


@pytest.mark.parametrize(
    ("said", "streamed"),
    [
        ({"gen_ai.provider.name": "openai"}, None),  # several emitters leave it out of streams too
        ({"gen_ai.provider.name": "openai", "gen_ai.request.stream": True}, True),
        ({"gen_ai.provider.name": "openai", "gen_ai.request.stream": False}, False),
        ({"gen_ai.provider.name": "openai", "gen_ai.response.time_to_first_chunk": 0.1}, True),
        ({"gen_ai.system": "openai"}, None),
        ({"gen_ai.system": "openai", "gen_ai.request.stream": True}, True),
    ],
)
def test_trap_16_an_absent_stream_attribute_says_nothing(
    tmp_path: Path, said: dict[str, object], streamed: bool | None
) -> None:
    assert read(tmp_path, span(said={"gen_ai.operation.name": "chat", **said})).record["streamed"] is streamed


@pytest.mark.parametrize(
    ("said", "status", "error_type"),
    [
        ({}, {}, None),  # UNSET says nothing
        ({}, {"code": 1}, None),
        ({}, {"code": 2}, "_OTHER"),
        ({"error.type": "timeout"}, {"code": 2}, "timeout"),
        ({"error.type": "429"}, {}, "429"),
        ({"gen_ai.response.finish_reasons": ["stop", "error"]}, {}, "_OTHER"),
    ],
)
def test_what_failed_in_a_genai_span(
    tmp_path: Path, said: dict[str, object], status: Row, error_type: str | None
) -> None:
    assert read(tmp_path, span(said={**CHAT, **said}, status=status)).record["error_type"] == error_type


@pytest.mark.parametrize(
    "said",
    [
        {"gen_ai.operation.name": "embeddings", "gen_ai.usage.input_tokens": 5},
        {"gen_ai.operation.name": "invoke_agent", "gen_ai.usage.input_tokens": 5},
        {"gen_ai.operation.name": "execute_tool"},
        {"gen_ai.operation.name": "invoke_workflow"},
        {"gen_ai.operation.name": "retrieval"},
        {"gen_ai.operation.name": "fetch_response", "gen_ai.provider.name": "openai"},
        {"gen_ai.request.model": "m"},  # routing spans name a model too
        {"gen_ai.system": "openai", "gen_ai.request.model": "m"},  # no usage, so no request
        {"http.route": "/v1/chat/completions"},
    ],
)
def test_spans_that_are_no_requests_are_counted_and_only_link(tmp_path: Path, said: dict[str, object]) -> None:
    reading = read(tmp_path, span("other", said))
    is_said_to_be_another = "gen_ai.operation.name" in said
    assert reading.ignored == {"span_is_no_request" if is_said_to_be_another else "span_looks_like_call:other": 1}
    assert reading.rows_read == 1
    (link,) = reading.tables.pop("span_links")
    assert reading.tables == {}
    assert columns(link, ["link_id", "trace_id", "span_id", "parent_span_id", "ended_ns"]) == {
        "link_id": f"{TRACE}:{SPAN}",
        "trace_id": TRACE,
        "span_id": SPAN,
        "parent_span_id": PARENT,
        "ended_ns": START_NS + 2 * SECOND_NS,
    }


def test_a_root_that_is_no_request_links_nothing(tmp_path: Path) -> None:
    reading = read(tmp_path, span("other", {}, parentSpanId=""))
    assert reading.tables["span_links"] == []
    assert reading.ignored == {"span_is_no_request": 1}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"said": {"session.id": "chat-1"}}, ("chat-1", None, None)),
        ({"status": {"code": 2}}, (None, None, "_OTHER")),
        ({"said": {"error.type": "ValueError"}, "status": {"code": 2}}, (None, None, "ValueError")),
        ({"status": {"code": 2, "message": "Request timed out."}}, (None, "timeout", "_OTHER")),
        ({"said": {"error.type": "ValueError"}, "status": {"code": 1}, "parentSpanId": PARENT}, (None, None, None)),
    ],
)
def test_a_span_that_is_no_request_tells_its_session_and_how_it_failed(
    tmp_path: Path, given: dict[str, Any], told: tuple[str | None, ...]
) -> None:
    (link,) = read(tmp_path, span("agent", **{"said": {}, "parentSpanId": "", **given})).tables["span_links"]
    assert (link["session_id"], link["outcome"], link["error_type"]) == told


@pytest.mark.parametrize("operation", ["chat", "text_completion", "generate_content", "completion"])
def test_generating_operations_are_requests(tmp_path: Path, operation: str) -> None:
    assert read(tmp_path, span(said={"gen_ai.operation.name": operation})).record["dialect"] == "genai"


def test_an_attribute_that_is_no_such_type_is_refused_with_its_place(tmp_path: Path) -> None:
    bad = {**CHAT, "gen_ai.usage.output_tokens": "many"}
    reading = read(tmp_path, span(spanId="1" * 16), span(said=bad, spanId="2" * 16), span(spanId="3" * 16))
    (refused,) = reading.refused
    assert (refused.line, refused.position, refused.table_name) == (1, 1, "serving_records")
    assert refused.rule == "attribute_unreadable"
    assert refused.reason == "attribute gen_ai.usage.output_tokens cannot be read as its type"
    assert [row["span_id"] for row in reading.tables["serving_records"]] == ["1" * 16, "3" * 16]
    assert reading.rows_read == 3


def test_an_unreadable_attribute_of_a_span_that_is_no_request_matters_to_nobody(tmp_path: Path) -> None:
    reading = read(tmp_path, span("route m", {"gen_ai.usage.output_tokens": "many"}))
    assert reading.refused == []
    assert reading.ignored == {"span_is_no_request": 1}


def test_lines_that_cannot_be_read_are_refused_and_the_others_stay(tmp_path: Path) -> None:
    path = put(tmp_path / "t.jsonl", spans_line(span()), '{"resourceSpans": 7}', "not json", spans_line(span("x", {})))
    reading = Reading(path)
    assert [(row.line, row.table_name, row.rule) for row in reading.refused] == [
        (2, None, "line_unreadable"),
        (3, None, "line_unreadable"),
    ]
    assert reading.rows_read == 4


def test_metrics_are_counted_and_left_out(tmp_path: Path) -> None:
    points = {"metrics": [{"name": "m", "sum": {"dataPoints": [{"asInt": "1"}, {"asInt": "2"}]}}]}
    line = json.dumps({"resourceMetrics": [{"scopeMetrics": [points]}]})
    reading = Reading(put(tmp_path / "m.jsonl", line))
    assert (reading.rows_read, reading.ignored, reading.tables) == (2, {"metric_unknown": 2}, {})


def test_a_configured_attribute_of_the_span_comes_before_its_resource(tmp_path: Path) -> None:
    configured = {"attributes": {"tenant": ["org", "team"], "route": "route.name", "request_key": ["idem"]}}
    spans = [
        span(said={**CHAT, "team": "t-span", "idem": "k-1"}, spanId="1" * 16),
        span(said={**CHAT, "org": "o-span", "team": "t-span"}, spanId="2" * 16),
        span(said={**CHAT}, spanId="3" * 16),
    ]
    reading = read(tmp_path, *spans, resource={"org": "o-resource", "route.name": "fast"}, **configured)
    found = [columns(row, ["tenant", "route", "request_key"]) for row in reading.tables["serving_records"]]
    assert found == [
        {"tenant": "t-span", "route": "fast", "request_key": "k-1"},
        {"tenant": "o-span", "route": "fast", "request_key": None},
        {"tenant": "o-resource", "route": "fast", "request_key": None},
    ]


def test_the_resource_of_a_caller_never_names_the_replica_or_the_pool(tmp_path: Path) -> None:
    resource = {"service.name": "gateway", "service.instance.id": "gw-0", "k8s.pod.uid": "gw-pod"}
    record = read(tmp_path, span(), resource=resource).record
    assert (record["replica"], record["pool"]) == (None, None)
    engine = read(tmp_path, vllm_span(), resource=resource).record
    assert (engine["replica"], engine["pool"]) == ("gw-pod", "gateway")


@pytest.mark.parametrize(
    ("resource", "replica", "names"),
    [
        ({"k8s.pod.name": "vllm-0", "k8s.pod.uid": "u1", "service.instance.id": "i1"}, "vllm-0", "vllm-0 u1 i1"),
        ({"service.instance.id": "i2", "k8s.pod.uid": "u1"}, "u1", "u1 i2"),
        ({"service.instance.id": "i1"}, "i1", None),
        ({"host.name": "h1"}, "h1", None),
        ({}, None, None),
    ],
)
def test_trap_25_a_process_has_several_names_and_the_lasting_one_counts(
    tmp_path: Path, resource: Row, replica: str | None, names: str | None
) -> None:
    record = read(tmp_path, vllm_span(), resource=resource).record
    assert (record["replica"], record["replica_names"]) == (replica, names)


def test_what_a_client_calls_is_an_address_and_no_replica(tmp_path: Path) -> None:
    record = read(tmp_path, span(said={**CHAT, "server.address": "10.0.0.8", "server.port": 8000})).record
    assert (record["address"], record["replica"]) == ("10.0.0.8:8000", None)


def test_the_resource_of_an_engine_may_name_its_model_and_that_of_a_caller_may_not(tmp_path: Path) -> None:
    resource = {"gen_ai.request.model": "llama-8b"}
    silent = {name: value for name, value in CHAT.items() if not name.endswith(".model")}
    assert read(tmp_path, vllm_span(), resource=resource).record["model"] == "llama-8b"
    assert read(tmp_path, span(said=silent), resource=resource).record["model"] is None


@pytest.mark.parametrize("call", [span(), vllm_span()], ids=["genai", "vllm"])
def test_trap_27_where_no_conversation_is_named_there_is_no_session(tmp_path: Path, call: Row) -> None:
    assert read(tmp_path, call).record["session_id"] is None


def test_a_span_that_names_its_replica_and_pool_is_believed(tmp_path: Path) -> None:
    said = {**CHAT, "service.instance.id": "r-1", "service.name": "pool-a", "server.address": "10.0.0.1"}
    record = read(tmp_path, span(said=said)).record
    assert (record["replica"], record["pool"]) == ("r-1", "pool-a")


def test_settings_may_name_an_attribute_of_the_resource_and_fields_of_the_span(tmp_path: Path) -> None:
    configured = {"attributes": {"pool": ["resource.service.name"], "route": ["name"]}}
    record = read(tmp_path, span("chat fast"), resource={"service.name": "edge"}, **configured).record
    assert (record["pool"], record["route"]) == ("edge", "chat fast")


def test_attributes_called_as_canonical_columns_are_not_mistaken_for_them(tmp_path: Path) -> None:
    said = {**CHAT, "gen_ai.request.model": "llama", "model": "canary", "tenant": "t-1", "dialect": "swiss"}
    configured = {"attributes": {"route": ["model"], "tenant": ["tenant"], "request_key": ["dialect"]}}
    record = read(tmp_path, span(said=said), **configured).record
    found = columns(record, ["model", "route", "tenant", "request_key", "dialect"])
    assert found == {
        "model": "llama",
        "route": "canary",
        "tenant": "t-1",
        "request_key": "swiss",
        "dialect": "genai",
    }


def test_attributes_that_workloads_match_on_travel_as_text(tmp_path: Path) -> None:
    names = [
        "gen_ai.request.stream",
        "gen_ai.response.finish_reasons",
        "http.response.status_code",
        "team",
        "deployment.environment.name",
    ]
    match = {"qa": {"match": {"attributes": dict.fromkeys(names, "*")}}}
    said = {
        **CHAT,
        "gen_ai.request.stream": True,
        "gen_ai.response.finish_reasons": ["stop", "length"],
        "http.response.status_code": 200,
    }
    record = read(tmp_path, span(said=said), resource={"deployment.environment.name": "prod"}, workloads=match).record
    assert json.loads(record["attributes"]) == {
        "gen_ai.request.stream": "true",
        "gen_ai.response.finish_reasons": "stop,length",
        "http.response.status_code": "200",
        "deployment.environment.name": "prod",
    }
    assert read(tmp_path, span(said=said)).record["attributes"] is None


@pytest.mark.parametrize(
    ("ids", "kind", "subject"),
    [
        ({"traceId": TRACE, "spanId": SPAN}, "span", f"{TRACE}:{SPAN}"),
        ({"traceId": TRACE.upper(), "spanId": SPAN.upper()}, "span", f"{TRACE}:{SPAN}"),
        ({"traceId": TRACE, "response": "resp-1"}, "response", "resp-1"),
        ({"response": "resp-1"}, "response", "resp-1"),
        ({"traceId": TRACE}, "trace", TRACE),
        ({}, None, None),  # the contract refuses it
    ],
)
def test_what_an_evaluation_judges(tmp_path: Path, ids: dict[str, str], kind: str | None, subject: str | None) -> None:
    said = {**EVALUATION, "gen_ai.response.id": ids["response"]} if "response" in ids else EVALUATION
    context = {name: value for name, value in ids.items() if name != "response"}
    label = Reading(put(tmp_path / "logs.jsonl", logs_line(log(said, **context)))).label
    assert (label["subject_kind"], label["subject_id"]) == (kind, subject)
    assert label["response_id"] == ids.get("response")


def test_what_an_evaluation_says(tmp_path: Path) -> None:
    label = Reading(put(tmp_path / "logs.jsonl", logs_line(log(EVALUATION, traceId=TRACE)))).label
    expected = {
        "dialect": "gen_ai.evaluation.result",
        "evaluator": "groundedness",
        "score": 0.75,
        "label": "pass",
        "labelled_ns": START_NS + 60 * SECOND_NS,
        "withdrawn": False,
    }
    assert columns(label, list(expected)) == expected
    assert label["label_id"] == label["record_id"]


def test_older_emitters_name_the_event_in_an_attribute_and_the_time_as_observed(tmp_path: Path) -> None:
    said = {**EVALUATION, "event.name": "gen_ai.evaluation.result"}
    old = log(said, traceId=TRACE, eventName="", timeUnixNano="0", observedTimeUnixNano=str(START_NS))
    label = Reading(put(tmp_path / "logs.jsonl", logs_line(old))).label
    assert (label["evaluator"], label["labelled_ns"]) == ("groundedness", START_NS)


def test_an_evaluation_names_the_plan_by_which_its_request_was_drawn(tmp_path: Path) -> None:
    drawn = {**EVALUATION, "goodput.plan_id": "plan-1"}
    assert Reading(put(tmp_path / "logs.jsonl", logs_line(log(drawn, traceId=TRACE)))).label["plan_id"] == "plan-1"


def test_trap_1_log_records_have_no_id_so_the_same_one_is_one_row_wherever_it_stands(tmp_path: Path) -> None:
    again = [log(EVALUATION, traceId=TRACE), log(EVALUATION, traceId=TRACE)]
    revised = log({**EVALUATION, "gen_ai.evaluation.score.value": 0.5}, traceId=TRACE)
    later = log(EVALUATION, traceId=TRACE, timeUnixNano=str(START_NS))
    reading = Reading(put(tmp_path / "logs.jsonl", logs_line(again[0]), logs_line(again[1], revised, later)))
    ids = [row["record_id"] for row in reading.tables["label_records"]]
    assert ids[0] == ids[1]
    assert len(set(ids)) == 3


def test_other_log_records_are_counted_as_no_labels(tmp_path: Path) -> None:
    other = log({"exception.type": "RateLimitError"}, eventName="gen_ai.client.operation.exception")
    reading = Reading(put(tmp_path / "logs.jsonl", logs_line(other, log(EVALUATION, traceId=TRACE))))
    assert (reading.rows_read, reading.ignored) == (2, {"log_is_no_label": 1})
    assert len(reading.tables["label_records"]) == 1


def test_what_is_compressed_twice_is_refused_as_that(tmp_path: Path) -> None:
    path = tmp_path / "spans.jsonl.gz"
    path.write_bytes(gzip.compress(gzip.compress(spans_line(vllm_span()).encode())))
    with pytest.raises(SourceRefused, match="compressed twice"):
        open_file(landed(path), settings())


@needs_captures
def test_a_real_capture_says_the_same_in_json_and_in_protobuf() -> None:
    frames = []
    for name in ("otlp_traces.jsonl.gz", "otlp_traces.pb.gz"):
        blocks = read_blocks(GIVEN / name)
        frames.append(
            {
                table: pl.concat([b.tables[table] for b in blocks if table in b.tables]).sort("line", "position")
                for table in ("serving_records", "span_links")
            }
        )
    for table in ("serving_records", "span_links"):
        assert frames[0][table].height > 0
        assert_frame_equal(frames[0][table], frames[1][table], check_column_order=False)


@needs_captures
def test_real_evaluation_events_become_labels() -> None:
    reading = Reading(GIVEN / "labels_otlp_evaluation.jsonl")
    labels = reading.tables["label_records"]
    assert (len(labels), reading.rows_read, reading.refused, reading.ignored) == (259, 259, [], {})
    assert len({row["record_id"] for row in labels}) == 259
    assert Counter(row["label"] for row in labels)["pass"] == 233
    with (GIVEN / "labels_otlp_evaluation.jsonl").open() as lines:
        said = [
            record
            for line in lines
            for resource in json.loads(line)["resourceLogs"]
            for scope in resource["scopeLogs"]
            for record in scope["logRecords"]
        ]
    with_span = sum("spanId" in record for record in said)
    assert Counter(row["subject_kind"] for row in labels) == {"span": with_span, "response": 259 - with_span}
