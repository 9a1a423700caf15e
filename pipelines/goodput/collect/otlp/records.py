"""Flattens decoded OTLP batches to one row per span or log record, the same rows from JSON and from protobuf.

Bytes are decoded in `json_lines` and `protobuf`; attributes become columns in `attributes`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from goodput.collect.otlp.attributes import Wanted, pivot
from goodput.collect.otlp.events import WantedEvents, exception_types, first_event_ns
from goodput.collect.otlp.every_attribute import EVERY, every_attribute
from goodput.collect.otlp.fields import LOGS, SPANS, Signal
from goodput.collect.otlp.leaves import codes, hex_ids, nanoseconds, shared, text
from goodput.collect.otlp.maps import json_of_maps
from goodput.collect.otlp.nested import Index, child, children, ordinals

Mask = npt.NDArray[np.bool_]
TRACE_ID_DIGITS, SPAN_ID_DIGITS = 32, 16
ATTRIBUTE = "attribute."  # in front of a wanted attribute that is called as a column of every record
EVENT_NAME = Wanted("event.name", "string")  # where older emitters put what is now the field eventName
SCOPE_VERSION = "scope_version"
SPAN_COLUMNS = (
    *("line", "position", "trace_id", "span_id", "parent_span_id", "name", "kind", "start_ns", "end_ns"),
    *("status_code", "status_message", "scope_name", "event_ns", "exception_type", "unreadable"),
)
LOG_COLUMNS = (
    *("line", "position", "time_ns", "trace_id", "span_id", "event_name", "severity_number", "body_text", "body_map"),
    "unreadable",
)


@dataclass
class RecordRows:
    """The flattened records of one signal, and for each the index of its scope, its resource and its line."""

    records: pa.StructArray
    scopes: pa.StructArray
    resources: pa.StructArray
    scope_of: Index
    resource_of: Index
    line_of: Index
    columns: dict[str, pa.Array] = field(default_factory=dict)
    unreadable: dict[str, Mask] = field(default_factory=dict)

    def add(self, name: str, column: pa.Array, bad: Mask | None = None, reported_as: str | None = None) -> None:
        """Add a column, with where it cannot be read and the name by which that is reported."""
        self.columns[name] = column
        if bad is not None and bad.any():
            before = self.unreadable.get(reported_as or name)
            self.unreadable[reported_as or name] = bad if before is None else bad | before

    def add_attributes(self, wanted: Sequence[Wanted]) -> None:
        """Add a column per wanted attribute of the records, by the key that is wanted: see ATTRIBUTE."""
        keys = [item.key.removeprefix(ATTRIBUTE) for item in wanted]
        named = [key if key in self.columns else item.key for key, item in zip(keys, wanted, strict=True)]
        found = [Wanted(key, item.type, item.lenient) for key, item in zip(named, wanted, strict=True)]
        pivoted = pivot(child(self.records, "attributes"), found)
        for key, item in zip(named, wanted, strict=True):
            self.add(item.key, pivoted.columns[key], pivoted.unreadable.get(key))

    def add_resource_attributes(self, wanted: Sequence[Wanted]) -> None:
        """Add a column "resource.<key>" per wanted attribute of the resources."""
        of_resources = pivot(child(child(self.resources, "resource"), "attributes"), wanted)
        for key, values in of_resources.columns.items():
            column, too_long = shared(values, self.resource_of)
            name = f"resource.{key}"
            self.add(name, column, too_long)
            if key in of_resources.unreadable:
                self.add(name, column, of_resources.unreadable[key][self.resource_of])

    def table(self) -> pa.Table:
        """All columns, and `unreadable`: the first name of which a row's value cannot be read."""
        unreadable = pa.nulls(len(self.records), pa.string())
        for name, bad in reversed(self.unreadable.items()):  # so that the first one stays
            unreadable = pc.if_else(pa.array(bad), name, unreadable)
        return pa.table({**self.columns, "unreadable": unreadable})


def spans_table(  # noqa: PLR0913
    batches: pa.ListArray,
    lines: Index,
    span_keys: Sequence[Wanted],
    resource_keys: Sequence[Wanted],
    wanted_events: WantedEvents,
    *,
    every: bool = False,
) -> pa.Table:
    """One row per span from the `resourceSpans` of each line; columns SPAN_COLUMNS, the wanted keys and events.

    `event_ns` is the time of the span's first event of one of the wanted names, in Unix nanoseconds.
    With `every` also all attributes of each span, as `every_attribute` gives them, and the version of its scope.
    `unreadable` names the first field or attribute whose value is there but cannot be read as its type.
    """
    rows = flatten(batches, lines, SPANS)
    spans = rows.records
    rows.add("trace_id", hex_ids(child(spans, "traceId"), TRACE_ID_DIGITS))
    rows.add("span_id", hex_ids(child(spans, "spanId"), SPAN_ID_DIGITS))
    rows.add("parent_span_id", hex_ids(child(spans, "parentSpanId"), SPAN_ID_DIGITS))
    rows.add("name", text(child(spans, "name")))
    rows.add("kind", codes(child(spans, "kind")))
    rows.add("start_ns", *nanoseconds(child(spans, "startTimeUnixNano")), reported_as="startTimeUnixNano")
    rows.add("end_ns", *nanoseconds(child(spans, "endTimeUnixNano")), reported_as="endTimeUnixNano")
    status = child(spans, "status")
    rows.add("status_code", codes(child(status, "code")))
    rows.add("status_message", text(child(status, "message")))
    rows.add("scope_name", *shared(text(child(child(rows.scopes, "scope"), "name")), rows.scope_of))
    events = child(spans, "events")
    rows.add("event_ns", first_event_ns(events, wanted_events.names))
    rows.add("exception_type", exception_types(events))
    for value in wanted_events.values:
        rows.add(value.column, value.of(events))
    if every:
        rows.add(EVERY, every_attribute(child(spans, "attributes")))
        rows.add(SCOPE_VERSION, *shared(text(child(child(rows.scopes, "scope"), "version")), rows.scope_of))
    rows.add_attributes(span_keys)
    rows.add_resource_attributes(resource_keys)
    return rows.table()


def logs_table(
    batches: pa.ListArray, lines: Index, log_keys: Sequence[Wanted], resource_keys: Sequence[Wanted]
) -> pa.Table:
    """One row per log record of the `resourceLogs` of each line; columns LOG_COLUMNS and the wanted keys."""
    rows = flatten(batches, lines, LOGS)
    logs = rows.records
    time, bad_time = nanoseconds(child(logs, "timeUnixNano"))
    seen, bad_seen = nanoseconds(child(logs, "observedTimeUnixNano"))
    rows.add("time_ns", pc.coalesce(time, seen), bad_time, reported_as="timeUnixNano")
    rows.add("time_ns", rows.columns["time_ns"], bad_seen, reported_as="observedTimeUnixNano")
    rows.add("trace_id", hex_ids(child(logs, "traceId"), TRACE_ID_DIGITS))
    rows.add("span_id", hex_ids(child(logs, "spanId"), SPAN_ID_DIGITS))
    named = pivot(child(logs, "attributes"), [EVENT_NAME]).columns[EVENT_NAME.key]
    rows.add("event_name", pc.coalesce(text(child(logs, "eventName")), text(named)))
    rows.add("severity_number", codes(child(logs, "severityNumber")))
    body = child(logs, "body")
    rows.add("body_text", child(body, "stringValue"))
    rows.add("body_map", json_of_maps(child(body, "kvlistValue")))
    rows.add_attributes(log_keys)
    rows.add_resource_attributes(resource_keys)
    return rows.table()


def check_keys(fixed: Iterable[str], wanted: Sequence[Wanted], resource_wanted: Sequence[Wanted]) -> None:
    """Raise ValueError with every wanted key that would make a second column of one name."""
    names = [*fixed, *(item.key for item in wanted), *(f"resource.{item.key}" for item in resource_wanted)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"wanted attributes would give several columns of one name: {', '.join(twice)}")


def flatten(batches: pa.ListArray, lines: Index, signal: Signal) -> RecordRows:
    """The records of a signal with their scopes, resources and lines; columns `line` and `position`."""
    resources, line_index = children(batches)
    scopes, resource_of_scope = children(child(resources, signal.scopes))
    records, scope_of = children(child(scopes, signal.records))
    resource_of = resource_of_scope[scope_of]
    line_of = line_index[resource_of]
    rows = RecordRows(records, scopes, resources, scope_of, resource_of, line_of)
    rows.add("line", pa.array(lines[line_of], pa.int64()))
    rows.add("position", pa.array(ordinals(line_of, len(batches)), pa.int32()))
    return rows
