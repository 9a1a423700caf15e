"""Reads a file of OTLP, in any form that the Collector and SDKs write, to tables of spans and log records.

Blocks are decoded two at a time and given in the file's order; at no time is the whole file in memory.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain

from goodput.collect.held import Readable
from goodput.collect.otlp.decode import OtlpBlock, OtlpDecoder
from goodput.collect.otlp.fields import SPANS
from goodput.collect.otlp.framing import Framed, Framing, LineBlock, MessageBlock
from goodput.collect.otlp.line_framing import LineFramer
from goodput.collect.otlp.message_framing import MessageFramer
from goodput.collect.otlp.protobuf import Habit
from goodput.collect.otlp.sniff import read_head
from goodput.collect.otlp.streams import ByteStream
from goodput.collect.stopped import Stopped
from goodput.errors import SourceRefused

_THREADS = 2
_BLOCKS_AHEAD = 2
_Block = LineBlock | MessageBlock


class OtlpReader:
    """One OTLP file: iterate over its blocks once, then look at how it ended.

    `torn_tail_bytes`: an unfinished last line or message, to be read when the file has grown.
    `truncated`: the compressed data breaks off. `stopped`: why reading ended early, None if it did not.
    Iterating raises SourceRefused for a file that holds no OTLP at all, or cannot be opened.
    """

    def __init__(self, path: Readable, decoder: OtlpDecoder, on_bytes: Callable[[int], None] | None = None) -> None:
        self.torn_tail_bytes = 0
        self.truncated = False
        self.stopped: Stopped | None = None
        self._path = path
        self._decoder = decoder
        self._on_bytes = on_bytes
        self._framing: Framing | None = None
        self._framed: Iterator[_Block] | None = None

    def only_block(self) -> Framed | None:
        """What lies in a file of one block, or of none: it is not iterated over then. Raises SourceRefused."""
        with self._refusing():
            blocks = self._begun()
            first, second = next(blocks, None), next(blocks, None)
            if second is None:
                return Framed(self._framing, first)
            assert first is not None  # noqa: S101
            self._framed = chain((first, second), blocks)
            return None

    def __iter__(self) -> Iterator[OtlpBlock]:
        with self._refusing():
            blocks = self._begun()
            if self._framing:
                yield from self._decoded(blocks, self._framing)

    def _begun(self) -> Iterator[_Block]:
        if self._framed is None:
            head = read_head(self._path)
            self._framing = head.framing
            if self._framing:
                self._framed = self._blocks(self._framing)
            elif head.content or head.damaged:
                raise SourceRefused(self._path, "does not look like OTLP, neither JSON lines nor protobuf")
            else:  # nothing has been written yet, or nothing that can be decompressed without what is to come
                self.truncated = head.truncated
                self._framed = iter(())
        return self._framed

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise SourceRefused(self._path, f"cannot be read: {error.strerror or error}") from error

    def _blocks(self, framing: Framing) -> Iterator[_Block]:
        with self._path.open("rb") as file:
            stream = ByteStream(file, framing.compression, self._decoder.limits, self._on_bytes)
            framer: LineFramer | MessageFramer
            if framing.parted_by == "lines":
                framer = LineFramer(stream, self._decoder.limits)
            else:
                framer = MessageFramer(stream, self._decoder.limits, framing)
            yield from framer
            self.torn_tail_bytes = framer.torn_tail_bytes
            self.truncated = stream.truncated
            self.stopped = framer.stopped

    def _decoded(self, blocks: Iterable[_Block], framing: Framing) -> Iterator[OtlpBlock]:
        """Read ahead while earlier blocks are decoded."""
        pending: deque[Future[OtlpBlock]] = deque()
        habit = Habit(framing.signal or SPANS)
        with ThreadPoolExecutor(_THREADS, thread_name_prefix="otlp") as pool:
            for block in blocks:
                pending.append(pool.submit(self._decoder.decode, block, framing, habit))
                if len(pending) > _BLOCKS_AHEAD:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
