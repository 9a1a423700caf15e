"""The tolerant reader of OTLP/JSON: rewrites one line to what the fast parser takes, or says why it cannot.

Accepted beside the strict form: snake_case keys, enum names, integers as numbers, doubles as strings, NaN.
A span, log record, metric or point that breaks the rules is left out, and takes nothing else with it.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from goodput.collect.otlp.fields import (
    ANY_VALUE,
    BODY,
    HISTOGRAM_POINT,
    LINE,
    LOGS,
    METRICS,
    SPANS,
    Message,
    ProtoField,
    Scalar,
)
from goodput.collect.otlp.json_schema import fields_by_key
from goodput.collect.otlp.points import HISTOGRAM_READINGS

_HALF_PAIR = re.compile("[\ud800-\udfff]")
_INT32 = range(-(2**31), 2**31)
_POINTS = "dataPoints"
_RECORDS = frozenset({SPANS.records, LOGS.records, METRICS.records, _POINTS})
_MOST_DIGITS = 4000  # of an integer; what has more is beyond every number that is read
_JSON_TYPES = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}


class NotOtlpError(ValueError):
    """A line that cannot be read as OTLP/JSON."""


class TooManyError(NotOtlpError):
    """More records of a line break the rules than are left out one by one."""


class _Repeating(dict[str, Any]):
    """An object in which some keys stand more than once."""

    repeated: frozenset[str]


@dataclass(frozen=True)
class LeftOut:
    """One record that breaks the rules: in which list, its position, what is wrong with it, and its JSON.

    A span or log record has the position that it has in its line. A metric or point has one behind those of all
    readings of the line, which are numbered without it.
    """

    records: str
    position: int
    reason: str
    content: bytes


@dataclass
class _Account:
    """Of the records of one line so far: how many there are in lists of each name, and which are left out."""

    most: int
    counts: Counter[str] = field(default_factory=Counter)
    left_out: list[LeftOut] = field(default_factory=list)

    def leave_out(self, records: str, position: int, error: NotOtlpError, record: object) -> None:
        """Note a record. Raises NotOtlpError where there are too many: then it is the line that is bad."""
        if len(self.left_out) >= self.most:
            raise TooManyError(f"{error}; too many of its records are wrong to read the others")
        self.left_out.append(LeftOut(records, position, str(error), json.dumps(record).encode()))

    def numbered(self) -> list[LeftOut]:
        readings = self.counts[_POINTS]
        behind = iter(range(readings, readings + len(self.left_out)))
        in_metrics = (METRICS.records, _POINTS)
        return [replace(one, position=next(behind)) if one.records in in_metrics else one for one in self.left_out]


@dataclass(frozen=True)
class Canonical:
    """A line as strict OTLP/JSON; spans and log records that are left out stand in it as null, in their places."""

    line: bytes
    left_out: list[LeftOut]


def canonical_line(line: bytes, most_left_out: int) -> Canonical:
    """The line reduced to the fields that are read. Raises NotOtlpError, also where more records would be left out."""
    try:
        document = _DECODER.decode(line.decode().strip(" \t\r\n"))
        account = _Account(most_left_out)
        reduced = _object(document, LINE, "the line", account)
        return Canonical(json.dumps(reduced, ensure_ascii=False, separators=(",", ":")).encode(), account.numbered())
    except NotOtlpError:
        raise
    except UnicodeDecodeError as error:
        raise NotOtlpError(f"invalid UTF-8 at byte {error.start}") from error
    except RecursionError as error:
        raise NotOtlpError("nested too deeply") from error
    except ValueError as error:  # JSONDecodeError, and numbers with more digits than Python converts
        raise NotOtlpError(f"invalid JSON: {error}") from error


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    repeating = _Repeating(found)
    counts = Counter(key for key, _ in pairs)
    repeating.repeated = frozenset(key for key, count in counts.items() if count > 1)
    return repeating


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_int=_integer)


def _object(value: object, message: Message, where: str, account: _Account) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise NotOtlpError(f"{where} is {_described(value)}, not an object")
    known = fields_by_key(message)
    repeated = value.repeated if isinstance(value, _Repeating) else frozenset()
    found: dict[str, Any] = {}
    for key, inner in value.items():
        item = known.get(key)
        if item is None:
            continue
        if key in repeated or item.name in found:
            raise NotOtlpError(f"{item.name} stands twice in one object")
        found[item.name] = None if inner is None else _field(inner, item, account)
    return found


def _field(value: object, item: ProtoField, account: _Account) -> object:
    if not item.repeated:
        return _single(value, item, account)
    if not isinstance(value, list):
        raise NotOtlpError(f"{item.name} is {_described(value)}, not an array")
    if item.name in _RECORDS:
        return _records(value, item, account)
    return [None if inner is None else _single(inner, item, account) for inner in value]


def _records(values: list[object], item: ProtoField, account: _Account) -> list[object]:
    """The records of a list without those that break the rules."""
    found: list[object] = []
    readings = len(HISTOGRAM_READINGS) if item.type is HISTOGRAM_POINT else 1
    for value in values:
        points, left_out = account.counts[_POINTS], len(account.left_out)
        try:
            found.append(None if value is None else _single(value, item, account))
        except TooManyError:
            raise
        except NotOtlpError as error:
            if item.name == METRICS.records:  # its points are not there either
                account.counts[_POINTS] = points
                del account.left_out[left_out:]
            account.leave_out(item.name, account.counts[item.name], error, value)
            if item.name == _POINTS:
                continue
            found.append(None)
        account.counts[item.name] += readings
    return found


def _single(value: object, item: ProtoField, account: _Account) -> object:
    if item.type is ANY_VALUE or item.type is BODY:
        return _any_value(value, item.type, account)
    if isinstance(item.type, Message):
        return _object(value, item.type, item.name, account)
    return _LEAVES[item.type](value, item)


def _any_value(value: object, message: Message, account: _Account) -> dict[str, Any]:
    """An attribute's value or a body; where it breaks the rules, bytes: there, but not readable as any wanted type."""
    try:
        return _object(value, message, "value", account)
    except NotOtlpError:
        return {"bytesValue": ""}


def _text(value: object, item: ProtoField) -> str:
    if isinstance(value, str):
        if not value.isascii() and _HALF_PAIR.search(value):
            raise NotOtlpError("a string holds half of a surrogate pair")
        return value
    if isinstance(value, int | float):
        return json.dumps(value)
    raise NotOtlpError(f"{item.name} is {_described(value)}, not a string")


def _decimal(value: object, item: ProtoField) -> str:
    if isinstance(value, bool):
        raise NotOtlpError(f"{item.name} is a boolean, not an integer")
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return _text(value, item)


def _double(value: object, item: ProtoField) -> float:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:  # an integer of hundreds of digits, which Arrow's parser makes infinite too
            return math.copysign(math.inf, 1 if isinstance(value, int) and value > 0 else -1)
        except ValueError:
            pass
    raise NotOtlpError(f"{item.name} is {_described(value)}, not a number")


def _bool(value: object, item: ProtoField) -> bool:
    if isinstance(value, bool):
        return value
    raise NotOtlpError(f"{item.name} is {_described(value)}, not a boolean")


def _enum(value: object, item: ProtoField) -> int:
    number = None if isinstance(value, bool) else value
    if isinstance(value, str):
        number = item.enum_names.get(value)
        if number is None and value.isdecimal() and value.isascii():
            number = int(value)
    elif isinstance(value, float) and value.is_integer():
        number = int(value)
    # range looks an integer up at once, but counts its way to anything else
    if isinstance(number, int) and number in _INT32:
        return number
    raise NotOtlpError(f"{item.name} is {_described(value)}, not one of its numbers or names")


def _described(value: object) -> str:
    return _JSON_TYPES.get(type(value)) or f"the number {json.dumps(value)[:40]}"


_LEAVES: Mapping[Scalar, Any] = {
    Scalar.TEXT: _text,
    Scalar.ID: _text,
    Scalar.BYTES: _text,
    Scalar.TIME: _decimal,
    Scalar.INTEGER: _decimal,
    Scalar.FIXED_INTEGER: _decimal,
    Scalar.DOUBLE: _double,
    Scalar.BOOL: _bool,
    Scalar.ENUM: _enum,
}
