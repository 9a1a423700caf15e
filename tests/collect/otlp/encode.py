"""Writes OTLP messages as the specification says OTLP/JSON is written, and as files of the Collector's forms."""

import base64
import json
import math
import struct
from collections.abc import Iterable
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

_STRINGS = {FieldDescriptor.TYPE_INT64, FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64}
_HEX_IDS = {"trace_id", "span_id", "parent_span_id"}


def otlp_json(message: Message) -> bytes:
    """One line of OTLP/JSON, without the newline."""
    return json.dumps(_object(message), separators=(",", ":"), ensure_ascii=False).encode()


def json_lines(messages: Iterable[Message]) -> bytes:
    return b"".join(otlp_json(message) + b"\n" for message in messages)


def length_prefixed(messages: Iterable[bytes]) -> bytes:
    return b"".join(struct.pack(">I", len(message)) + message for message in messages)


def _object(message: Message) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field, value in message.ListFields():
        if field.is_repeated:
            found[field.json_name] = [_leaf(field, element) for element in value]
        else:
            found[field.json_name] = _leaf(field, value)
    return found


def _leaf(field: FieldDescriptor, value: Any) -> Any:
    if field.type == FieldDescriptor.TYPE_MESSAGE:
        return _object(value)
    if field.type in _STRINGS:
        return str(value)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return value.hex() if field.name in _HEX_IDS else base64.b64encode(value).decode()
    if field.type == FieldDescriptor.TYPE_DOUBLE and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
