"""Numbers that stand for texts: two texts never share one, however they count up.

DuckDB's hash() reads 8 bytes at a time, and what differs in the last of them only can cancel out with the next.
"""

import re
from collections.abc import Sequence

import pytest

from goodput.plumbing.sql_files import connect, sql_file, sql_names

ENDS_OF_WORDS = (7, 15, 23, 6, 14, 22)


def counting(length: int, places: Sequence[int]) -> str:
    """SQL of texts of zeros, in which the digits of `i` lie at some places."""
    digits = {place: f"(i // {10**nth}) % 10" for nth, place in enumerate(places)}
    return " || ".join(f"({digits.get(place, 0)})::VARCHAR" for place in range(length))


@pytest.mark.parametrize("length", [8, 13, 16, 17, 20, 23, 24, 31, 32, 36, 39, 47])
def test_texts_that_count_up_have_numbers_of_their_own(length: int) -> None:
    places = [place for place in ENDS_OF_WORDS if place < length]
    for chosen in (places, [length - 1 - place for place in places], range(min(length, 5))):
        rows = 10 ** min(len(chosen), 5)
        texts = f"SELECT {counting(length, chosen)} AS text FROM range({rows}) AS r(i)"
        with connect() as connection:
            sql = f"SELECT count(DISTINCT text), count(DISTINCT text_hash(text)) FROM ({texts})"
            assert connection.sql(sql).fetchall() == [(rows, rows)]


def test_hash_alone_is_no_such_number() -> None:
    """Where DuckDB mends it, `text_hash` may go."""
    with connect() as connection:
        texts = f"SELECT {counting(32, ENDS_OF_WORDS)} AS text FROM range(100000) AS r(i)"
        ((different,),) = connection.sql(f"SELECT count(DISTINCT hash(text)) FROM ({texts})").fetchall()
    assert different < 50_000


@pytest.mark.parametrize("name", sorted(sql_names()))
def test_what_stands_for_a_text_is_its_text_hash(name: str) -> None:
    """A hash that is given a name is compared with others; one in a condition only says which rows to look at."""
    assert not re.search(r"\bhash\([^()]*\)(\s+END)?\s+AS\s", sql_file(name).text)
