"""Envoy's spans and OTLP access log and the span of SGLang's gateway: attributes as each wrote them, by hand."""

from pathlib import Path

import pytest

from collect.telemetry import (
    SECOND_NS,
    SPAN,
    START_NS,
    TRACE,
    Reading,
    Row,
    attributes,
    columns,
    log,
    logs_line,
    put,
    read,
    span,
)
from collect.test_router_spans import read_scope

REQUEST = {
    "component": "proxy",
    "downstream_cluster": "-",
    "guid:x-request-id": "532e20d6-2dac-913a-a714-0ade937eb4bb",
    "http.method": "POST",
    "http.protocol": "HTTP/1.1",
    "http.status_code": "200",
    "http.url": "http://127.0.0.1:9110/v1/chat/completions",
    "node_id": "gateway-0",
    "peer.address": "127.0.0.1",
    "response_flags": "-",
    "upstream_cluster": "vllm-chat",
    "upstream_cluster.name": "vllm-chat",
}
TRY = {
    "component": "proxy",
    "http.protocol": "HTTP/1.1",
    "http.status_code": "200",
    "peer.address": "127.0.0.1:9111",
    "response_flags": "-",
    "upstream_address": "127.0.0.1:9111",
    "upstream_cluster": "vllm-chat",
    "upstream_cluster.name": "vllm-chat",
}
LOGGED = {
    "content-type": "text/event-stream",
    "duration": "171",
    "method": "POST",
    "path": "/v1/chat/completions",
    "response_code": "200",
    "response_duration": "118",
    "response_flags": "-",
    "route_name": "chat-route",
    "start_time": "2026-11-20T09:00:00.000Z",
    "upstream_cluster": "vllm-chat",
    "upstream_host": "127.0.0.1:9111",
    "upstream_request_attempt_count": "2",
    "x-request-id": "0b5a7a6d-15f4-9d8b-88af-221419d9066a",
}
LEFT = {"response_code": "0", "response_flags": "DC", "content-type": "-", "response_duration": "-"}
ROUTED = {
    "busy_ns": 468216,
    "idle_ns": 132423825,
    "latency": "132890",
    "method": "POST",
    "module": "smg",
    "request_id": "chatcmpl-u0E8R3CH0E8MaeXr6AW6ori1",
    "status_code": "200",
    "uri": "/v1/chat/completions",
}


def sent(*hosts: str) -> list[Row]:
    """The events of a request that went to some hosts, one after another."""
    told = [attributes({"level": "INFO", "url": f"http://{host}"}) for host in hosts]
    return [{"timeUnixNano": str(START_NS), "name": "Sending request", "attributes": said} for said in told]


def logged(folder: Path, said: Row) -> Reading:
    record = log(said, timeUnixNano=str(START_NS), eventName="", traceId=TRACE, spanId=SPAN, body={"stringValue": "x"})
    return Reading(put(folder / "logs.jsonl", logs_line(record)))


def test_envoys_span_of_a_request_covers_its_tries(tmp_path: Path) -> None:
    expected = {
        "dialect": "envoy.request",
        "layer": "gateway",
        "covers_tries": True,
        "call_id": "532e20d6-2dac-913a-a714-0ade937eb4bb",
        "pool": "vllm-chat",
        "replica": None,
        "http_status": 200,
        "started_ns": START_NS,
        "ended_ns": START_NS + 2 * SECOND_NS,
        "error_type": None,
        "outcome": None,  # the status decides
    }
    assert columns(read(tmp_path, span("llm-chat", REQUEST, kind="server")).record, list(expected)) == expected


@pytest.mark.parametrize(
    ("status", "flags", "outcome"),
    [
        ("200", "-", None),
        ("0", "DC", "cancelled"),
        ("200", "UPE", "error"),
        ("504", "UT", "timeout"),
        ("400", "-", None),
    ],
)
def test_flags_of_envoys_span_tell_what_became_of_it(
    tmp_path: Path, status: str, flags: str, outcome: str | None
) -> None:
    said = {**REQUEST, "http.status_code": status, "response_flags": flags}
    assert read(tmp_path, span("llm-chat", said, kind="server")).record["outcome"] == outcome


def test_a_try_of_envoy_says_where_it_went_and_not_what_was_asked(tmp_path: Path) -> None:
    expected = {
        "dialect": "envoy.try",
        "covers_tries": False,
        "needs_parent": True,
        "address": "127.0.0.1:9111",
        "pool": "vllm-chat",
        "http_status": 200,
        "outcome": None,
    }
    assert columns(read(tmp_path, span("router vllm-chat egress", TRY)).record, list(expected)) == expected


@pytest.mark.parametrize(("status", "outcome"), [("500", None), ("0", "cancelled"), ("200", "cancelled")])
def test_a_try_that_was_called_off(tmp_path: Path, status: str, outcome: str | None) -> None:
    # to ask again after a 500, which is an error, or because the caller left
    said = {**TRY, "http.status_code": status, "canceled": "true", "error": "true"}
    assert read(tmp_path, span("router vllm-chat egress", said)).record["outcome"] == outcome


@pytest.mark.parametrize(
    "said", [{"http.method": "GET", "http.url": "http://gw/v1/models"}, {"http.url": "http://gw/v1/embeddings"}]
)
def test_trap_30_other_requests_through_envoy_are_left_out(tmp_path: Path, said: Row) -> None:
    assert read(tmp_path, span("llm-chat", {**REQUEST, **said})).ignored == {"http_not_generating": 1}
    if "http.method" not in said:
        assert logged(tmp_path, {**LOGGED, "path": "/v1/embeddings"}).ignored == {"http_not_generating": 1}


def test_a_record_of_envoys_access_log_in_otlp(tmp_path: Path) -> None:
    expected = {
        "dialect": "envoy.log",
        "layer": "gateway",
        "covers_tries": True,
        "trace_id": TRACE,
        "span_id": None,  # which is the id of the request's span
        "call_id": "0b5a7a6d-15f4-9d8b-88af-221419d9066a",
        "route": "chat-route",
        "pool": "vllm-chat",
        "address": "127.0.0.1:9111",
        "started_ns": START_NS,
        "ttft_s": 0.118,
        "e2e_s": 0.171,
        "streamed": True,
        "http_status": 200,
        "reported_attempts": 2,
        "outcome": None,
    }
    assert columns(logged(tmp_path, LOGGED).record, list(expected)) == expected


def test_a_dash_in_envoys_log_is_no_value(tmp_path: Path) -> None:
    record = logged(tmp_path, {**LOGGED, **LEFT}).record
    assert columns(record, ["streamed", "ttft_s", "outcome", "error_type"]) == {
        "streamed": None,
        "ttft_s": None,
        "outcome": "cancelled",
        "error_type": "DC",
    }


def test_other_log_records_are_no_requests(tmp_path: Path) -> None:
    assert logged(tmp_path, {"duration": "3", "path": "/v1/chat/completions"}).ignored == {"log_is_no_label": 1}


@pytest.mark.parametrize(
    ("said", "outcome", "e2e_s"),
    [
        ({}, "unknown", None),  # headers were sent: neither the end of the answer nor its success is told
        ({"status_code": "400", "latency": "22500"}, None, 0.0225),
        ({"status_code": "", "latency": ""}, "cancelled", None),
    ],
)
def test_the_span_of_sglangs_gateway(tmp_path: Path, said: Row, outcome: str | None, e2e_s: float | None) -> None:
    told = {key: value for key, value in {**ROUTED, **said}.items() if value != ""}
    reading = read_scope(tmp_path, "smg", span("http_request", told, kind="internal", events=sent("w1:80", "w2:80")))
    expected = {
        "dialect": "smg",
        "layer": "gateway",
        "covers_tries": True,
        "call_id": "chatcmpl-u0E8R3CH0E8MaeXr6AW6ori1",
        "reported_attempts": 2,
        "address": "w2:80",
        "e2e_s": e2e_s,
        "outcome": outcome,
    }
    assert columns(reading.record, list(expected)) == expected


def test_sglangs_gateway_ends_its_span_with_the_answer_since_it_names_a_path(tmp_path: Path) -> None:
    """Version 1.13: `latency` of a stream is still that of its headers, 133 ms; the span lasts as the answer does."""
    told = {"path" if key == "uri" else key: value for key, value in ROUTED.items()}
    reading = read_scope(tmp_path, "smg", span("http_request", told, kind="internal", events=sent("w1:80")))
    expected = {"outcome": "unknown", "e2e_s": None, "started_ns": START_NS, "ended_ns": START_NS + 2_000_000_000}
    assert columns(reading.record, list(expected)) == expected


@pytest.mark.parametrize("name", ["uri", "path"])
@pytest.mark.parametrize("path", ["/v1/models", "/health", "/v1/embeddings"])
def test_trap_30_other_requests_to_sglangs_gateway_are_left_out(tmp_path: Path, name: str, path: str) -> None:
    told = {key: value for key, value in ROUTED.items() if key != "uri"}
    reading = read_scope(tmp_path, "smg", span("http_request", {**told, name: path}))
    assert reading.ignored == {"http_not_generating": 1}
