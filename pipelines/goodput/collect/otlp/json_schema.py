"""The Arrow schema that the JSON parser is given, and which keys an object may use for which field."""

from collections.abc import Mapping
from functools import cache

import pyarrow as pa

from goodput.collect.otlp.fields import LINE, Field, Message, Scalar


def arrow_schema() -> pa.Schema:
    """Schema of one OTLP/JSON line: `resourceSpans`, `resourceLogs` and `resourceMetrics`, as far as read."""
    return pa.schema(list(_struct(LINE)))


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


def _struct(message: Message) -> pa.StructType:
    return pa.struct([(item.name, _type(item)) for item in message.fields])


def _type(item: Field) -> pa.DataType:
    inner = item.type.json_type if isinstance(item.type, Scalar) else _struct(item.type)
    return pa.list_(inner) if item.repeated else inner
