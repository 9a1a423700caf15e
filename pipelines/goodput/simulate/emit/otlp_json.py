"""OTLP/JSON of SDK spans, as the Collector's file exporter writes what it received.

The SDK's own encoder speaks protobuf, and turning its messages into JSON would take most of the time in which a day is
written. Ids are hex, 64-bit integers strings, enums integers; what is empty is left out.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import INVALID_SPAN_CONTEXT, SpanKind

_KINDS: Final = {SpanKind.SERVER: 2, SpanKind.CLIENT: 3}
_HAS_REMOTE_FLAG, _IS_REMOTE = 0x100, 0x200
_SCALARS: Final[Mapping[type, Callable[[Any], dict[str, Any]]]] = {
    str: lambda value: {"stringValue": value},
    bool: lambda value: {"boolValue": value},
    int: lambda value: {"intValue": str(value)},
    float: lambda value: {"doubleValue": value},
    list: lambda values: {"arrayValue": {"values": [_value(value) for value in values]}},
}


def spans_line(spans: Sequence[ReadableSpan]) -> bytes:
    """Return one export of spans as a line of JSON, grouped by process and scope."""
    # By identity: hashing a resource means serialising it.
    grouped: dict[int, dict[int, list[ReadableSpan]]] = defaultdict(lambda: defaultdict(list))
    for span in spans:
        grouped[id(span.resource)][id(span.instrumentation_scope)].append(span)
    resources = [
        {
            "resource": {"attributes": _attributes(next(iter(scopes.values()))[0].resource.attributes)},
            "scopeSpans": [
                {"scope": _scope(own[0].instrumentation_scope), "spans": [_span(span) for span in own]}
                for own in scopes.values()
            ],
        }
        for scopes in grouped.values()
    ]
    return msgspec.json.encode({"resourceSpans": resources}) + b"\n"


def _span(span: ReadableSpan) -> dict[str, Any]:
    context, parent = span.get_span_context() or INVALID_SPAN_CONTEXT, span.parent
    document = {"traceId": f"{context.trace_id:032x}", "spanId": f"{context.span_id:016x}"}
    if parent is not None:
        document["parentSpanId"] = f"{parent.span_id:016x}"
    code = span.status.status_code.value
    return document | {
        "name": span.name,
        "kind": _KINDS[span.kind],
        "startTimeUnixNano": str(span.start_time),
        "endTimeUnixNano": str(span.end_time),
        "attributes": _attributes(span.attributes or {}),
        "status": {"code": code} if code else {},
        "flags": _HAS_REMOTE_FLAG | (_IS_REMOTE if parent is not None and parent.is_remote else 0),
    }


def _scope(scope: InstrumentationScope | None) -> dict[str, Any]:
    if scope is None:
        return {}
    return {"name": scope.name, "version": scope.version} if scope.version else {"name": scope.name}


def _attributes(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in attributes.items()]


def _value(value: Any) -> dict[str, Any]:
    return _SCALARS[type(value)](value)
