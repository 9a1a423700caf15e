"""Blocks put together hold the same rows in the same order, whichever signals each of them had."""

import pyarrow as pa

from goodput.collect.otlp.decode import OtlpBlock
from goodput.collect.otlp.gather import gathered
from goodput.collect.otlp.limits import BadLine


def _table(first: int, rows: int) -> pa.Table:
    return pa.table({"number": pa.array(range(first, first + rows), pa.int64())})


def _numbers(tables: list[pa.Table | None]) -> list[int]:
    return [number for table in tables if table is not None for number in table["number"].to_pylist()]


def test_small_blocks_become_one_with_the_rows_of_each_signal_in_order() -> None:
    small = [
        OtlpBlock(spans=_table(0, 2), lines=2, bad_lines=[BadLine(1, "torn", "{")]),
        OtlpBlock(logs=_table(10, 1), points=_table(20, 3), point_counts=_table(4, 1), lines=1),
        OtlpBlock(spans=_table(2, 1), logs=_table(11, 1), lines=3, bad_lines=[BadLine(5, "torn", "[")]),
    ]
    (block,) = gathered(small)
    assert _numbers([block.spans]) == [0, 1, 2]
    assert _numbers([block.logs]) == [10, 11]
    assert _numbers([block.points]) == [20, 21, 22]
    assert _numbers([block.point_counts]) == [4]
    assert (block.lines, [bad.line for bad in block.bad_lines]) == (6, [1, 5])


def test_no_more_is_held_than_it_takes_to_be_many() -> None:
    blocks = list(gathered(OtlpBlock(spans=_table(12_000 * number, 12_000)) for number in range(7)))
    assert [block.spans.num_rows for block in blocks if block.spans] == [36_000, 36_000, 12_000]
    assert _numbers([block.spans for block in blocks]) == list(range(84_000))


def test_a_signal_that_no_block_has_stays_absent() -> None:
    (block,) = gathered([OtlpBlock(spans=_table(0, 1)), OtlpBlock(spans=_table(1, 1))])
    assert block.logs is None
    assert block.points is None
    assert list(gathered([])) == []
