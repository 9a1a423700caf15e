from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from collect.otlp.encode import length_prefixed
from collect.otlp.files import read_bytes
from goodput.collect.otlp.attributes import Wanted
from goodput.collect.otlp.fields import LOGS, METRICS, SPANS
from goodput.collect.otlp.signals import signal_of
from goodput.collect.otlp.sniff import sniff


def _traces(*names: str) -> bytes:
    data = TracesData()
    for name in names:
        span = data.resource_spans.add().scope_spans.add().spans.add()
        span.trace_id, span.span_id, span.name = b"t" * 16, b"s" * 8, name
    return data.SerializeToString()


def _logs(*bodies: str, **fields: Any) -> bytes:
    data = LogsData()
    for body in bodies:
        log = data.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=5, **fields)
        log.body.string_value = body
    return data.SerializeToString()


def _metrics(*names: str) -> bytes:
    data = MetricsData()
    for name in names:
        data.resource_metrics.add().scope_metrics.add().metrics.add(name=name).sum.data_points.add()
    return data.SerializeToString()


def _varint(number: int) -> bytes:
    head = bytearray()
    while number > 127:
        head.append(number & 127 | 128)
        number >>= 7
    return bytes([*head, number])


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _span_bytes(content: bytes) -> bytes:
    return _field(1, _field(2, _field(2, content)))


IDS = _field(1, b"t" * 16) + _field(2, b"s" * 8)
GOOD = _traces("good")
DEEP_GROUPS = _varint(30 << 3 | 3) * 200_000 + _varint(30 << 3 | 4) * 200_000


@pytest.mark.parametrize(
    "bad",
    [
        GOOD[:-1],
        b"\xff" * 50,
        b"\x00" * 10,
        _span_bytes(IDS + _field(5, b"\xff\xfe")),
        _span_bytes(IDS + b"\x2e"),
        _span_bytes(IDS + DEEP_GROUPS),
        _span_bytes(IDS + _varint(30 << 3 | 3)),
        b"\x0a" + b"\xff" * 9 + b"\x01",
        b"\x0a" + _varint(2**62),
        _span_bytes(IDS + b"\x30" + b"\xff" * 11),
    ],
    ids=["cut", "ones", "zeros", "text", "wire type", "deep groups", "open group", "length", "long", "varint"],
)
def test_a_corrupt_message_is_told_and_takes_nothing_with_it(tmp_path: Path, bad: bytes) -> None:
    outcome = read_bytes(tmp_path, length_prefixed([GOOD, bad, b"", GOOD]))
    assert (outcome.span_lines, outcome.bad_numbers, outcome.lines) == ([1, 4], [2], 4)
    assert outcome.bad_lines[0].reason == "not a valid OTLP protobuf message"
    assert outcome.bad_lines[0].excerpt.isprintable()


def test_signals_mixed_in_one_file_are_told_apart(tmp_path: Path) -> None:
    messages = [_traces("a"), _logs("b"), _metrics("c", "d"), b"", _logs("e", "f"), _traces("g")]
    outcome = read_bytes(tmp_path, length_prefixed(messages))
    assert [(row["line"], row["name"]) for row in outcome.spans] == [(1, "a"), (6, "g")]
    assert [(row["line"], row["body_text"]) for row in outcome.logs] == [(2, "b"), (5, "e"), (5, "f")]
    assert (outcome.metric_points, outcome.lines, outcome.bad_lines) == (2, 6, [])


@pytest.mark.parametrize("first", [_traces("a"), _logs("a"), _metrics("a")])
def test_a_switch_of_signal_is_seen_whatever_came_first(tmp_path: Path, first: bytes) -> None:
    rest = [_logs("l", trace_id=b"t" * 16, span_id=b"s" * 8), _metrics("sixteen.letters."), _traces("s")]
    outcome = read_bytes(tmp_path, length_prefixed([first] * 3 + rest * 2))
    extra = [sniff(tmp_path / "otlp").signal is signal for signal in (SPANS, LOGS, METRICS)]  # type: ignore[union-attr]
    found = [len(outcome.spans), len(outcome.logs), outcome.metric_points]
    assert found == [2 + 3 * is_first for is_first in extra]
    assert outcome.bad_lines == []


def test_signal_of_sparse_records() -> None:
    log = LogsData()
    log.resource_logs.add().scope_logs.add().log_records.add().body.string_value = "no time, no ids"
    span = TracesData()
    span.resource_spans.add().scope_spans.add().spans.add(start_time_unix_nano=1, name="no ids")
    for data, signal in ((log, LOGS), (span, SPANS)):
        message = data.SerializeToString()
        assert signal_of(message, len(message)) is signal
    assert signal_of(b"", 0) is None
    assert signal_of(b"\x0a\x00", 2) is None
    assert signal_of(b"hello", 5) is None


def test_trap_16_what_protobuf_omits_is_its_default_and_odd_ids_stay(tmp_path: Path) -> None:
    data = TracesData()
    spans = data.resource_spans.add().scope_spans.add().spans
    spans.add(trace_id=b"t" * 16, span_id=b"s" * 8)
    spans.add(trace_id=b"\x01", span_id=b"\x02" * 9, parent_span_id=b"\xab" * 8)
    spans.add(trace_id=b"t" * 16, span_id=b"s" * 8, start_time_unix_nano=2**63, end_time_unix_nano=2**63 - 1)
    plain, odd, late = read_bytes(tmp_path, length_prefixed([data.SerializeToString()])).spans
    assert plain == dict.fromkeys(plain) | {
        "line": 1,
        "position": 0,
        "trace_id": "74" * 16,
        "span_id": "73" * 8,
        "kind": 0,
        "status_code": 0,
    }
    assert (odd["trace_id"], odd["span_id"], odd["parent_span_id"]) == ("01", "02" * 9, "ab" * 8)
    assert (late["start_ns"], late["end_ns"], late["unreadable"]) == (None, 2**63 - 1, "startTimeUnixNano")


def test_the_last_of_equal_keys_wins(tmp_path: Path) -> None:
    data = TracesData()
    span = data.resource_spans.add().scope_spans.add().spans.add(trace_id=b"t" * 16, span_id=b"s" * 8)
    for number in (1, 2, 3):
        span.attributes.add(key="k").value.int_value = number
    outcome = read_bytes(tmp_path, length_prefixed([data.SerializeToString()]), [Wanted("k", "int")])
    assert [row["k"] for row in outcome.spans] == [3]
