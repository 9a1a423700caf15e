"""How one value reads in a table."""

import math
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goodput.ask.cells import apart, shortened, shown, significant


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.5, "0.5"),
        (0.123456, "0.1235"),
        (9.99996, "10"),
        (1234.56, "1235"),
        (1234567.8, "1234568"),
        (-0.00123456, "-0.001235"),
        (1.5e-7, "1.5e-07"),
        (1e20, "1e+20"),
        (math.nan, "NaN"),
        (math.inf, "inf"),
    ],
)
def test_floats_have_four_significant_digits(value: float, text: str) -> None:
    assert significant(value) == text


@given(st.floats(min_value=1e-12, max_value=1e18))
def test_rounding_is_never_off_by_more_than_the_fourth_digit(value: float) -> None:
    assert float(significant(value)) == pytest.approx(value, rel=5.1e-4)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (True, "true"),
        (12345678901234567890, "12345678901234567890"),
        (Decimal("0.1000"), "0.1000"),
        (datetime(2026, 11, 20, 9, tzinfo=UTC), "2026-11-20T09:00:00Z"),
        (datetime(2026, 11, 20, 9, 0, 0, 250000), "2026-11-20T09:00:00.250000"),
        ([1.0, None, "a"], "[1, -, a]"),
        ({"k": [True]}, "{k: [true]}"),
        (b"\x00\xff", "00ff"),
        ("two\nlines\x9b1m\x1b", "two\\nlines\\x9b1m\\x1b"),
        ("paid\u202enot", "paid\\u202enot"),  # would be read from right to left
    ],
)
def test_every_kind_of_value_has_its_text(value: object, text: str) -> None:
    assert shown(value) == text


@given(st.floats(min_value=1e-6, max_value=1e6), st.floats(min_value=1e-6, max_value=1e6))
def test_a_value_and_its_bound_never_read_the_same_unless_they_are(value: float, bound: float) -> None:
    texts = apart(value, bound)
    assert (texts[0] == texts[1]) == (value == bound)


def test_a_value_barely_over_its_bound_gets_more_digits() -> None:
    assert apart(0.061, 0.05) == ("0.061", "0.05")
    assert apart(0.0500001, 0.05) == ("0.0500001", "0.05")


@pytest.mark.parametrize(("most", "text"), [(10, "abcdefghij"), (9, "abcd…ghij"), (6, "ab…hij"), (20, "abcdefghij")])
def test_a_long_text_keeps_beginning_and_end(most: int, text: str) -> None:
    assert shortened("abcdefghij", most) == text
