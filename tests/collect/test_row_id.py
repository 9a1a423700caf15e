"""Identity of rows without one: equal rows and only they share an id, today and in the next version."""

import hashlib

import polars as pl

from goodput.collect.row_id import row_ids


def test_an_id_is_the_hash_of_the_values_as_text() -> None:
    frame = pl.DataFrame({"a": ["x"], "b": [1.5], "c": [None]}, schema={"a": pl.String, "b": pl.Float64, "c": pl.Int64})
    assert row_ids(frame).to_list() == [hashlib.md5(b'["x","1.5",null]', usedforsecurity=False).hexdigest()]


def test_null_is_no_text_and_values_do_not_run_into_each_other() -> None:
    rows = [("ab", "c"), ("a", "bc"), ("abc", ""), ("abc", None), (None, "abc"), ("NULL", "abc"), ('a","b', "c")]
    ids = row_ids(pl.DataFrame(rows, schema=["a", "b"], orient="row")).to_list()
    assert len(set(ids)) == len(rows)


def test_a_row_has_its_id_wherever_it_stands() -> None:
    frame = pl.DataFrame({"a": [f"row {n % 500}" for n in range(1000)]})
    ids = row_ids(frame).to_list()
    assert ids[:500] == ids[500:]
    assert len(set(ids)) == 500
    assert row_ids(frame.reverse()).to_list() == ids[::-1]


def test_a_frame_of_many_chunks_has_the_ids_of_its_rows_in_their_order() -> None:
    """DuckDB reads chunks in threads of its own: nine of ten times the rows of these come back in another order."""
    lengths = [1, 1, 50_000, 1, 60_000, 2]
    frame = pl.concat([pl.DataFrame({"a": [f"{n}-{i}" for i in range(rows)]}) for n, rows in enumerate(lengths)])
    expected = [hashlib.md5(f'["{text}"]'.encode(), usedforsecurity=False).hexdigest() for text in frame["a"]]
    for _ in range(5):
        assert row_ids(frame).to_list() == expected
