"""How a file holds OTLP, and the blocks that it is cut into."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from goodput.collect.otlp.fields import Signal
from goodput.collect.otlp.limits import BadLine
from goodput.collect.otlp.nested import Index
from goodput.collect.otlp.streams import Compression

BLOCK_BYTES = 8 * 2**20
_LONG_LINE_BYTES = 2**12
LINES_OF_A_FILE = 2**32  # of files that are read together the lines of the n-th are counted on from n times this
BLOCK_ROWS = 2**16  # of lines or messages: each may be a bad one that has to be reported


@dataclass(frozen=True)
class Framing:
    """A file's compression, what parts its messages, their encoding, and the first one's signal."""

    compression: Compression
    parted_by: Literal["lines", "lengths"]
    encoding: Literal["json", "protobuf"]
    zstd_messages: bool = False  # each message is a zstd frame of its own
    signal: Signal | None = None  # protobuf does not say which signal it is


@dataclass
class LineBlock:
    """Whole lines, each ended by a newline, and how many; `first_line` is the 1-based number of the first."""

    data: bytes
    first_line: int
    lines: int
    bad_lines: list[BadLine] = field(default_factory=list)

    @property
    def size_bytes(self) -> int:
        """Bytes of its lines."""
        return len(self.data)

    @property
    def numbers(self) -> Index:
        """The number of each line."""
        return np.arange(self.first_line, self.first_line + self.lines)


@dataclass
class MessageBlock:
    """Messages and their 1-based numbers."""

    messages: list[bytes] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    bad_lines: list[BadLine] = field(default_factory=list)

    @property
    def size_bytes(self) -> int:
        """Bytes of its messages."""
        return sum(map(len, self.messages))


class Framed(NamedTuple):
    """What lies in a file of one block, or in an empty one: in what framing, and its lines or messages."""

    framing: Framing | None
    block: LineBlock | MessageBlock | None


def line_ends(data: bytes) -> Index:
    """Where each newline stands; a search is quicker than a look at every byte as long as lines are long."""
    ends = []
    at = data.find(b"\n")
    while at >= 0:
        ends.append(at)
        if len(ends) * _LONG_LINE_BYTES > at + _LONG_LINE_BYTES:
            return np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
        at = data.find(b"\n", at + 1)
    return np.array(ends, dtype=np.int64)
