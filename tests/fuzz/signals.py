"""Fuzzed OTLP: spans, log records and metric points, as JSON lines and as protobuf."""

import json
from base64 import b64encode
from random import Random
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.json_format import ParseDict
from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from fuzz.files import Fuzzed, compressed
from fuzz.hostile import FLOATS, INTEGERS, NOT_FINITE, TEXTS, TIMES_NS, as_json, mutate
from fuzz.seeds import Group, Tree, row_of, seeds

_MESSAGES = {
    "spans": ExportTraceServiceRequest,
    "logs": ExportLogsServiceRequest,
    "points": ExportMetricsServiceRequest,
}
_INTEGERS = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
    FieldDescriptor.CPPTYPE_ENUM: (-(2**31), 2**31 - 1),
}
_MANY_CHILDREN = 0.0002
_FLOATS = (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT)


def json_file(chance: Random, signal: str, inputs: int, number: int) -> Fuzzed:
    """Exports of one row each, a line each; in some the row is mutated, in a few all around it too."""
    lines: list[str] = []
    rows = 0
    exact = signal != "points"  # a point may be none, or several readings
    while len(lines) < inputs:
        for export in _group(chance, signal):
            around = chance.random()
            if around < 0.6:
                mutate(chance, row_of(export), chance.choice((1, 1, 2, 6)))
            lines.append(as_json(chance, export).replace("\n", " "))
            rows += _holds_row(lines[-1])
    if chance.random() < 0.3:
        exact = False
        for _ in range(20):
            (export,) = _group(chance, signal)[:1]
            mutate(chance, export, 3)
            lines.insert(chance.randrange(len(lines)), as_json(chance, export))
    content, suffix = compressed(chance, _lines(lines))
    name = b"fuzz/%b-%d.jsonl%b" % (signal.encode(), number, suffix)
    return Fuzzed(name, content, f"{signal} (JSON)", len(lines), rows if exact else None)


def _holds_row(line: str) -> bool:
    """Whether a line is a row, or no JSON, which counts as one that cannot be read."""
    try:
        export = json.loads(line)
    except (ValueError, RecursionError):
        return True
    try:
        return bool(row_of(export))
    except (ValueError, LookupError, TypeError, AttributeError, StopIteration):
        return False


def _lines(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass")


def protobuf_file(chance: Random, signal: str, inputs: int, number: int) -> Fuzzed:
    """The same as messages that each follow their length, with fields mutated and a few bytes changed."""
    found: list[bytes] = []
    rows = 0
    while rows < inputs:
        for export in _group(chance, signal):
            message = ParseDict(_with_binary_ids(export), _MESSAGES[signal](), ignore_unknown_fields=True)
            if chance.random() < 0.6:
                for _ in range(chance.choice((1, 1, 3))):
                    mutate_message(chance, message)
            body = bytearray(message.SerializeToString())
            if body and chance.random() < 0.003:
                body[chance.randrange(len(body))] = chance.randrange(256)
            found.append(len(body).to_bytes(4, "big") + body)
            rows += 1
    content, suffix = compressed(chance, b"".join(found))
    return Fuzzed(b"fuzz/%b-%d.pb%b" % (signal.encode(), number, suffix), content, f"{signal} (protobuf)", rows)


def _group(chance: Random, signal: str) -> list[Tree]:
    groups: tuple[Group, ...] = getattr(seeds(), signal)
    exports = chance.choice(groups).fresh(chance)
    if signal == "spans":
        _relate(chance, exports)
    return exports


def _relate(chance: Random, exports: list[Tree]) -> None:
    """At times parents in a circle, a span that is its own parent, ids twice, or thousands of children of one."""
    spans = [row_of(export) for export in exports]
    what = chance.random()
    if what < _MANY_CHILDREN:
        child, parent = json.dumps(exports[-1]), spans[0].get("spanId", "")
        for number in range(10_000):
            export = json.loads(child)
            row_of(export).update(spanId=f"{number + 1:016x}", parentSpanId=parent)
            exports.append(export)
        return
    parents = [span.get("spanId", "") for span in spans]
    for number, span in enumerate(spans):
        if what < 0.02:
            span["parentSpanId"] = parents[number - 1]
        elif what < 0.04:
            span["parentSpanId"] = chance.choice(parents)
        elif what < 0.06:
            span["spanId"] = parents[0]
        elif what < 0.08:
            span["traceId"] = chance.choice(("0" * 32, "f" * 32, "a" * 32))  # of all files


def _with_binary_ids(tree: Any) -> Any:
    if isinstance(tree, dict):
        ids = ("traceId", "spanId", "parentSpanId")
        return {
            key: b64encode(bytes.fromhex(item)).decode() if key in ids else _with_binary_ids(item)
            for key, item in tree.items()
        }
    return [_with_binary_ids(item) for item in tree] if isinstance(tree, list) else tree


def mutate_message(chance: Random, message: Message) -> None:
    """Set, repeat or clear a field somewhere in a message."""
    at = message
    while True:
        field = chance.choice(at.DESCRIPTOR.fields)
        if field.message_type is None:
            break
        if field.is_repeated:
            items = getattr(at, field.name)
            if not items or chance.random() < 0.02:
                items.add()
            elif chance.random() < 0.02:
                items.add().CopyFrom(items[0])
            at = chance.choice(list(items))
        elif not at.HasField(field.name) and chance.random() < 0.8:
            return
        else:
            at = getattr(at, field.name)
    if chance.random() < 0.1:
        at.ClearField(field.name)
        return
    value = _value(chance, field)
    if field.is_repeated:
        getattr(at, field.name).extend([value] * chance.choice((1, 3, 200)))
    else:
        setattr(at, field.name, value)


def _value(chance: Random, field: FieldDescriptor) -> Any:
    if field.cpp_type in _INTEGERS:
        least, most = _INTEGERS[field.cpp_type]
        known = TIMES_NS if "time" in field.name else INTEGERS
        return chance.choice([least, most, *(item for item in known if least <= item <= most)])
    if field.cpp_type in _FLOATS:
        return chance.choice((*FLOATS, *NOT_FINITE))
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return chance.random() < 0.5
    if field.type == FieldDescriptor.TYPE_BYTES:
        return chance.randbytes(chance.choice((0, 1, 7, 8, 15, 16, 17, 300)))
    return chance.choice([item for item in TEXTS if not any("\ud800" <= c <= "\udfff" for c in item)])
