"""OTLP over HTTP as the specification has it, and as its SDK speaks it."""

import base64
import gzip
import json
import os
import socket
import threading
import time
from pathlib import Path

import pytest
from google.rpc.error_details_pb2 import BadRequest
from google.rpc.status_pb2 import Status
from opentelemetry._logs import LogRecord
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from collect.otlp.encode import otlp_json
from goodput.listen import http_server
from goodput.receive import files
from receive.conftest import Receive, Receiver, receiving
from receive.sender import CONTINUE, JSON, LINE, PROTOBUF, eventually, landed, span_ids, spans

ONE = spans(1).SerializeToString()
LOG = b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":"1","body":{"stringValue":"hm"}}]}]}]}'


@pytest.mark.parametrize("compression", [Compression.NoCompression, Compression.Gzip])
def test_what_an_sdk_exports_is_read_back(receive: Receive, compression: Compression) -> None:
    receiver = receive(token="s3cret")
    url, headers = f"http://127.0.0.1:{receiver.port}/v1/", {"authorization": "Bearer s3cret"}
    tracing, logs = TracerProvider(), LoggerProvider()
    exporter = OTLPSpanExporter(url + "traces", headers=headers, compression=compression)
    tracing.add_span_processor(BatchSpanProcessor(exporter))
    emitted = [tracing.get_tracer("t").start_span(f"chat {n}") for n in range(1000)]
    for span in emitted:
        span.end()
    log_exporter = OTLPLogExporter(url + "logs", headers=headers, compression=compression)
    logs.add_log_record_processor(SimpleLogRecordProcessor(log_exporter))
    logs.get_logger("t").emit(LogRecord(timestamp=5, event_name="gen_ai.evaluation.result"))
    reader = PeriodicExportingMetricReader(OTLPMetricExporter(url + "metrics", headers, headers=headers))
    metrics = MeterProvider([reader])
    metrics.get_meter("t").create_counter("requests").add(1)
    for provider in (tracing, logs, metrics):
        provider.shutdown()
    read = landed(receiver.landing)
    assert sorted((row["name"], row["span_id"]) for outcome in read for row in outcome.spans) == sorted(
        (f"chat {n}", format(span.get_span_context().span_id, "016x")) for n, span in enumerate(emitted)
    )
    assert [row["event_name"] for outcome in read for row in outcome.logs] == ["gen_ai.evaluation.result"]
    assert sum(outcome.metric_points for outcome in read) == 1


def test_json_in_several_lines_becomes_one(receive: Receive) -> None:
    receiver = receive()
    message = spans(3)
    pretty = json.dumps(json.loads(otlp_json(message)), indent=2).replace("\n", "\r\n").encode()
    answer = receiver.connect().send(b"\xef\xbb\xbf" + pretty, content_type="application/json; charset=utf-8")
    assert (answer.status, answer.headers["content-type"], answer.body) == (200, JSON, b"{}")
    (read,) = landed(receiver.landing, "traces-*.jsonl")
    assert read.lines == 1
    assert span_ids([read]) == [span.span_id.hex() for span in message.resource_spans[0].scope_spans[0].spans]


@pytest.mark.parametrize(("body", "kind"), [(b"", PROTOBUF), (b"{}", JSON), (b'{"resourceSpans":[]}', JSON)])
def test_a_message_without_records_is_welcome_and_not_kept(receiver: Receiver, body: bytes, kind: str) -> None:
    before = len(landed(receiver.landing))
    answer = receiver.connect().send(body, content_type=kind)
    assert (answer.status, answer.headers["content-type"]) == (200, kind)
    assert len(landed(receiver.landing)) == before


def test_success_in_protobuf_is_an_empty_message(receiver: Receiver) -> None:
    answer = receiver.connect().send(ONE, content_type=PROTOBUF)
    assert (answer.status, answer.headers["content-type"], answer.body) == (200, PROTOBUF, b"")


def test_health_needs_no_token(receive: Receive) -> None:
    sender = receive(token="s3cret").connect()
    assert sender.send(b"", "/health", "GET").status == 200
    for wrong in ("", "s3cret", "Bearer s3cre", "Bearer s3cret2", "Basic s3cret", "Bearer \xe9"):
        answer = sender.send(authorization=wrong)
        assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert sender.send(authorization="Bearer s3cret").status == 200


def test_langfuse_sdks_find_their_path_and_send_the_token_as_their_secret_key(receive: Receive) -> None:
    receiver = receive(token="s3cret")
    sender = receiver.connect()
    path = "/api/public/otel/v1/traces"
    for pair in (b"pk-1:other", b"s3cret:", b"s3cret"):
        keys = base64.b64encode(pair).decode()
        assert sender.send(ONE, path, content_type=PROTOBUF, authorization=f"Basic {keys}").status == 401
    keys = base64.b64encode(b"pk-1:s3cret").decode()
    assert sender.send(ONE, path, content_type=PROTOBUF, authorization=f"Basic {keys}").status == 200
    (read,) = landed(receiver.landing, "traces-*.pb")
    assert len(read.spans) == 1


DEEP = b'{"resourceSpans":' + b"[" * 2000 + b"]" * 2000 + b"}"
POISON = b"\x28\xb5\x2f\xfd\x01" + bytes(4) + ONE  # valid protobuf, and the beginning of a zstd frame
REFUSED = {
    "no path": (404, {"path": "/v1/trace"}),
    "no POST": (405, {"method": "GET"}),
    "no type": (415, {"content_type": "text/plain"}),
    "other coding": (415, {"content_encoding": "br"}),
    "no JSON": (400, {"body": b"hello"}),
    "no UTF-8": (400, {"body": LINE.replace(b"chat", b"\xff")}),
    "two documents": (400, {"body": LINE + LINE}),
    "cut": (400, {"body": LINE[:-1]}),
    "no root": (400, {"body": b'{"spans":[]}'}),
    "deep": (400, {"body": DEEP}),
    "no protobuf": (400, {"body": ONE[:-1], "content_type": PROTOBUF}),
    "a zstd frame": (400, {"body": POISON, "content_type": PROTOBUF}),
    "JSON as protobuf": (400, {"body": LINE, "content_type": PROTOBUF}),
    "logs as traces": (400, {"body": LOG}),
    "spans as logs": (400, {"body": ONE, "path": "/v1/logs", "content_type": PROTOBUF}),
    "no gzip": (400, {"content_encoding": "gzip"}),
    "cut gzip": (400, {"body": gzip.compress(LINE)[:-1], "content_encoding": "gzip"}),
    "too large": (413, {"body": b" " * 4097}),
    "far too large": (413, {"body": b" " * 8_000_000}),  # a sender that still sends has to see the answer
    "too large in chunks": (413, {"body": [b" " * 1000] * 5}),
    "bomb": (413, {"body": gzip.compress(b" " * 2_000_000), "content_encoding": "gzip"}),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_says_why_and_is_not_kept(receiver: Receiver, case: str) -> None:
    status, request = REFUSED[case]
    before = [outcome.lines for outcome in landed(receiver.landing)]
    sender = receiver.connect()
    answer = sender.send(**request)
    assert answer.status == status
    if request.get("content_type") == PROTOBUF:
        said = Status.FromString(answer.body)
        assert said.message
        assert [detail.Is(BadRequest.DESCRIPTOR) for detail in said.details] == [True]
    else:
        assert answer.headers["content-type"] == JSON
        assert json.loads(answer.body)["message"]
    assert "retry-after" not in answer.headers
    assert [outcome.lines for outcome in landed(receiver.landing)] == before
    assert sender.send(b"{}").status == 200  # on the same connection


def test_what_would_spoil_a_file_is_valid_protobuf() -> None:
    assert ExportTraceServiceRequest.FromString(POISON).resource_spans


def test_the_path_that_was_meant_is_named(receiver: Receiver) -> None:
    assert b"these go to /v1/logs" in receiver.connect().send(LOG).body


def test_nothing_is_acknowledged_before_it_is_on_disk(receive: Receive, monkeypatch: pytest.MonkeyPatch) -> None:
    receiver, may_go, synced = receive(), threading.Event(), os.fsync

    def slow_fsync(descriptor: int) -> None:
        assert may_go.wait(10)
        synced(descriptor)

    senders = [receiver.connect() for _ in range(3)]
    assert senders[0].send(ONE, content_type=PROTOBUF).status == 200  # the file is there
    monkeypatch.setattr(files.os, "fsync", slow_fsync)
    for sender in senders:
        sender.connection.request("POST", "/v1/traces", ONE, {"content-type": PROTOBUF})
    time.sleep(0.2)
    for sender in senders:
        sender.connection.sock.setblocking(False)
        with pytest.raises(BlockingIOError):
            sender.connection.sock.recv(1)
        sender.connection.sock.settimeout(10)
    may_go.set()
    assert [sender.connection.getresponse().status for sender in senders] == [200] * 3


def test_a_disk_that_fails_is_answered_with_503_until_it_works(
    receive: Receive, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver = receive()
    sender = receiver.connect()
    assert sender.send(ONE, content_type=PROTOBUF).status == 200

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(files.os, "fsync", full)
        for _ in range(2):
            answer = sender.send(ONE, content_type=PROTOBUF)
            assert (answer.status, answer.headers["retry-after"]) == (503, "2")
    assert sender.send(ONE, content_type=PROTOBUF).status == 200
    assert [(outcome.lines, outcome.reader.torn_tail_bytes) for outcome in landed(receiver.landing)] == [(1, 0), (1, 0)]
    assert [text.partition(":")[0] for text in receiver.said] == [
        "cannot write to the landing zone",
        "the landing zone can be written to again",
    ]


def test_a_rate_beyond_the_limit_is_answered_with_429(receive: Receive) -> None:
    sender = receive(max_requests_per_s=0.25).connect()  # one at first, then one every four seconds
    answers = [sender.send() for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 429, 429]
    assert answers[1].headers["retry-after"] == "4"


def test_bodies_that_hang_hold_room_until_their_clients_go(receive: Receive) -> None:
    receiver = receive(max_body_bytes=1000, max_pending_bytes=3000)
    slow = [socket.create_connection(("127.0.0.1", receiver.port)) for _ in range(3)]
    for client in slow:
        client.sendall(b"POST /v1/traces HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n")
        client.sendall(b"content-length: 951\r\n\r\n" + b" " * 950)
    sender = receiver.connect()
    assert eventually(lambda: sender.send(LINE).status == 503)
    assert sender.send(LINE).headers["retry-after"] == "1"
    for client in slow:
        client.close()
    assert eventually(lambda: sender.send(LINE).status == 200)


def test_who_is_not_done_when_the_receiver_stops_is_told_to_come_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "GRACE_S", 0)
    with receiving(tmp_path) as receiver:
        slow = socket.create_connection(("127.0.0.1", receiver.port), timeout=10)
        slow.sendall(b"POST /v1/traces HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n")
        slow.sendall(b"content-length: 9\r\nexpect: 100-continue\r\n\r\n")
        assert slow.recv(100) == CONTINUE
    with slow:
        head = slow.recv(1000).lower().split(b"\r\n")
    assert head[0] == b"http/1.1 503 service unavailable"
    assert {b"retry-after: 1", b"connection: close"} <= set(head)


def test_what_came_in_is_told_at_the_end(tmp_path: Path) -> None:
    with receiving(tmp_path) as receiver:
        receiver.connect().send(spans(3).SerializeToString(), content_type=PROTOBUF)
        receiver.connect().send(LOG, "/v1/logs")
        receiver.connect().send(b"no")
    told = "2 request(s) accepted (3 spans, 1 log records, 0 metrics); 1 with 400 refused; 2 file(s) written"
    assert receiver.said == [f"stopped: {told}"]


def test_a_message_with_a_bad_span_is_taken_in_for_the_others(receive: Receive) -> None:
    receiver = receive()
    good = LINE[LINE.index(b'{"traceId"') : -len(b"]}]}]}")]
    sender = receiver.connect()
    assert sender.send(LINE.replace(good, b'{"events":5},' + good)).status == 200
    assert sender.send(LINE.replace(good, b'{"events":5}')).status == 400
    (outcome,) = landed(receiver.landing)
    assert span_ids([outcome]) == ["00f067aa0ba902b7"]
    assert [bad.position for bad in outcome.bad_lines] == [0]
