"""A second, plain reading of OTLP messages, one record at a time: what the columnar decoder has to agree with."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from goodput.collect.otlp.attributes import Wanted

INT64 = range(-(2**63), 2**63)
UNREADABLE = object()


def span_rows(
    messages: Iterable[Any],
    span_keys: Sequence[Wanted],
    resource_keys: Sequence[Wanted],
    event_names: Sequence[str] = (),
) -> list[dict[str, Any]]:
    return [
        {"line": line, "position": position}
        | _row(_span(span, scope, event_names), span.attributes, span_keys, resource.attributes, resource_keys)
        for line, position, resource, scope, span in _records(messages, "spans")
    ]


def log_rows(
    messages: Iterable[Any], log_keys: Sequence[Wanted], resource_keys: Sequence[Wanted]
) -> list[dict[str, Any]]:
    return [
        {"line": line, "position": position}
        | _row(_log(log), log.attributes, log_keys, resource.attributes, resource_keys)
        for line, position, resource, _, log in _records(messages, "logs")
    ]


def _records(messages: Iterable[Any], signal: str) -> Iterator[tuple[int, int, Any, Any, Any]]:
    outer, scopes, records = {
        "spans": ("resource_spans", "scope_spans", "spans"),
        "logs": ("resource_logs", "scope_logs", "log_records"),
    }[signal]
    for line, message in enumerate(messages, start=1):
        position = 0
        for batch in getattr(message, outer):
            for scope in getattr(batch, scopes):
                for record in getattr(scope, records):
                    yield line, position, batch.resource, scope.scope, record
                    position += 1


def _span(span: Any, scope: Any, event_names: Sequence[str]) -> dict[str, Any]:
    times = [event.time_unix_nano for event in span.events if event.name in event_names]
    types = [
        attribute.value.string_value
        for event in span.events
        if event.name == "exception"
        for attribute in event.attributes
        if attribute.key == "exception.type"
    ]
    chunks = sum(event.name == "chunk" for event in span.events) or None
    return {
        **({"chunks": chunks} if event_names else {}),
        "trace_id": span.trace_id.hex() or None,
        "span_id": span.span_id.hex() or None,
        "parent_span_id": span.parent_span_id.hex() or None,
        "name": span.name or None,
        "kind": span.kind,
        "start_ns": span.start_time_unix_nano,
        "end_ns": span.end_time_unix_nano,
        "status_code": span.status.code,
        "status_message": span.status.message or None,
        "scope_name": scope.name or None,
        "event_ns": min((time for time in times if time and time in INT64), default=None),
        "exception_type": (types[-1] if types else None) or None,
    }


def _log(log: Any) -> dict[str, Any]:
    named = [a.value for a in log.attributes if a.key == "event.name"]
    name = _read(named[-1], "string") if named else None
    return {
        "time_ns": log.time_unix_nano,
        "observed_ns": log.observed_time_unix_nano,
        "trace_id": log.trace_id.hex() or None,
        "span_id": log.span_id.hex() or None,
        "event_name": log.event_name or (None if name is UNREADABLE else name) or None,
        "severity_number": log.severity_number,
        "body_text": log.body.string_value if log.body.WhichOneof("value") == "string_value" else None,
        "body_map": _map_text(log.body),
    }


def _map_text(body: Any) -> str | None:
    if body.WhichOneof("value") != "kvlist_value":
        return None
    return json.dumps(_map(body.kvlist_value, levels=3), separators=(",", ":"))


def _map(held: Any, levels: int) -> dict[str, Any] | None:
    if not levels:
        return None
    return {entry.key: _in_map(entry.value, levels) for entry in held.values}


def _in_map(value: Any, levels: int) -> Any:
    member = value.WhichOneof("value")
    if member == "kvlist_value":
        return _map(value.kvlist_value, levels - 1)
    held = getattr(value, member) if member in ("string_value", "bool_value", "int_value", "double_value") else None
    return None if isinstance(held, float) and not math.isfinite(held) else held


def _row(
    row: dict[str, Any], attributes: Any, keys: Sequence[Wanted], of_resource: Any, resource_keys: Sequence[Wanted]
) -> dict[str, Any]:
    unreadable = None
    for column, field in (
        ("start_ns", "startTimeUnixNano"),
        ("end_ns", "endTimeUnixNano"),
        ("time_ns", "timeUnixNano"),
        ("observed_ns", "observedTimeUnixNano"),
    ):
        if column in row:
            if row[column] not in INT64:
                unreadable = unreadable or field
            row[column] = row[column] if row[column] in INT64 and row[column] != 0 else None
    if "observed_ns" in row:
        observed = row.pop("observed_ns")
        row["time_ns"] = row["time_ns"] or observed
    for prefix, wanted, said in (("", keys, attributes), ("resource.", resource_keys, of_resource)):
        by_key = {attribute.key: attribute.value for attribute in said}
        for item in wanted:
            value = _read(by_key[item.key], item.type) if item.key in by_key else None
            if value is UNREADABLE:
                unreadable, value = unreadable or prefix + item.key, None
            row[prefix + item.key] = value
    return {**row, "unreadable": unreadable}


def _read(value: Any, wanted: str) -> Any:
    member = value.WhichOneof("value")
    if member is None:
        return None
    held = getattr(value, member)
    return {"string": _string, "int": _int, "float": _float, "bool": _bool, "strings": _strings}[wanted](
        member.removesuffix("_value"), held
    )


def _string(member: str, held: Any) -> Any:
    if member == "bool":
        return "true" if held else "false"
    # How a double is rendered is Arrow's choice: the test compares those as numbers.
    return held if member == "string" else str(held) if member in ("int", "double") else UNREADABLE


def _int(member: str, held: Any) -> Any:
    if member == "int":
        return held
    if member == "double":
        return int(held) if math.isfinite(held) and abs(held) < 2**53 and held == int(held) else UNREADABLE
    if member == "string" and re.fullmatch(r"[+-]?[0-9]+", held) and int(held) in INT64:
        return int(held)
    return UNREADABLE


def _float(member: str, held: Any) -> Any:
    if member in ("double", "int"):
        return float(held)
    if member == "string" and held == held.strip() and "_" not in held and held.isascii():
        try:
            return float(held)
        except ValueError:
            return UNREADABLE
    return UNREADABLE


def _bool(member: str, held: Any) -> Any:
    if member == "bool":
        return held
    return {"true": True, "false": False}.get(held.lower(), UNREADABLE) if member == "string" else UNREADABLE


def _strings(member: str, held: Any) -> Any:
    if member == "array":
        plain = all(element.WhichOneof("value") == "string_value" for element in held.values)
        return [element.string_value for element in held.values] if plain else UNREADABLE
    if member != "string":
        return UNREADABLE
    try:
        listed = json.loads(held) if held.startswith("[") else None
    except ValueError:
        listed = None
    return listed if isinstance(listed, list) and all(isinstance(x, str) for x in listed) else [held]
