"""The Arrow schema that the JSON parser is given, and which keys an object may use for which field."""

from collections.abc import Collection, Mapping
from functools import cache

import pyarrow as pa

from goodput.collect.otlp.fields import LINE, Message, ProtoField, Scalar

_INTEGERS = (Scalar.INTEGER, Scalar.FIXED_INTEGER)


def arrow_schema(*, integers: pa.DataType, left_out: Collection[str] = ()) -> pa.Schema:
    """Schema of one OTLP/JSON line: `resourceSpans`, `resourceLogs` and `resourceMetrics`, as far as read.

    Integer values are strings by the specification; some SDKs write numbers. Fields of the names `left_out`, in
    whatever message, are not in it: each costs the parser a null in every object that lacks it.
    """
    return pa.schema(list(_struct(LINE, integers, left_out)))


@cache
def fields_by_key(message: Message) -> Mapping[str, ProtoField]:
    """The message's fields by each key that stands for one: lowerCamelCase, and snake_case."""
    return {key: item for item in message.fields for key in (item.name, item.snake_name)}


def snake_keys() -> list[str]:
    """Every snake_case key that stands for a field: the fast parser knows only lowerCamelCase."""
    return sorted(_snake_keys(LINE))


def _snake_keys(message: Message) -> set[str]:
    keys = {item.snake_name for item in message.fields if item.snake_name != item.name}
    return keys.union(*(_snake_keys(item.type) for item in message.fields if isinstance(item.type, Message)))


def _struct(message: Message, integers: pa.DataType, left_out: Collection[str]) -> pa.StructType:
    return pa.struct(
        [(item.name, _type(item, integers, left_out)) for item in message.fields if item.name not in left_out]
    )


def _type(item: ProtoField, integers: pa.DataType, left_out: Collection[str]) -> pa.DataType:
    if isinstance(item.type, Message):
        inner = _struct(item.type, integers, left_out)
    else:
        inner = integers if item.type in _INTEGERS else item.type.json_type
    return pa.list_(inner) if item.repeated else inner
