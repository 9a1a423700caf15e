"""One short demo for all tests here, read back with json, gzip, zstandard and the OTLP protobuf classes alone."""

import gzip
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from goodput.simulate.demo import write_demo
from goodput.simulate.truth.truth import Truth

SpanDict = dict[str, Any]


@pytest.fixture(scope="package")
def landing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "landing"


@pytest.fixture(scope="package")
def truth(landing: Path) -> Truth:
    return write_demo(landing, hours=0.2, requests=1400)


@pytest.fixture(scope="package")
def spans(landing: Path, truth: Truth) -> dict[str, list[SpanDict]]:
    """All spans by file, in a form common to both encodings."""
    return {
        path: list(_proto_spans(landing / path) if ".pb" in path else _json_spans(landing / path))
        for path in truth.files["path"]
        if "traces" in path
    }


@pytest.fixture(scope="package")
def client_spans(spans: dict[str, list[SpanDict]]) -> dict[str, SpanDict]:
    return {s["id"]: s for found in spans.values() for s in found if s["kind"] == 3}


@pytest.fixture(scope="package")
def engine_spans(spans: dict[str, list[SpanDict]]) -> dict[str, SpanDict]:
    return {s["id"]: s for path, found in spans.items() if path.startswith("engine/") for s in found}


@pytest.fixture(scope="package")
def labels(landing: Path, truth: Truth) -> list[dict[str, Any]]:
    lines = (landing / "quality/labels.jsonl").read_text().splitlines()
    return [
        record | {"attributes": {a["key"]: _json_value(a["value"]) for a in record["attributes"]}}
        for line in lines
        for resource in json.loads(line)["resourceLogs"]
        for scope in resource["scopeLogs"]
        for record in scope["logRecords"]
    ]


def _json_value(value: dict[str, Any]) -> Any:
    ((kind, content),) = value.items()
    if kind == "arrayValue":
        return [_json_value(v) for v in content["values"]]
    return int(content) if kind == "intValue" else content


def _json_spans(path: Path) -> Iterator[SpanDict]:
    content = path.read_bytes()
    if path.suffix == ".zst":
        content = zstandard.ZstdDecompressor().decompressobj().decompress(content)
    for line in content.splitlines():
        for resource in json.loads(line)["resourceSpans"]:
            process = {a["key"]: _json_value(a["value"]) for a in resource["resource"]["attributes"]}
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    yield {
                        "trace": span["traceId"],
                        "id": span["spanId"],
                        "parent": span.get("parentSpanId", ""),
                        "name": span["name"],
                        "kind": span["kind"],
                        "scope": scope["scope"]["name"],
                        "start": int(span["startTimeUnixNano"]),
                        "end": int(span["endTimeUnixNano"]),
                        "status": span["status"].get("code", 0),
                        "attributes": {a["key"]: _json_value(a["value"]) for a in span["attributes"]},
                        "resource": process,
                    }


def framed(path: Path) -> Iterator[bytes]:
    """The messages of a file of length-prefixed protobuf."""
    content, position = path.read_bytes(), 0
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    while position < len(content):
        (size,) = struct.unpack_from(">I", content, position)
        yield content[position + 4 : position + 4 + size]
        position += 4 + size


def _proto_spans(path: Path) -> Iterator[SpanDict]:
    for message in map(TracesData.FromString, framed(path)):
        for resource in message.resource_spans:
            for scope in resource.scope_spans:
                for span in scope.spans:
                    yield {
                        "trace": span.trace_id.hex(),
                        "id": span.span_id.hex(),
                        "parent": span.parent_span_id.hex(),
                        "name": span.name,
                        "kind": span.kind,
                        "scope": scope.scope.name,
                        "start": span.start_time_unix_nano,
                        "end": span.end_time_unix_nano,
                        "status": span.status.code,
                        "attributes": {a.key: _proto_value(a.value) for a in span.attributes},
                        "resource": {a.key: _proto_value(a.value) for a in resource.resource.attributes},
                    }


def _proto_value(value: Any) -> Any:
    content = getattr(value, value.WhichOneof("value"))
    return [_proto_value(v) for v in content.values] if value.HasField("array_value") else content
