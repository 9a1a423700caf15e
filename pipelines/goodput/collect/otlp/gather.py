"""Puts consecutive blocks together, so that what costs the same for any block is paid less often."""

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from goodput.collect.otlp.decode import OtlpBlock

_ROWS_AT_ONCE = 30_000


def gathered(blocks: Iterable[OtlpBlock]) -> Iterator[OtlpBlock]:
    """The same rows in the same order in fewer blocks; no more of them is held than a few small blocks."""
    waiting: list[OtlpBlock] = []
    for block in blocks:
        waiting.append(block)
        if sum(one.rows for one in waiting) >= _ROWS_AT_ONCE:
            yield _together(waiting)
            waiting = []
    if waiting:
        yield _together(waiting)


def _together(blocks: Sequence[OtlpBlock]) -> OtlpBlock:
    if len(blocks) == 1:
        return blocks[0]
    return OtlpBlock(
        spans=_one_table([block.spans for block in blocks]),
        logs=_one_table([block.logs for block in blocks]),
        points=_one_table([block.points for block in blocks]),
        point_counts=_one_table([block.point_counts for block in blocks]),
        unread_metrics=_one_table([block.unread_metrics for block in blocks]),
        lines=sum(block.lines for block in blocks),
        bad_lines=[bad for block in blocks for bad in block.bad_lines],
    )


def _one_table(tables: Sequence[pa.Table | None]) -> pa.Table | None:
    present = [table for table in tables if table is not None]
    return pa.concat_tables(present) if present else None
