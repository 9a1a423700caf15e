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
    fields: tuple["Field", ...]
    union: bool | frozenset[str] = False

    def in_union(self, field: "Field") -> bool:
        """Whether the field is a member of the oneof: only such a one can be told from its default."""
        return field.name in self.union if isinstance(self.union, frozenset) else self.union


@dataclass(frozen=True, eq=False)
class Field:
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
TEXT_VALUE = Message("TextValue", (Field("stringValue", 1, Scalar.TEXT),), union=True)
ARRAY_VALUE = Message("ArrayValue", (Field("values", 1, TEXT_VALUE, repeated=True),))


def _any_value(name: str, of_map: Message) -> Message:
    return Message(
        name,
        (
            Field("stringValue", 1, Scalar.TEXT),
            Field("boolValue", 2, Scalar.BOOL),
            Field("intValue", 3, Scalar.INTEGER),
            Field("doubleValue", 4, Scalar.DOUBLE),
            Field("arrayValue", 5, ARRAY_VALUE),
            Field("kvlistValue", 6, of_map),
            Field("bytesValue", 7, Scalar.BYTES),
        ),
        union=True,
    )


def _body(levels: int) -> Message:
    """AnyValue with maps of so many levels: Arrow has no recursive types."""
    if not levels:
        return ANY_VALUE
    entry = Message(f"Entry{levels}", (Field("key", 1, Scalar.TEXT), Field("value", 2, _body(levels - 1))))
    return _any_value(f"Body{levels}", Message(f"Map{levels}", (Field("values", 1, entry, repeated=True),)))


ANY_VALUE = _any_value("AnyValue", PRESENCE)
MAP_LEVELS = 3  # of a log record's body: as deep as what is read of a Kubernetes object that was watched
BODY = _body(MAP_LEVELS)
KEY_VALUE = Message("KeyValue", (Field("key", 1, Scalar.TEXT), Field("value", 2, ANY_VALUE)))
RESOURCE = Message("Resource", (Field("attributes", 1, KEY_VALUE, repeated=True),))
SCOPE = Message("InstrumentationScope", (Field("name", 1, Scalar.TEXT), Field("version", 2, Scalar.TEXT)))
# Of an event's attributes only texts are read: the class of an exception.
EVENT_ATTRIBUTE = Message("EventAttribute", (Field("key", 1, Scalar.TEXT), Field("value", 2, TEXT_VALUE)))
EVENT = Message(
    "Event",
    (
        Field("timeUnixNano", 1, Scalar.TIME),
        Field("name", 2, Scalar.TEXT),
        Field("attributes", 3, EVENT_ATTRIBUTE, repeated=True),
    ),
)
STATUS = Message("Status", (Field("message", 2, Scalar.TEXT), Field("code", 3, Scalar.ENUM, enum_names=STATUS_CODE)))
SPAN = Message(
    "Span",
    (
        Field("traceId", 1, Scalar.ID),
        Field("spanId", 2, Scalar.ID),
        Field("parentSpanId", 4, Scalar.ID),
        Field("name", 5, Scalar.TEXT),
        Field("kind", 6, Scalar.ENUM, enum_names=SPAN_KIND),
        Field("startTimeUnixNano", 7, Scalar.TIME),
        Field("endTimeUnixNano", 8, Scalar.TIME),
        Field("attributes", 9, KEY_VALUE, repeated=True),
        Field("events", 11, EVENT, repeated=True),
        Field("status", 15, STATUS),
    ),
)
LOG_RECORD = Message(
    "LogRecord",
    (
        Field("timeUnixNano", 1, Scalar.TIME),
        Field("observedTimeUnixNano", 11, Scalar.TIME),
        Field("severityNumber", 2, Scalar.ENUM, enum_names=SEVERITY_NUMBER),
        Field("body", 5, BODY),
        Field("attributes", 6, KEY_VALUE, repeated=True),
        Field("traceId", 9, Scalar.ID),
        Field("spanId", 10, Scalar.ID),
        Field("eventName", 12, Scalar.TEXT),
    ),
)
_POINT_TIMES = (Field("startTimeUnixNano", 2, Scalar.TIME), Field("timeUnixNano", 3, Scalar.TIME))
NUMBER_POINT = Message(
    "NumberDataPoint",
    (
        Field("attributes", 7, KEY_VALUE, repeated=True),
        *_POINT_TIMES,
        Field("asDouble", 4, Scalar.DOUBLE),
        Field("asInt", 6, Scalar.FIXED_INTEGER),
        Field("flags", 8, Scalar.ENUM),
    ),
    union=frozenset({"asDouble", "asInt"}),
)
HISTOGRAM_POINT = Message(
    "HistogramDataPoint",
    (
        Field("attributes", 9, KEY_VALUE, repeated=True),
        *_POINT_TIMES,
        Field("count", 4, Scalar.COUNT),
        Field("sum", 5, Scalar.DOUBLE),
        Field("bucketCounts", 6, Scalar.COUNT, repeated=True),
        Field("explicitBounds", 7, Scalar.DOUBLE, repeated=True),
        Field("flags", 10, Scalar.ENUM),
    ),
    union=frozenset({"sum"}),  # an optional field is on the wire as a oneof of its own
)
_TEMPORALITIES = ("UNSPECIFIED", "DELTA", "CUMULATIVE")
_TEMPORALITY = Field(
    "aggregationTemporality",
    2,
    Scalar.ENUM,
    enum_names={f"AGGREGATION_TEMPORALITY_{name}": number for number, name in enumerate(_TEMPORALITIES)},
)
GAUGE = Message("Gauge", (Field("dataPoints", 1, NUMBER_POINT, repeated=True),))
SUM = Message(
    "Sum",
    (Field("dataPoints", 1, NUMBER_POINT, repeated=True), _TEMPORALITY, Field("isMonotonic", 3, Scalar.BOOL)),
)
HISTOGRAM = Message("Histogram", (Field("dataPoints", 1, HISTOGRAM_POINT, repeated=True), _TEMPORALITY))
COUNTED = Message("Counted", (Field("dataPoints", 1, PRESENCE, repeated=True),))
METRIC = Message(
    "Metric",
    (
        Field("name", 1, Scalar.TEXT),
        Field("description", 2, Scalar.TEXT),
        Field("gauge", 5, GAUGE),
        Field("sum", 7, SUM),
        Field("histogram", 9, HISTOGRAM),
        Field("exponentialHistogram", 10, COUNTED),
        Field("summary", 11, COUNTED),
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
        records = Field(self.records, 2, self.record, repeated=True)
        scope = Message(f"Scope{self.name}", (Field("scope", 1, SCOPE), records))
        scopes = Field(self.scopes, 2, scope, repeated=True)
        resource = Message(f"Resource{self.name}", (Field("resource", 1, RESOURCE), scopes))
        return Message(f"{self.name}Data", (Field(self.root, 1, resource, repeated=True),))


SPANS = Signal("resourceSpans", "scopeSpans", "spans", SPAN)
LOGS = Signal("resourceLogs", "scopeLogs", "logRecords", LOG_RECORD)
METRICS = Signal("resourceMetrics", "scopeMetrics", "metrics", METRIC)
SIGNALS = (SPANS, LOGS, METRICS)

# One JSON line may hold any of the signals: the Collector interleaves them where they share a path.
LINE = Message("Line", tuple(top for signal in SIGNALS for top in signal.message.fields))
