"""The part of OTLP that is read: one table of messages and fields, with numbers and JSON names.

The Arrow schema of the JSON parser, the trimmed protobuf descriptor and the tolerant reader derive from it.
Fields that are not listed here are never materialised, whatever the encoding.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

import pyarrow as pa


class Scalar(Enum):
    """How a leaf is written: its Arrow type in JSON as received, and its protobuf type."""

    TEXT = (pa.string(), "string")
    ID = (pa.string(), "bytes")  # hex in OTLP/JSON
    TIME = (pa.string(), "fixed64")  # 64-bit integers are decimal strings in JSON
    INTEGER = (pa.string(), "int64")
    COUNT = TIME
    FIXED_INTEGER = (pa.string(), "sfixed64")
    DOUBLE = (pa.float64(), "double")
    BOOL = (pa.bool_(), "bool")
    ENUM = (pa.int32(), "int32")
    BYTES = (pa.string(), "bytes")

    def __init__(self, json_type: pa.DataType, proto_type: str) -> None:
        self.json_type = json_type
        self.proto_type = proto_type


@dataclass(frozen=True, eq=False)
class Message:
    """One message of the proto; `union` says that its fields, or those so named, are the members of one oneof."""

    name: str
    fields: tuple["ProtoField", ...]
    union: bool | frozenset[str] = False

    def in_union(self, field: "ProtoField") -> bool:
        """Whether the field is a member of the oneof: only such a one can be told from its default."""
        return field.name in self.union if isinstance(self.union, frozenset) else self.union


@dataclass(frozen=True, eq=False)
class ProtoField:
    """One field: its lowerCamelCase name, its number, what it holds, and an enum's names."""

    name: str
    number: int
    type: Scalar | Message
    repeated: bool = False
    enum_names: Mapping[str, int] = field(default_factory=dict)

    @property
    def snake_name(self) -> str:
        """The name in the .proto file, which the Collector accepts in JSON as well."""
        return re.sub(r"[A-Z]", lambda letter: "_" + letter[0].lower(), self.name)


_SPAN_KINDS = ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
_LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
SPAN_KIND = {f"SPAN_KIND_{name}": number for number, name in enumerate(_SPAN_KINDS)}
STATUS_CODE = {"STATUS_CODE_UNSET": 0, "STATUS_CODE_OK": 1, "STATUS_CODE_ERROR": 2}
SEVERITY_NUMBER = {"SEVERITY_NUMBER_UNSPECIFIED": 0} | {
    f"SEVERITY_NUMBER_{level}{step if step > 1 else ''}": 4 * index + step
    for index, level in enumerate(_LEVELS)
    for step in range(1, 5)
}

PRESENCE = Message("Presence", ())  # that it is there is all that is read
TEXT_VALUE = Message("TextValue", (ProtoField("stringValue", 1, Scalar.TEXT),), union=True)
ARRAY_VALUE = Message("ArrayValue", (ProtoField("values", 1, TEXT_VALUE, repeated=True),))


def _any_value(name: str, of_map: Message) -> Message:
    return Message(
        name,
        (
            ProtoField("stringValue", 1, Scalar.TEXT),
            ProtoField("boolValue", 2, Scalar.BOOL),
            ProtoField("intValue", 3, Scalar.INTEGER),
            ProtoField("doubleValue", 4, Scalar.DOUBLE),
            ProtoField("arrayValue", 5, ARRAY_VALUE),
            ProtoField("kvlistValue", 6, of_map),
            ProtoField("bytesValue", 7, Scalar.BYTES),
        ),
        union=True,
    )


def _body(levels: int) -> Message:
    """AnyValue with maps of so many levels: Arrow has no recursive types."""
    if not levels:
        return ANY_VALUE
    entry = Message(f"Entry{levels}", (ProtoField("key", 1, Scalar.TEXT), ProtoField("value", 2, _body(levels - 1))))
    return _any_value(f"Body{levels}", Message(f"Map{levels}", (ProtoField("values", 1, entry, repeated=True),)))


ANY_VALUE = _any_value("AnyValue", PRESENCE)
MAP_LEVELS = 3  # of a log record's body: as deep as what is read of a Kubernetes object that was watched
BODY = _body(MAP_LEVELS)
KEY_VALUE = Message("KeyValue", (ProtoField("key", 1, Scalar.TEXT), ProtoField("value", 2, ANY_VALUE)))
RESOURCE = Message("Resource", (ProtoField("attributes", 1, KEY_VALUE, repeated=True),))
SCOPE = Message("InstrumentationScope", (ProtoField("name", 1, Scalar.TEXT), ProtoField("version", 2, Scalar.TEXT)))
# Of an event's attributes only texts are read: the class of an exception.
EVENT_ATTRIBUTE = Message("EventAttribute", (ProtoField("key", 1, Scalar.TEXT), ProtoField("value", 2, TEXT_VALUE)))
EVENT = Message(
    "Event",
    (
        ProtoField("timeUnixNano", 1, Scalar.TIME),
        ProtoField("name", 2, Scalar.TEXT),
        ProtoField("attributes", 3, EVENT_ATTRIBUTE, repeated=True),
    ),
)
STATUS = Message(
    "Status", (ProtoField("message", 2, Scalar.TEXT), ProtoField("code", 3, Scalar.ENUM, enum_names=STATUS_CODE))
)
SPAN = Message(
    "Span",
    (
        ProtoField("traceId", 1, Scalar.ID),
        ProtoField("spanId", 2, Scalar.ID),
        ProtoField("parentSpanId", 4, Scalar.ID),
        ProtoField("name", 5, Scalar.TEXT),
        ProtoField("kind", 6, Scalar.ENUM, enum_names=SPAN_KIND),
        ProtoField("startTimeUnixNano", 7, Scalar.TIME),
        ProtoField("endTimeUnixNano", 8, Scalar.TIME),
        ProtoField("attributes", 9, KEY_VALUE, repeated=True),
        ProtoField("events", 11, EVENT, repeated=True),
        ProtoField("status", 15, STATUS),
    ),
)
LOG_RECORD = Message(
    "LogRecord",
    (
        ProtoField("timeUnixNano", 1, Scalar.TIME),
        ProtoField("observedTimeUnixNano", 11, Scalar.TIME),
        ProtoField("severityNumber", 2, Scalar.ENUM, enum_names=SEVERITY_NUMBER),
        ProtoField("body", 5, BODY),
        ProtoField("attributes", 6, KEY_VALUE, repeated=True),
        ProtoField("traceId", 9, Scalar.ID),
        ProtoField("spanId", 10, Scalar.ID),
        ProtoField("eventName", 12, Scalar.TEXT),
    ),
)
_POINT_TIMES = (ProtoField("startTimeUnixNano", 2, Scalar.TIME), ProtoField("timeUnixNano", 3, Scalar.TIME))
NUMBER_POINT = Message(
    "NumberDataPoint",
    (
        ProtoField("attributes", 7, KEY_VALUE, repeated=True),
        *_POINT_TIMES,
        ProtoField("asDouble", 4, Scalar.DOUBLE),
        ProtoField("asInt", 6, Scalar.FIXED_INTEGER),
        ProtoField("flags", 8, Scalar.ENUM),
    ),
    union=frozenset({"asDouble", "asInt"}),
)
HISTOGRAM_POINT = Message(
    "HistogramDataPoint",
    (
        ProtoField("attributes", 9, KEY_VALUE, repeated=True),
        *_POINT_TIMES,
        ProtoField("count", 4, Scalar.COUNT),
        ProtoField("sum", 5, Scalar.DOUBLE),
        ProtoField("bucketCounts", 6, Scalar.COUNT, repeated=True),
        ProtoField("explicitBounds", 7, Scalar.DOUBLE, repeated=True),
        ProtoField("flags", 10, Scalar.ENUM),
    ),
    union=frozenset({"sum"}),  # an optional field is on the wire as a oneof of its own
)
_TEMPORALITIES = ("UNSPECIFIED", "DELTA", "CUMULATIVE")
_TEMPORALITY = ProtoField(
    "aggregationTemporality",
    2,
    Scalar.ENUM,
    enum_names={f"AGGREGATION_TEMPORALITY_{name}": number for number, name in enumerate(_TEMPORALITIES)},
)
GAUGE = Message("Gauge", (ProtoField("dataPoints", 1, NUMBER_POINT, repeated=True),))
SUM = Message(
    "Sum",
    (ProtoField("dataPoints", 1, NUMBER_POINT, repeated=True), _TEMPORALITY, ProtoField("isMonotonic", 3, Scalar.BOOL)),
)
HISTOGRAM = Message("Histogram", (ProtoField("dataPoints", 1, HISTOGRAM_POINT, repeated=True), _TEMPORALITY))
COUNTED = Message("Counted", (ProtoField("dataPoints", 1, PRESENCE, repeated=True),))
METRIC = Message(
    "Metric",
    (
        ProtoField("name", 1, Scalar.TEXT),
        ProtoField("description", 2, Scalar.TEXT),
        ProtoField("gauge", 5, GAUGE),
        ProtoField("sum", 7, SUM),
        ProtoField("histogram", 9, HISTOGRAM),
        ProtoField("exponentialHistogram", 10, COUNTED),
        ProtoField("summary", 11, COUNTED),
    ),
)


@dataclass(frozen=True, eq=False)
class Signal:
    """One of traces, logs and metrics: the names of its three levels of lists, and its record."""

    root: str
    scopes: str
    records: str
    record: Message

    @property
    def name(self) -> str:
        """The signal's name in upper camel case, as in `ResourceSpans`."""
        return self.root.removeprefix("resource")

    @property
    def message(self) -> Message:
        """TracesData, LogsData or MetricsData."""
        records = ProtoField(self.records, 2, self.record, repeated=True)
        scope = Message(f"Scope{self.name}", (ProtoField("scope", 1, SCOPE), records))
        scopes = ProtoField(self.scopes, 2, scope, repeated=True)
        resource = Message(f"Resource{self.name}", (ProtoField("resource", 1, RESOURCE), scopes))
        return Message(f"{self.name}Data", (ProtoField(self.root, 1, resource, repeated=True),))


SPANS = Signal("resourceSpans", "scopeSpans", "spans", SPAN)
LOGS = Signal("resourceLogs", "scopeLogs", "logRecords", LOG_RECORD)
METRICS = Signal("resourceMetrics", "scopeMetrics", "metrics", METRIC)
SIGNALS = (SPANS, LOGS, METRICS)

# One JSON line may hold any of the signals: the Collector interleaves them where they share a path.
LINE = Message("Line", tuple(top for signal in SIGNALS for top in signal.message.fields))
