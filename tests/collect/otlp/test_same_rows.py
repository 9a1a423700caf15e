"""JSON and protobuf give the same rows, and both give those of a plain reading, whatever the spans hold."""

import math
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData, ResourceLogs, ScopeLogs
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status, TracesData

from collect.otlp.encode import json_lines, length_prefixed
from collect.otlp.reference import log_rows, span_rows
from goodput.collect.otlp.attributes import Wanted
from goodput.collect.otlp.decode import OtlpDecoder
from goodput.collect.otlp.events import EventValue, WantedEvents
from goodput.collect.otlp.read import OtlpReader

KEYS = [Wanted(f"a.{type_}", type_) for type_ in ("string", "int", "float", "bool", "strings")]
RESOURCE_KEYS = [Wanted("service.name", "string"), Wanted("a.int", "int")]
EVENT_NAMES = ("First Token Stream Event", "chunk")
EVENTS = WantedEvents(EVENT_NAMES, (EventValue("chunks", "chunk"),))

texts = st.one_of(
    st.text(max_size=6),
    st.sampled_from(["12", "-7", "1.5", "NaN", "abc", "", "0x1F", '["stop"]', "[1]", "True", "1e3", "9" * 25]),
)
int64s = st.integers(-(2**63), 2**63 - 1)
doubles = st.one_of(st.floats(), st.integers(-(2**60), 2**60).map(float))
members = st.recursive(
    st.one_of(
        st.builds(AnyValue),
        st.builds(AnyValue, string_value=texts),
        st.builds(AnyValue, int_value=int64s),
        st.builds(AnyValue, double_value=doubles),
        st.builds(AnyValue, bool_value=st.booleans()),
        st.builds(AnyValue, bytes_value=st.binary(max_size=4)),
    ),
    lambda inner: st.one_of(
        st.builds(AnyValue, array_value=st.builds(ArrayValue, values=st.lists(inner, max_size=3))),
        st.builds(
            AnyValue,
            kvlist_value=st.builds(
                KeyValueList, values=st.lists(st.builds(KeyValue, key=texts, value=inner), max_size=2)
            ),
        ),
    ),
    max_leaves=4,
)
keys = st.sampled_from([*(key.key for key in KEYS), "service.name", "event.name", "other"])
attributes = st.lists(st.one_of(st.builds(KeyValue, key=keys, value=members), st.builds(KeyValue, key=keys)))
times = st.one_of(st.just(0), st.integers(1, 2**63 - 1), st.integers(2**63, 2**64 - 1))
resources = st.builds(Resource, attributes=attributes)
trace_ids = st.one_of(st.binary(min_size=16, max_size=16), st.binary(max_size=20))
span_ids = st.one_of(st.binary(min_size=8, max_size=8), st.just(b""))
events = st.builds(
    Span.Event,
    time_unix_nano=times,
    name=st.sampled_from([*EVENT_NAMES, "exception", "other", ""]),
    attributes=st.lists(
        st.builds(KeyValue, key=st.sampled_from(["exception.type", "exception.message"]), value=members), max_size=3
    ),
)
# A span without any id or time, or a log record without any time, is of no signal: the wire does not say which.
spans = st.builds(
    Span,
    trace_id=st.binary(min_size=16, max_size=16),
    span_id=st.binary(min_size=8, max_size=8),
    parent_span_id=st.binary(max_size=9),
    name=texts,
    kind=st.integers(0, 5),
    start_time_unix_nano=times,
    end_time_unix_nano=times,
    attributes=attributes,
    events=st.lists(events, max_size=3),
    status=st.builds(Status, message=texts, code=st.integers(0, 2)),
)
logs = st.builds(
    LogRecord,
    time_unix_nano=times,
    observed_time_unix_nano=times.filter(bool),
    severity_number=st.integers(0, 24),
    body=members,
    attributes=attributes,
    trace_id=trace_ids,
    span_id=span_ids,
    event_name=texts,
)


traces = st.builds(
    TracesData,
    resource_spans=st.lists(
        st.builds(
            ResourceSpans,
            resource=resources,
            scope_spans=st.lists(st.builds(ScopeSpans, spans=st.lists(spans, max_size=3)), max_size=2),
        ),
        max_size=2,
    ),
)
log_batches = st.builds(
    LogsData,
    resource_logs=st.lists(
        st.builds(
            ResourceLogs,
            resource=resources,
            scope_logs=st.lists(st.builds(ScopeLogs, log_records=st.lists(logs, max_size=3)), max_size=2),
        ),
        max_size=2,
    ),
)


def _table(content: bytes, signal: str) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "otlp")
        path.write_bytes(content)
        decoder = OtlpDecoder(span_keys=KEYS, resource_keys=RESOURCE_KEYS, log_keys=KEYS, wanted_events=EVENTS)
        blocks = list(OtlpReader(path, decoder))
    assert [bad for block in blocks for bad in block.bad_lines] == []
    tables = [table for block in blocks if (table := getattr(block, signal)) is not None]
    return pa.concat_tables(tables).to_pylist() if tables else []


def _comparable(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """NaN made equal to itself, -0.0 told from 0.0, and doubles that were rendered as text made numbers again."""
    return [{key: _plain(value, key.endswith(("string", "name"))) for key, value in row.items()} for row in rows]


def _plain(value: Any, perhaps_rendered: bool) -> Any:
    if perhaps_rendered and isinstance(value, str):
        try:
            return _plain(float(value), False)
        except ValueError:
            return value
    if isinstance(value, float):
        return ("double", "nan" if math.isnan(value) else value, math.copysign(1, value))
    return value


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(traces, min_size=1, max_size=3))
def test_spans_are_those_of_a_plain_reading(messages: list[TracesData]) -> None:
    if not any(scope.spans for m in messages for r in m.resource_spans for scope in r.scope_spans):
        return
    expected = _comparable(span_rows(messages, KEYS, RESOURCE_KEYS, EVENT_NAMES))
    from_protobuf = _table(length_prefixed(m.SerializeToString() for m in messages), "spans")
    from_json = _table(json_lines(messages).replace(b"{}\n", b'{"resourceSpans":[]}\n'), "spans")
    assert _comparable(from_protobuf) == expected
    assert _comparable(from_json) == expected
    assert str(from_json) == str(from_protobuf)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(log_batches, min_size=1, max_size=3))
def test_logs_are_those_of_a_plain_reading(messages: list[LogsData]) -> None:
    if not any(scope.log_records for m in messages for r in m.resource_logs for scope in r.scope_logs):
        return
    expected = _comparable(log_rows(messages, KEYS, RESOURCE_KEYS))
    from_protobuf = _table(length_prefixed(m.SerializeToString() for m in messages), "logs")
    from_json = _table(json_lines(messages).replace(b"{}\n", b'{"resourceLogs":[]}\n'), "logs")
    assert _comparable(from_protobuf) == expected
    assert _comparable(from_json) == expected
    assert str(from_json) == str(from_protobuf)
