"""Files that real gateways and engines wrote through a Collector, where they are at hand."""

import gzip
import json
import random
from pathlib import Path

import pyarrow as pa
import pytest
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from collect.otlp.files import points_of
from collect.otlp.reference import log_rows, span_rows
from goodput.collect.otlp import json_lines
from goodput.collect.otlp.attributes import Wanted
from goodput.collect.otlp.decode import OtlpDecoder
from goodput.collect.otlp.read import OtlpReader
from goodput.errors import SourceRefused

CAPTURES = Path(__file__).parents[4] / "shared" / "data" / "captures" / "given"
pytestmark = pytest.mark.skipif(not CAPTURES.is_dir(), reason="the captures are not here")

KEYS = [
    Wanted("gen_ai.request.model", "string"),
    Wanted("gen_ai.response.id", "string"),
    Wanted("gen_ai.request.id", "string"),
    Wanted("gen_ai.usage.prompt_tokens", "int"),
    Wanted("gen_ai.usage.input_tokens", "int"),
    Wanted("gen_ai.latency.time_to_first_token", "float"),
    Wanted("gen_ai.response.finish_reasons", "strings"),
    Wanted("gen_ai.request.stream", "bool"),
    Wanted("gen_ai.evaluation.score.value", "float"),
    Wanted("gen_ai.evaluation.score.label", "string"),
    Wanted("exception.type", "string"),
    Wanted("http.response.status_code", "string"),
]
RESOURCE_KEYS = [Wanted("service.name", "string"), Wanted("service.instance.id", "string")]


def _read(path: Path) -> tuple[pa.Table | None, pa.Table | None, int]:
    reader = OtlpReader(path, OtlpDecoder(span_keys=KEYS, resource_keys=RESOURCE_KEYS, log_keys=KEYS))
    blocks = list(reader)
    assert [bad for block in blocks for bad in block.bad_lines] == []
    assert (reader.stopped, reader.torn_tail_bytes, reader.truncated) == (None, 0, False)
    spans = [block.spans for block in blocks if block.spans]
    logs = [block.logs for block in blocks if block.logs]
    points = sum(points_of(block) for block in blocks)
    return pa.concat_tables(spans) if spans else None, pa.concat_tables(logs) if logs else None, points


def _messages(path: Path, message_class: type) -> list[object]:
    content, messages = gzip.decompress(path.read_bytes()), []
    while content:
        end = 4 + int.from_bytes(content[:4], "big")
        messages.append(message_class.FromString(content[4:end]))  # type: ignore[attr-defined]
        content = content[end:]
    return messages


@pytest.mark.parametrize("folder", [".", "variants/v1_default", "variants/v1_semconv", "variants/v2_sdk_retries"])
@pytest.mark.parametrize("signal", ["traces", "logs", "metrics"])
def test_json_and_protobuf_of_one_capture_are_equal(folder: str, signal: str) -> None:
    found = {path.name: path for path in (CAPTURES / folder).glob(f"otlp_{signal}.*")}
    as_json = found.get(f"otlp_{signal}.jsonl.gz", found.get(f"otlp_{signal}.jsonl"))
    as_protobuf = found.get(f"otlp_{signal}.pb.gz")
    if as_json is None or as_protobuf is None:
        pytest.skip("not captured")
    from_json, from_protobuf = _read(as_json), _read(as_protobuf)
    assert from_json[2] == from_protobuf[2]
    for left, right in zip(from_json[:2], from_protobuf[:2], strict=True):
        assert (left is None) == (right is None)
        if left is not None and right is not None:
            assert left.schema == right.schema
            assert [name for name in left.column_names if not left[name].equals(right[name])] == []


def test_spans_are_those_of_a_plain_reading() -> None:
    path = CAPTURES / "otlp_traces.pb.gz"
    spans, _, _ = _read(path)
    assert spans is not None
    assert spans.num_rows == 6013
    assert spans.to_pylist() == span_rows(_messages(path, TracesData), KEYS, RESOURCE_KEYS)


def test_logs_are_those_of_a_plain_reading() -> None:
    path = CAPTURES / "otlp_logs.pb.gz"
    _, logs, _ = _read(path)
    assert logs is not None
    assert logs.num_rows == 76
    assert logs.to_pylist() == log_rows(_messages(path, LogsData), KEYS, RESOURCE_KEYS)


METRICS = {"http.server.active_requests", "gen_ai.client.token.usage_sum", "http.server.request.duration_count"}


@pytest.mark.parametrize("name", ["otlp_metrics.pb.gz", "otlp_metrics.jsonl.gz"])
def test_trap_2_metric_readings_are_those_of_a_plain_reading(name: str) -> None:
    reader = OtlpReader(CAPTURES / name, OtlpDecoder(metric_names=METRICS, resource_keys=RESOURCE_KEYS))
    found = pa.concat_tables([block.points for block in reader if block.points]).to_pylist()
    told = ("line", "emitted", "start_ns", "time_ns", "value", "resource.service.name")
    messages = _messages(CAPTURES / "otlp_metrics.pb.gz", MetricsData)
    service = "litellm-gateway"
    expected = [
        ((line, metric.name + suffix, point.start_time_unix_nano, point.time_unix_nano, value, service), said)
        for line, message in enumerate(messages, start=1)
        for batch in message.resource_metrics  # type: ignore[attr-defined]
        for scope in batch.scope_metrics
        for metric in scope.metrics
        for point in (*metric.sum.data_points, *metric.histogram.data_points)
        for suffix, value in (
            (("_count", point.count), ("_sum", point.sum)) if metric.HasField("histogram") else (("", point.as_int),)
        )
        if f"{metric.name}{suffix}" in METRICS or f"{metric.name}_sum" in METRICS or f"{metric.name}_count" in METRICS
        for said in [{a.key: a.value.string_value or str(a.value.int_value) for a in point.attributes}]
    ]
    assert len(expected) == 31 + 2 * 58 + 2 * 84
    assert [(tuple(row[name] for name in told), json.loads(row["labels"])) for row in found] == expected


def test_labels_are_those_of_the_json() -> None:
    path = CAPTURES / "labels_otlp_evaluation.jsonl"
    records = [
        record
        for line in path.read_text().splitlines()
        for batch in json.loads(line)["resourceLogs"]
        for scope in batch["scopeLogs"]
        for record in scope["logRecords"]
    ]
    _, logs, _ = _read(path)
    assert logs is not None
    assert logs["time_ns"].to_pylist() == [int(record["timeUnixNano"]) for record in records]
    assert logs["event_name"].to_pylist() == [record["eventName"] for record in records]
    scores = [
        attribute["value"]["doubleValue"]
        for record in records
        for attribute in record["attributes"]
        if attribute["key"] == "gen_ai.evaluation.score.value" and "doubleValue" in attribute["value"]
    ]
    assert [score for score in logs["gen_ai.evaluation.score.value"].to_pylist() if score is not None] == scores


def test_the_tolerant_reader_gives_the_same_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("otlp_traces.jsonl.gz", "otlp_logs.jsonl", "otlp_metrics.jsonl.gz"):
        fast = _read(CAPTURES / name)
        with monkeypatch.context() as patch:
            patch.setattr(json_lines, "_parse_fast", lambda lines: None)
            assert _read(CAPTURES / name) == fast


@pytest.mark.parametrize("name", ["otlp_traces.jsonl.gz", "otlp_logs.jsonl", "otlp_traces.pb.gz", "otlp_metrics.pb.gz"])
def test_damaged_files_are_read_without_an_error(tmp_path: Path, name: str) -> None:
    content = (CAPTURES / name).read_bytes()
    content = (gzip.decompress(content) if name.endswith(".gz") else content)[:60_000]
    chance = random.Random(name)
    pieces = (b"null", b"}{", b"\0", b"\xff", b"\n", b'"', b"{", b"]", b"1e999", b'"intValue":5,', b'"trace_id":1,')
    for _ in range(60):
        damaged = bytearray(content)
        for _ in range(chance.choice((1, 3, 20))):
            at = chance.randrange(len(damaged))
            damaged[at : at + chance.randrange(3)] = chance.choice(pieces)
        path = tmp_path / "damaged"
        path.write_bytes(damaged)
        try:
            blocks = list(OtlpReader(path, OtlpDecoder(span_keys=KEYS, resource_keys=RESOURCE_KEYS, log_keys=KEYS)))
        except SourceRefused:
            continue
        for table in (table for block in blocks for table in (block.spans, block.logs) if table):
            table.validate(full=True)
