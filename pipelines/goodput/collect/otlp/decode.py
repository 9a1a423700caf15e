"""Decodes blocks of lines and messages of OTLP into tables of spans, log records and readings of metrics."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
import pyarrow as pa

from goodput.collect.otlp.attributes import Wanted
from goodput.collect.otlp.events import WantedEvents
from goodput.collect.otlp.fields import LOGS, METRICS, SPANS
from goodput.collect.otlp.framing import LINES_OF_A_FILE, Framed, Framing, LineBlock, MessageBlock
from goodput.collect.otlp.json_lines import Parsed, parse_lines
from goodput.collect.otlp.limits import BadLine, Limits
from goodput.collect.otlp.nested import Index
from goodput.collect.otlp.points import POINT_COLUMNS, points_table
from goodput.collect.otlp.protobuf import Habit, parse_messages
from goodput.collect.otlp.records import LOG_COLUMNS, SPAN_COLUMNS, check_keys, logs_table, spans_table


@dataclass
class OtlpBlock:
    """Some lines or messages, as received; a signal that none of them holds is None.

    `spans` and `logs` have the columns `records.SPAN_COLUMNS` and `LOG_COLUMNS`, one per wanted key and one,
    named "resource." and the key, per wanted resource key. `points` has the columns `points.POINT_COLUMNS` and those
    of the resource keys. `point_counts` (line, points, folded) has how many readings of every name a line has, and how
    many of them are part of another's row; `unread_metrics` (line, name, readings) those of metrics that are not read.
    `lines` counts bad lines too, blank ones not.
    """

    spans: pa.Table | None = None
    logs: pa.Table | None = None
    points: pa.Table | None = None
    point_counts: pa.Table | None = None
    unread_metrics: pa.Table | None = None
    lines: int = 0
    bad_lines: list[BadLine] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """Rows and bad lines."""
        tables = (self.spans, self.logs, self.points)
        return len(self.bad_lines) + sum(len(table) for table in tables if table is not None)


class OtlpDecoder:
    """Decodes what is wanted of the attributes of spans, log records and resources, and of metrics.

    `every`: attribute of spans and name of a metric, wanted or not.
    """

    def __init__(  # noqa: PLR0913
        self,
        *,
        span_keys: Sequence[Wanted] = (),
        resource_keys: Sequence[Wanted] = (),
        log_keys: Sequence[Wanted] = (),
        wanted_events: WantedEvents | None = None,
        metric_names: Collection[str] = (),
        histogram_names: Collection[str] = (),
        limits: Limits | None = None,
        every: bool = False,
    ) -> None:
        check_keys(SPAN_COLUMNS, span_keys, resource_keys)
        check_keys(LOG_COLUMNS, log_keys, resource_keys)
        check_keys(POINT_COLUMNS, (), resource_keys)
        self.limits = limits or Limits()
        self._span_keys = span_keys
        self._resource_keys = resource_keys
        self._log_keys = log_keys
        self._wanted_events = wanted_events or WantedEvents()
        self._metric_names = metric_names
        self._histogram_names = histogram_names
        self._every = every

    def decode(self, block: LineBlock | MessageBlock, framing: Framing, habit: Habit) -> OtlpBlock:
        """The rows of a block of one file."""
        if isinstance(block, LineBlock):
            return self._tables([self._lines(block.data, block.numbers, block.bad_lines)])
        if framing.encoding == "json":
            return self._tables([self._json_messages(block)])
        return self._tables(parse_messages(block, habit))

    def decode_together(self, files: Sequence[Framed]) -> Iterator[OtlpBlock]:
        """The rows of files of one block each, whose lines are counted on from one file to the next."""
        lines: list[tuple[int, LineBlock]] = []
        messages: dict[Framing, MessageBlock] = defaultdict(MessageBlock)
        for file, (framing, block) in enumerate(files):
            if isinstance(block, LineBlock):
                lines.append((file * LINES_OF_A_FILE, block))
            elif block is not None and framing is not None:
                _add(messages[replace(framing, compression="none")], block, file * LINES_OF_A_FILE)
        if lines:
            data = b"".join(block.data for _, block in lines)
            numbers = np.concatenate([block.numbers + before for before, block in lines])
            bad = [_counted_on(bad, before) for before, block in lines for bad in block.bad_lines]
            yield self._tables([self._lines(data, numbers, bad)])
        for framing, block in messages.items():
            yield self.decode(block, framing, Habit(framing.signal or SPANS))

    def _lines(self, data: bytes, numbers: Index, bad: list[BadLine]) -> Parsed:
        parsed = parse_lines(data, numbers, self.limits)
        parsed.bad_lines += bad
        return parsed

    def _json_messages(self, block: MessageBlock) -> Parsed:
        lines = b"".join(message.replace(b"\n", b" ") + b"\n" for message in block.messages)
        return self._lines(lines, np.array(block.numbers, dtype=np.int64), block.bad_lines)

    def _tables(self, parts: Sequence[Parsed]) -> OtlpBlock:
        block = OtlpBlock()
        for part in parts:
            block.bad_lines += part.bad_lines
            block.lines += part.lines
            for root, batches in part.batches.items():
                self._add_rows(block, root, batches, part)
        block.bad_lines.sort(key=lambda bad: bad.line)
        return block

    def _add_rows(self, block: OtlpBlock, root: str, batches: pa.ListArray, part: Parsed) -> None:
        if root == SPANS.root:
            keys = self._span_keys, self._resource_keys
            spans = spans_table(batches, part.numbers, *keys, self._wanted_events, every=self._every)
            block.spans = _without(spans, part.left_out.get(SPANS.records))
        elif root == LOGS.root:
            logs = logs_table(batches, part.numbers, self._log_keys, self._resource_keys)
            block.logs = _without(logs, part.left_out.get(LOGS.records))
        elif root == METRICS.root:
            names = self._metric_names, self._histogram_names
            found = points_table(batches, part.numbers, *names, self._resource_keys)
            block.points, block.unread_metrics, block.point_counts = found.readings, found.unread, found.counts


def _add(to: MessageBlock, block: MessageBlock, before: int) -> None:
    to.messages += block.messages
    to.numbers += [number + before for number in block.numbers]
    to.bad_lines += [_counted_on(bad, before) for bad in block.bad_lines]


def _counted_on(bad: BadLine, before: int) -> BadLine:
    return replace(bad, line=bad.line + before)


def _without(rows: pa.Table, left_out: Sequence[tuple[int, int]] | None) -> pa.Table:
    """The rows but for those of some lines and positions."""
    if not left_out:
        return rows
    places = pl.DataFrame(rows.select(["line", "position"])).with_row_index("row")
    these = pl.DataFrame(left_out, schema=["line", "position"], orient="row").cast(
        {name: places.schema[name] for name in ("line", "position")}
    )
    kept = places.join(these, on=["line", "position"], how="anti", maintain_order="left")
    return rows.take(kept["row"].to_arrow())
