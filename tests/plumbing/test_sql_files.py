"""The SQL files and the connection that they run on; and fingerprints, which say when to run them again."""

import datetime
from pathlib import Path

import pyarrow as pa
import pytest

from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.lake import write_parquet
from goodput.plumbing.sql_files import connect, quoted, read_parts, sql_file

SQL = sorted(path.stem for path in (Path(__file__).parents[2] / "sql").glob("*.sql"))


@pytest.mark.parametrize("name", SQL)
def test_every_file_says_what_it_gives(name: str) -> None:
    header = sql_file(name).header
    assert len(header["description"]) > 20
    assert name in {"macros", "headline"} or header["grain"]


def test_times_are_utc_and_nanoseconds_are_cut_not_rounded() -> None:
    with connect() as connection:
        at_nanosecond = "SELECT at_utc(t), at_utc(t)::VARCHAR FROM (SELECT 1795165200123456999 AS t)"
        ((at, text),) = connection.sql(at_nanosecond).fetchall()
    assert at == datetime.datetime(2026, 11, 20, 9, 0, 0, 123456, tzinfo=datetime.UTC)
    assert text == "2026-11-20 09:00:00.123456+00"


def test_a_ratio_of_nothing_is_unknown() -> None:
    with connect() as connection:
        assert connection.sql("SELECT ratio(1, 4), ratio(0, 4), ratio(0, 0), ratio(1, NULL)").fetchall() == [
            (0.25, 0.0, None, None)
        ]


def test_parts_are_one_relation_whatever_columns_a_file_lacks(tmp_path: Path) -> None:
    write_parquet(tmp_path / "a=1/part.parquet", pa.table({"x": [1]}))
    write_parquet(tmp_path / "a=2/part.parquet", pa.table({"x": [2], "y": ["b"]}))
    files = [str(tmp_path / f"a={n}/part.parquet") for n in (1, 2)]
    with connect() as connection:
        read_parts(connection, "parts", files, pa.schema([]))
        assert connection.sql("SELECT * FROM parts ORDER BY x").fetchall() == [(1, None), (2, "b")]
        read_parts(connection, "none", [], pa.schema([("x", pa.int64())]))
        assert connection.sql("SELECT * FROM none").fetchall() == []


def test_text_is_quoted() -> None:
    with connect() as connection:
        assert connection.sql("SELECT " + quoted("it's; --")).fetchall() == [("it's; --",)]


def test_equal_parts_give_equal_fingerprints() -> None:
    assert fingerprint({"a": 1, "b": [2]}, "c") == fingerprint({"b": [2], "a": 1}, "c")
    assert fingerprint(Path("/x"), None) == fingerprint("/x", None)
    different = [fingerprint(*parts) for parts in (("a", "b"), ("ab",), (["a", "b"],), ("b", "a"), ())]
    assert len(set(different)) == 5
    assert all(len(text) == 32 for text in different)
