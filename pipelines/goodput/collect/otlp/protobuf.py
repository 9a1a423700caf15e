"""OTLP protobuf messages to Arrow, by a descriptor that is trimmed to the fields that are read.

ptars crashes on some corrupt messages, so each first has to pass protobuf's own parser; bad ones stop there.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    message_factory,
)
from google.protobuf.message import DecodeError
from ptars import HandlerPool

from goodput.collect.otlp.fields import LOGS, SIGNALS, SPANS, Message, Scalar, Signal
from goodput.collect.otlp.framing import MessageBlock
from goodput.collect.otlp.json_lines import Parsed
from goodput.collect.otlp.limits import bad_line
from goodput.collect.otlp.nested import child
from goodput.collect.otlp.plain import NOT_PLAIN, is_plain
from goodput.collect.otlp.signals import signal_of

_PACKAGE = "goodput.otlp"
_FIELD = descriptor_pb2.FieldDescriptorProto
_ABSENT_TIME = pa.scalar(0, pa.uint64())


@dataclass(frozen=True)
class _Codec:
    """One signal's message class, to check a message with, and the handler that makes Arrow of it."""

    message_class: Any
    handler: Any

    def accepts(self, message: bytes) -> bool:
        try:
            self.message_class.FromString(message)
        except DecodeError:
            return False
        return True

    def decode(self, messages: list[bytes]) -> pa.ListArray:
        return self.handler.list_to_record_batch(messages).column(0)


@dataclass
class Habit:
    """What the messages of a file have been so far: what is tried first, and may turn out wrong at no loss."""

    signal: Signal
    plain: bool = True  # no attribute is a list, a map, a boolean or bytes


def parse_messages(block: MessageBlock, habit: Habit) -> list[Parsed]:
    """Decode a block; messages of another signal than the file's are found and decoded as what they are.

    Ids are bytes, times uint64, integers int64; otherwise the arrays are those of `json_lines.parse_lines`.
    A message that is no valid protobuf is a bad line and takes nothing else with it.
    """
    expected = habit.signal
    codec = _codec(expected)
    if all(codec.accepts(message) for message in block.messages):
        batches = _decoded(block.messages, expected, habit)
        if _look_like(batches, expected):
            numbers = np.array(block.numbers, dtype=np.int64)
            return [Parsed({expected.root: batches}, numbers, block.bad_lines)]
    return _parse_by_signal(block, habit)


def is_valid(message: bytes) -> bool:
    """Whether a message is one of some signal, with a record."""
    signal = signal_of(message, len(message))
    return signal is not None and _codec(signal).accepts(message)


def _decoded(messages: list[bytes], signal: Signal, habit: Habit) -> pa.ListArray:
    if signal is SPANS and habit.plain:
        batches = _codec(SPANS, plain=True).decode(messages)
        if is_plain(batches):
            return batches
        habit.plain = False
    return _codec(signal).decode(messages)


def _parse_by_signal(block: MessageBlock, habit: Habit) -> list[Parsed]:
    sorted_out: dict[str, MessageBlock] = {signal.root: MessageBlock() for signal in SIGNALS}
    bad_lines = list(block.bad_lines)
    for message, number in zip(block.messages, block.numbers, strict=True):
        signal = signal_of(message, len(message)) or habit.signal
        if not _codec(signal).accepts(message):
            bad_lines.append(bad_line(number, "not a valid OTLP protobuf message", message))
            continue
        sorted_out[signal.root].messages.append(message)
        sorted_out[signal.root].numbers.append(number)
    parsed = [Parsed({}, np.zeros(0, np.int64), bad_lines)]
    for signal in SIGNALS:
        part = sorted_out[signal.root]
        if part.messages:
            batches = {signal.root: _decoded(part.messages, signal, habit)}
            parsed.append(Parsed(batches, np.array(part.numbers, dtype=np.int64)))
    return parsed


def _look_like(batches: pa.ListArray, signal: Signal) -> bool:
    """Whether all records carry what only this signal's do: the three differ in the types of their fields."""
    scopes = pc.list_flatten(child(pc.list_flatten(batches), signal.scopes))
    records = pc.list_flatten(child(scopes, signal.records))
    if signal is SPANS:
        sound = pc.and_(
            pc.equal(pc.binary_length(child(records, "traceId")), 16),
            pc.equal(pc.binary_length(child(records, "spanId")), 8),
        )
    elif signal is LOGS:
        time, seen = child(records, "timeUnixNano"), child(records, "observedTimeUnixNano")
        sound = pc.or_(pc.not_equal(time, _ABSENT_TIME), pc.not_equal(seen, _ABSENT_TIME))
    else:
        length = pc.binary_length(child(records, "name"))
        sound = pc.and_(pc.greater(length, 0), pc.not_equal(length, 16))
    return bool(pc.all(sound, skip_nulls=False).as_py())


@cache
def _codec(signal: Signal, *, plain: bool = False) -> _Codec:
    package = f"{_PACKAGE}.{'plain.' if plain else ''}{signal.root}"
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
    _describe(signal.message, file, set(), left_out=NOT_PLAIN if plain else ())
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    descriptor = pool.FindMessageTypeByName(f"{file.package}.{signal.message.name}")
    handler = HandlerPool([descriptor.file]).get_for_message(descriptor)
    return _Codec(message_factory.GetMessageClass(descriptor), handler)


def _describe(
    message: Message, file: descriptor_pb2.FileDescriptorProto, done: set[str], left_out: Collection[str]
) -> None:
    """Add a message, and those that its fields hold, to the file, but for fields of the names `left_out`."""
    if message.name in done:
        return
    done.add(message.name)
    described = file.message_type.add(name=message.name)
    if message.union:
        described.oneof_decl.add(name="value")
    for item in message.fields:
        if item.name in left_out:
            continue
        label = _FIELD.LABEL_REPEATED if item.repeated else _FIELD.LABEL_OPTIONAL
        added = described.field.add(name=item.name, number=item.number, label=label)
        if message.in_union(item):
            added.oneof_index = 0
        if isinstance(item.type, Scalar):
            added.type = getattr(_FIELD, f"TYPE_{item.type.proto_type.upper()}")
        else:
            added.type = _FIELD.TYPE_MESSAGE
            added.type_name = f".{file.package}.{item.type.name}"
            _describe(item.type, file, done, left_out)
