"""Intervals of a cost that is below nothing, as credits exceed it: they hold the estimate, and so does a difference."""

import pytest

from goodput.plumbing.sql_files import connect


def estimate(value: float, sd: float, below: float = 0, above: float = 0) -> str:
    return (
        f"{{scale: 'cost', value: {value}::DOUBLE, variance: {sd**2}::DOUBLE, size: NULL, below: {below}::DOUBLE, "
        f"above: {above}::DOUBLE, strata: []::STRUCT(part DOUBLE, value DOUBLE, size DOUBLE)[]}}"
    )


def interval(expression: str) -> tuple[float, float, float]:
    with connect() as connection:
        (found,) = connection.sql(f"SELECT {expression}").fetchall()[0]
    return found["low"], found["value"], found["high"]


def test_a_cost_below_nothing_varies_as_one_above_it() -> None:
    assert interval(f"estimated_within({estimate(-0.5, 0.1)}, 2)") == pytest.approx((-0.7, -0.5, -0.3))


def test_what_nobody_judged_takes_it_further_below() -> None:
    """Half as many accepted would have twice the credits each."""
    assert interval(f"estimated_within({estimate(-0.5, 0.1, below=0.5)}, 2)") == pytest.approx((-1.2, -0.5, -0.3))


def test_a_difference_from_it_holds_itself() -> None:
    varies = "{variance: 0.02, df: 30, phi: 0}"
    low, value, high = interval(f"estimates_apart({estimate(-0.5, 0.1)}, {estimate(-0.4, 0.1)}, {varies}, 2)")
    half = 2 * (0.1**2 + 0.1**2) ** 0.5  # two normal estimates
    assert (low, value, high) == pytest.approx((0.1 - half, 0.1, 0.1 + half))
