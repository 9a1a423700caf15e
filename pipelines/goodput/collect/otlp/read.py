"""Reads a file of OTLP, in any form that the Collector and SDKs write, to tables of spans and log records.

Blocks are decoded two at a time and given in the file's order; at no time is the whole file in memory.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from goodput.collect.held import Readable
from goodput.collect.otlp.attributes import Wanted
from goodput.collect.otlp.events import WantedEvents
from goodput.collect.otlp.fields import LOGS, METRICS, SPANS
from goodput.collect.otlp.framing import Framing, LineBlock, MessageBlock
from goodput.collect.otlp.json_lines import Parsed, parse_lines
from goodput.collect.otlp.limits import BadLine, Limits
from goodput.collect.otlp.line_framing import LineFramer
from goodput.collect.otlp.message_framing import MessageFramer
from goodput.collect.otlp.points import POINT_COLUMNS, points_table
from goodput.collect.otlp.protobuf import Habit, parse_messages
from goodput.collect.otlp.records import (
    LOG_COLUMNS,
    SPAN_COLUMNS,
    check_keys,
    logs_table,
    spans_table,
)
from goodput.collect.otlp.sniff import read_head
from goodput.collect.otlp.streams import ByteStream
from goodput.errors import SourceRefused

__all__ = ["BadLine", "Limits", "OtlpBlock", "OtlpReader", "Wanted"]

_THREADS = 2
_BLOCKS_AHEAD = 2


@dataclass
class OtlpBlock:
    """Some consecutive lines or messages of a file, as received; a signal that none of them holds is None.

    `spans` and `logs` have the columns `records.SPAN_COLUMNS` and `LOG_COLUMNS`, one per wanted key and one,
    named "resource." and the key, per wanted resource key. `points` has the columns `points.POINT_COLUMNS` and those
    of the resource keys; `metric_points` counts readings of every name, `folded_points` those that are part of
    another's row, and `unread_metrics` (name, readings) those of metrics that are not read. `lines` counts bad
    lines too, blank ones not.
    """

    spans: pa.Table | None = None
    logs: pa.Table | None = None
    points: pa.Table | None = None
    metric_points: int = 0
    folded_points: int = 0
    unread_metrics: pa.Table | None = None
    lines: int = 0
    bad_lines: list[BadLine] = field(default_factory=list)


class OtlpReader:
    """One OTLP file: iterate over its blocks once, then look at how it ended.

    `torn_tail_bytes`: an unfinished last line or message, to be read when the file has grown.
    `truncated`: the compressed data breaks off. `stopped`: why reading ended early, None if it did not.
    Iterating raises SourceRefused for a file that holds no OTLP at all, or cannot be opened.
    """

    def __init__(  # noqa: PLR0913
        self,
        path: Readable,
        *,
        span_keys: Sequence[Wanted] = (),
        resource_keys: Sequence[Wanted] = (),
        log_keys: Sequence[Wanted] = (),
        wanted_events: WantedEvents | None = None,
        metric_names: Collection[str] = (),
        histogram_names: Collection[str] = (),
        limits: Limits | None = None,
        on_bytes: Callable[[int], None] | None = None,
        every: bool = False,
    ) -> None:
        check_keys(SPAN_COLUMNS, span_keys, resource_keys)
        check_keys(LOG_COLUMNS, log_keys, resource_keys)
        check_keys(POINT_COLUMNS, (), resource_keys)
        self.torn_tail_bytes = 0
        self.truncated = False
        self.stopped: str | None = None
        self._path = path
        self._span_keys = span_keys
        self._resource_keys = resource_keys
        self._log_keys = log_keys
        self._wanted_events = wanted_events or WantedEvents()
        self._metric_names = metric_names
        self._histogram_names = histogram_names
        self._limits = limits or Limits()
        self._on_bytes = on_bytes
        self._every = every  # attribute of spans and name of a metric, wanted or not

    def __iter__(self) -> Iterator[OtlpBlock]:
        try:
            head = read_head(self._path)
            framing = head.framing
            if framing:
                yield from self._blocks(framing)
            elif head.content or head.damaged:
                raise SourceRefused(self._path, "does not look like OTLP, neither JSON lines nor protobuf")
            else:  # nothing has been written yet, or nothing that can be decompressed without what is to come
                self.truncated = head.truncated
        except OSError as error:
            raise SourceRefused(self._path, f"cannot be read: {error.strerror or error}") from error

    def _blocks(self, framing: Framing) -> Iterator[OtlpBlock]:
        with self._path.open("rb") as file:
            stream = ByteStream(file, framing.compression, self._limits, self._on_bytes)
            framer: LineFramer | MessageFramer
            if framing.parted_by == "lines":
                framer = LineFramer(stream, self._limits)
            else:
                framer = MessageFramer(stream, self._limits, zstd_messages=framing.zstd_messages)
            yield from self._decoded(framer, framing)
            self.torn_tail_bytes = framer.torn_tail_bytes
            self.truncated = stream.truncated
            self.stopped = framer.stopped

    def _decoded(self, framer: LineFramer | MessageFramer, framing: Framing) -> Iterator[OtlpBlock]:
        """Read ahead while earlier blocks are decoded."""
        pending: deque[Future[OtlpBlock]] = deque()
        habit = Habit(framing.signal or SPANS)
        with ThreadPoolExecutor(_THREADS, thread_name_prefix="otlp") as pool:
            for block in framer:
                pending.append(pool.submit(self._decode, block, framing, habit))
                if len(pending) > _BLOCKS_AHEAD:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()

    def _decode(self, block: LineBlock | MessageBlock, framing: Framing, habit: Habit) -> OtlpBlock:
        if isinstance(block, LineBlock):
            numbers = np.arange(block.first_line, block.first_line + block.lines)
            parts = [parse_lines(block.data, numbers, self._limits)]
            parts[0].bad_lines += block.bad_lines
        elif framing.encoding == "json":
            lines = b"".join(message.replace(b"\n", b" ") + b"\n" for message in block.messages)
            parts = [parse_lines(lines, np.array(block.numbers, dtype=np.int64), self._limits)]
            parts[0].bad_lines += block.bad_lines
        else:
            parts = parse_messages(block, habit)
        return self._tables(parts)

    def _tables(self, parts: Sequence[Parsed]) -> OtlpBlock:
        block = OtlpBlock()
        for part in parts:
            block.bad_lines += part.bad_lines
            block.lines += part.lines
            for root, batches in part.batches.items():
                if root == SPANS.root:
                    spans = spans_table(
                        batches,
                        part.numbers,
                        self._span_keys,
                        self._resource_keys,
                        self._wanted_events,
                        every=self._every,
                    )
                    block.spans = _without(spans, part.left_out.get(SPANS.records))
                elif root == LOGS.root:
                    logs = logs_table(batches, part.numbers, self._log_keys, self._resource_keys)
                    block.logs = _without(logs, part.left_out.get(LOGS.records))
                elif root == METRICS.root:
                    points = points_table(
                        batches, part.numbers, self._metric_names, self._histogram_names, self._resource_keys
                    )
                    block.points, block.unread_metrics = points.readings, points.unread
                    block.metric_points += points.total
                    block.folded_points += points.folded
        block.bad_lines.sort(key=lambda bad: bad.line)
        return block


def _without(rows: pa.Table, left_out: Sequence[tuple[int, int]] | None) -> pa.Table:
    """The rows but for those of some lines and positions."""
    if not left_out:
        return rows
    places = rows["line"].to_numpy() << 32 | rows["position"].to_numpy()
    return rows.filter(pa.array(~np.isin(places, [line << 32 | position for line, position in left_out])))
