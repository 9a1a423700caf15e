"""Tells spans, log records and metrics apart in protobuf bytes: the three share their field numbers."""

from collections.abc import Iterator
from contextlib import suppress

from goodput.collect.otlp.fields import LOGS, METRICS, SPANS, Signal

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_RESOURCE, _SCOPE, _SCHEMA_URL = 1, 1, 3
_METRIC_DATA = {5, 7, 9, 10, 11}


def signal_of(message: bytes, length: int) -> Signal | None:
    """The signal of a message by its first record; None where it holds none, or is no OTLP.

    `message` may be only the beginning of a message of `length` bytes.
    """
    view = memoryview(message)
    with suppress(ValueError):
        for record in _records(view, length):
            return _signal_of_record(record)
    return None


def _records(message: memoryview, length: int) -> Iterator[memoryview]:
    """Yield each record: what stands in field 2 of field 2 of field 1."""
    for number, kind, batch in _fields(message, length):
        if (number, kind) != (1, _LENGTH):
            raise ValueError("no OTLP message")
        for _, _, scope in _members(batch):
            for _, _, record in _members(scope):
                yield record


def _members(message: memoryview) -> Iterator[tuple[int, int, memoryview]]:
    """Field 2 of a ResourceX or ScopeX, which hold nothing but fields 1 to 3 and, in an old version, 1000."""
    for field in _fields(message, None):
        if field[1] != _LENGTH or field[0] not in (1, 2, 3, 1000):
            raise ValueError("no OTLP message")
        if field[0] == 2:
            yield field


def _signal_of_record(record: memoryview) -> Signal | None:
    seen: dict[tuple[int, int], int] = {}
    with suppress(ValueError):  # what has been seen before a cut may be enough
        for number, kind, content in _fields(record, None):
            seen.setdefault((number, kind), len(content))
    if seen.keys() & {(1, _FIXED64), (11, _FIXED64)}:
        return LOGS
    ids = seen.get((1, _LENGTH)) == 16 and seen.get((2, _LENGTH)) == 8
    if ids or seen.keys() & {(7, _FIXED64), (8, _FIXED64)}:
        return SPANS
    if (1, _LENGTH) in seen and any((number, _LENGTH) in seen for number in _METRIC_DATA):
        return METRICS
    return LOGS if seen.keys() & {(2, _VARINT), (5, _LENGTH)} else None


def _fields(message: memoryview, length: int | None) -> Iterator[tuple[int, int, memoryview]]:
    """Each field's number, wire type and content. A last field may be cut short. Raises ValueError."""
    at, end = 0, len(message)
    while at < end:
        tag, at = _varint(message, at)
        number, kind = tag >> 3, tag & 7
        start = at
        if kind == _LENGTH:
            size, start = _varint(message, at)
            at = start + size
        elif kind == _VARINT:
            _, at = _varint(message, at)
        elif kind in (_FIXED64, _FIXED32):
            at += 8 if kind == _FIXED64 else 4
        else:
            raise ValueError("no OTLP message")
        if number == 0 or (length is not None and at > length):
            raise ValueError("no OTLP message")
        yield number, kind, message[start:at]


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(message):
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            break
    raise ValueError("varint does not end")
