"""Fingerprints: what is equal has the same, what differs another."""

import struct

import polars as pl
import pyarrow as pa
import pytest

from goodput.plumbing.fingerprint import fingerprint, fingerprint_of_frame

FRAME = pl.DataFrame({"name": ["a", None, "c"], "value": [1.5, None, 2.5], "count": [1, 2, None]})


def test_of_parts_and_of_what_they_are_in() -> None:
    by_b2sum = "d90afc1285c52d49a5e5d222eebae721"  # printf '["a",["b"]]' | b2sum -l 128
    assert fingerprint("a", ["b"]) == fingerprint("a", ("b",)) == by_b2sum
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    assert fingerprint("a", "b") != fingerprint("ab") != fingerprint(["a", "b"])


def numbers(under_null: int) -> pl.DataFrame:
    """7, NULL and 9, with some bytes where the NULL is."""
    buffers = [pa.py_buffer(b"\x05"), pa.py_buffer(struct.pack("<3q", 7, under_null, 9))]
    return pl.DataFrame(pa.table({"number": pa.Array.from_buffers(pa.int64(), 3, buffers)}))


def test_what_lies_under_a_null_is_no_row() -> None:
    assert numbers(1).equals(numbers(2))
    assert fingerprint_of_frame(numbers(1)) == fingerprint_of_frame(numbers(2))


def test_how_rows_lie_in_memory_is_no_row() -> None:
    pieces = pl.concat([FRAME[:1], FRAME[1:]], rechunk=False)
    assert fingerprint_of_frame(pieces) == fingerprint_of_frame(FRAME)


@pytest.mark.parametrize(
    "other",
    [
        FRAME[::-1],
        FRAME[:2],
        FRAME.rename({"name": "called"}),
        FRAME.select("value", "name", "count"),
        FRAME.with_columns(count=pl.col("count").cast(pl.Int32)),
        FRAME.with_columns(name=pl.Series(["a", "b", "c"])),
        FRAME.with_columns(value=pl.Series([1.5, 2.5, None])),
    ],
)
def test_other_rows_have_another(other: pl.DataFrame) -> None:
    assert fingerprint_of_frame(other) != fingerprint_of_frame(FRAME)
