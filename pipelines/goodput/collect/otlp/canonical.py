"""The tolerant reader of OTLP/JSON: rewrites one line to what the fast parser takes, or says why it cannot.

Accepted beside the strict form: snake_case keys, enum names, integers as numbers, doubles as strings, NaN.
"""

import json
import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

from goodput.collect.otlp.fields import ANY_VALUE, BODY, LINE, Field, Message, Scalar
from goodput.collect.otlp.json_schema import fields_by_key

_INT32 = range(-(2**31), 2**31)
_JSON_TYPES = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}


class NotOtlpError(ValueError):
    """A line that cannot be read as OTLP/JSON."""


class _Repeating(dict[str, Any]):
    """An object in which some keys stand more than once."""

    repeated: frozenset[str]


def canonical_line(line: bytes) -> bytes:
    """The line as strict OTLP/JSON, reduced to the fields that are read. Raises NotOtlpError."""
    try:
        document = _DECODER.decode(line.decode().strip(" \t\r\n"))
        reduced = _object(document, LINE, "the line")
        return json.dumps(reduced, ensure_ascii=False, separators=(",", ":")).encode()
    except NotOtlpError:
        raise
    except UnicodeDecodeError as error:
        raise NotOtlpError(f"invalid UTF-8 at byte {error.start}") from error
    except UnicodeEncodeError as error:
        raise NotOtlpError("a string holds half of a surrogate pair") from error
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


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs)


def _object(value: object, message: Message, where: str) -> dict[str, Any]:
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
        found[item.name] = None if inner is None else _field(inner, item)
    return found


def _field(value: object, item: Field) -> object:
    if not item.repeated:
        return _single(value, item)
    if not isinstance(value, list):
        raise NotOtlpError(f"{item.name} is {_described(value)}, not an array")
    return [None if inner is None else _single(inner, item) for inner in value]


def _single(value: object, item: Field) -> object:
    if item.type is ANY_VALUE or item.type is BODY:
        return _any_value(value, item.type)
    if isinstance(item.type, Message):
        return _object(value, item.type, item.name)
    return _LEAVES[item.type](value, item)


def _any_value(value: object, message: Message) -> dict[str, Any]:
    """An attribute's value or a body; where it breaks the rules, bytes: there, but not readable as any wanted type."""
    try:
        return _object(value, message, "value")
    except NotOtlpError:
        return {"bytesValue": ""}


def _text(value: object, item: Field) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return json.dumps(value)
    raise NotOtlpError(f"{item.name} is {_described(value)}, not a string")


def _decimal(value: object, item: Field) -> str:
    if isinstance(value, bool):
        raise NotOtlpError(f"{item.name} is a boolean, not an integer")
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return _text(value, item)


def _double(value: object, item: Field) -> float:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:  # an integer of hundreds of digits, which Arrow's parser makes infinite too
            return math.copysign(math.inf, 1 if isinstance(value, int) and value > 0 else -1)
        except ValueError:
            pass
    raise NotOtlpError(f"{item.name} is {_described(value)}, not a number")


def _bool(value: object, item: Field) -> bool:
    if isinstance(value, bool):
        return value
    raise NotOtlpError(f"{item.name} is {_described(value)}, not a boolean")


def _enum(value: object, item: Field) -> int:
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
