"""The Arrow schema that the JSON parser is given, and which keys an object may use for which field."""

from collections.abc import Mapping
from functools import cache

import pyarrow as pa

from goodput.collect.otlp.fields import LINE, Field, Message, Scalar


def arrow_schema(*, integers: pa.DataType) -> pa.Schema:
    """Schema of one OTLP/JSON line: `resourceSpans`, `resourceLogs` and `resourceMetrics`, as far as read.

    Integer values are strings by the specification; some SDKs write numbers.
    """
    return pa.schema(list(_struct(LINE, integers)))


@cache
def fields_by_key(message: Message) -> Mapping[str, Field]:
    """The message's fields by each key that stands for one: lowerCamelCase, and snake_case."""
    return {key: item for item in message.fields for key in (item.name, item.snake_name)}


def snake_keys() -> list[str]:
    """Every snake_case key that stands for a field: the fast parser knows only lowerCamelCase."""
    return sorted(_snake_keys(LINE))


def _snake_keys(message: Message) -> set[str]:
    keys = {item.snake_name for item in message.fields if item.snake_name != item.name}
    return keys.union(*(_snake_keys(item.type) for item in message.fields if isinstance(item.type, Message)))


def _struct(message: Message, integers: pa.DataType) -> pa.StructType:
    return pa.struct([(item.name, _type(item, integers)) for item in message.fields])


def _type(item: Field, integers: pa.DataType) -> pa.DataType:
    if isinstance(item.type, Message):
        inner = _struct(item.type, integers)
    else:
        inner = integers if item.type is Scalar.INTEGER else item.type.json_type
    return pa.list_(inner) if item.repeated else inner
