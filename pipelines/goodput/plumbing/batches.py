"""Which partitions are computed together: few enough for memory, enough that what any batch costs is not paid often."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby

from goodput.plumbing.catalog import ALL
from goodput.plumbing.hours import day_of, epoch_hour, is_hour
from goodput.plumbing.node import Context, Node, hours_in, partitions_of

_ROWS_TOGETHER = 2_500_000  # of all inputs; joining them takes some 3 GB
_ROWS_WORTH_IT = 50_000  # fewer are computed faster together than side by side
_WORTH_TWO = 4  # times as many for each worker: what two batches of half of them cost more is little beside their work
_DAY_H, _WEEK_H = 24, 7 * 24


def batches(node: Node, context: Context, partitions: Collection[str], width: int = 1) -> Iterator[list[str]]:
    """Partitions that are computed together: those that lie within `together_h` hours, of so many rows at most; where
    these are few, hours and days of windows within a week.

    Where `width` batches are computed at once, they share the rows evenly.
    """
    if node.partition != "windows":
        yield from _few_together(node, context, partitions, _most_together(node, context), width)
        return
    groups = _windows_together(partitions, partitions_of(node, context) if partitions else ())
    for cells in _days_together(node, context, groups):
        holds_day = any(not is_hour(cell) for cell in cells)
        yield from [cells] if holds_day else _few_together(node, context, cells, _ROWS_TOGETHER)


def _most_together(node: Node, context: Context) -> int:
    """How many rows a batch has at most: no more than a shard, where a node's batches are cut, as to cut several hours
    at once would spare nothing."""
    shard_records = context.settings.cluster.shard_records if node.shards else None
    return min(_ROWS_TOGETHER, shard_records or _ROWS_TOGETHER)


def _count(rows: int, width: int) -> int:
    """In how many batches `width` workers compute so many rows.

    One for each, or two where that costs little more, so that who ends first has something to go on with.
    """
    if rows >= width * _WORTH_TWO * _ROWS_WORTH_IT:
        return 2 * width
    return max(1, min(width, math.ceil(rows / _ROWS_WORTH_IT)))


def _few_together(
    node: Node, context: Context, partitions: Iterable[str], most: int, width: int = 1
) -> Iterator[list[str]]:
    rows_of = {partition: _rows_of(node, context, partition) for partition in sorted(partitions)}
    batch: list[str] = []
    held, undated, left = 0, _undated_rows(node, context), sum(rows_of.values())
    shares = 1 if width == 1 else _count(left, width)
    for partition, rows in rows_of.items():
        are_few = is_hour(partition) and undated + held + rows <= _ROWS_WORTH_IT  # of days nothing is known
        reach_h = _WEEK_H if are_few else node.together_h
        is_far = batch and _starts(partition) - _starts(batch[0]) >= reach_h
        is_full = held + rows > most or held + rows / 2 > left / shares
        if batch and (is_far or is_full):
            yield batch
            left -= held
            shares = max(1, min(shares - 1, math.ceil(left / _ROWS_WORTH_IT)))
            batch, held = [], 0
        batch.append(partition)
        held += rows
    if batch:
        yield batch


def _rows_of(node: Node, context: Context, partition: str) -> int:
    """Rows of the inputs of an hour, without those of the hours around it; of other partitions nothing is known."""
    if not is_hour(partition):
        return 0
    catalog = context.lake.catalog
    return sum(part.rows for table in node.inputs for part in catalog[table].parts.get(partition, ()))


def _undated_rows(node: Node, context: Context) -> int:
    """Rows of inputs without hours: bills of many resources make many rows of an hour in which nothing was asked."""
    catalog = context.lake.catalog
    return sum(part.rows for table in node.inputs for part in catalog[table].parts.get(ALL, ()))


def _windows_together(partitions: Iterable[str], there: Collection[str]) -> Iterator[list[str]]:
    """Hours of a day, and the day: with half of its hours due, reading it once outweighs measuring the rest in vain."""
    hours_of = Counter(day_of(partition) for partition in there if is_hour(partition))
    for day, group in groupby(sorted(partitions), key=day_of):
        cells = list(group)
        hours = [cell for cell in cells if is_hour(cell)]
        days = [cell for cell in cells if "T" not in cell]
        yield from [cells] if 2 * len(hours) >= hours_of[day] else [batch for batch in (hours, days) if batch]


def _days_together(node: Node, context: Context, groups: Iterable[list[str]]) -> Iterator[list[str]]:
    """Days that follow each other and have few rows are one group; all else stays as it is."""
    together: list[str] = []
    held, undated = 0, _undated_rows(node, context)
    for cells in groups:
        day = day_of(cells[0])
        holds_day = day in cells
        rows = sum(_rows_of(node, context, hour) for hour in hours_in(day)) if holds_day else 0
        follows = holds_day and together and _starts(day) - _starts(day_of(together[-1])) == _DAY_H
        span_h = _starts(day) + _DAY_H - _starts(day_of(together[0])) if together else 0
        are_few = undated + held + rows <= _ROWS_WORTH_IT
        if together and not (follows and are_few and span_h <= _WEEK_H):
            yield together
            together, held = [], 0
        if holds_day:
            together, held = [*together, *cells], held + rows
        else:
            yield cells
    if together:
        yield together


def _starts(partition: str) -> int:
    return 0 if partition == ALL else epoch_hour(hours_in(partition)[0])
