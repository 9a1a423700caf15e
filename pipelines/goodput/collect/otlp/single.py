"""Judges one OTLP message by itself, by the very code that reads files: what passes here is read from a file.

For those who write files of messages; how these are delivered is not known here.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from goodput.collect.otlp.fields import SIGNALS, Signal
from goodput.collect.otlp.framing import Framing, MessageBlock
from goodput.collect.otlp.json_lines import parse_lines
from goodput.collect.otlp.limits import Limits
from goodput.collect.otlp.line_framing import BOM
from goodput.collect.otlp.message_heads import LENGTH
from goodput.collect.otlp.nested import child
from goodput.collect.otlp.protobuf import Habit, parse_messages
from goodput.collect.otlp.sniff import HEAD_BYTES, framing_of

_EMPTY_OBJECT = b"{}"
_ENDS_OF_LINES = bytes.maketrans(b"\r\n", b"  ")


@dataclass(frozen=True)
class SingleMessage:
    """One message as it stands in a file of its kind, and how many spans, log records or metrics it holds."""

    content: bytes
    records: int


class Unreadable(ValueError):
    """A message that the reader of files would not read as its signal; the text says why."""


def framed_line(message: bytes, signal: Signal, limits: Limits) -> SingleMessage:
    """A message of OTLP/JSON as one line, of which at least one record can be read. Raises Unreadable."""
    line = message.removeprefix(BOM).translate(_ENDS_OF_LINES).strip() + b"\n"
    if line.rstrip() == _EMPTY_OBJECT:
        return SingleMessage(b"", 0)
    if not line.strip():
        raise Unreadable("is empty, which is no JSON")
    parsed = parse_lines(line, np.ones(1, np.int64), limits)
    for bad in parsed.bad_lines:
        if bad.position is None:
            raise Unreadable(bad.reason)
    framed = _framed(line, parsed.batches, signal, Framing("none", "lines", "json"))
    if parsed.bad_lines and framed.records == len(parsed.left_out.get(signal.records, ())):
        raise Unreadable(parsed.bad_lines[0].reason)
    return framed


def framed_message(message: bytes, signal: Signal, limits: Limits) -> SingleMessage:
    """A message of protobuf after its length. Raises Unreadable."""
    if len(message) > limits.max_line_bytes:
        raise Unreadable(f"longer than max_line_bytes ({limits.max_line_bytes})")
    parts = parse_messages(MessageBlock([message], [1]), Habit(signal))
    for part in parts:
        for bad in part.bad_lines:
            raise Unreadable(bad.reason)
    batches = {root: batch for part in parts for root, batch in part.batches.items()}
    content = LENGTH.pack(len(message)) + message
    return _framed(content, batches, signal, Framing("none", "lengths", "protobuf", signal=signal))


def _framed(content: bytes, batches: dict[str, pa.ListArray], signal: Signal, framing: Framing) -> SingleMessage:
    """Refuses what would be another signal, or would keep a file that begins with it from being known as OTLP."""
    others = [other.root for other in SIGNALS if other is not signal and other.root in batches]
    if others:
        raise Unreadable(f"{others[0]} where {signal.root} belong")
    records = _count(batches[signal.root], signal)
    if records and framing_of(content[:HEAD_BYTES]) != framing:
        raise Unreadable(f"does not look like {signal.root}")
    return SingleMessage(content, records)


def _count(batches: pa.ListArray, signal: Signal) -> int:
    scopes = pc.list_flatten(child(pc.list_flatten(batches), signal.scopes))
    return pc.sum(pc.list_value_length(child(scopes, signal.records))).as_py() or 0
