"""The head of a report adds windows up: counts exactly, intervals of samples in quadrature, bounds linearly."""

from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from goodput.plumbing.contracts import arrow_schema
from goodput.plumbing.parameters import as_rows, register
from goodput.plumbing.sql_files import sql_file

DAY = datetime(2026, 11, 20, tzinfo=UTC)
DAY_S = 86400


def window(
    day: int, accepted: float | None, low: float, high: float, definition: str = "estimated", **more: Any
) -> dict:
    """A day of 1,000 offered requests of which so many were accepted."""
    row = {field.name: 0 if pa.types.is_integer(field.type) else None for field in arrow_schema("goodput")}
    return row | {
        "window_start": DAY + timedelta(days=day),
        "window_s": DAY_S,
        "slice": "overall",
        "offered": 1000,
        "goodput_rps": None if accepted is None else accepted / DAY_S,
        "goodput_ci_low_rps": low / DAY_S,
        "goodput_ci_high_rps": high / DAY_S,
        "definition": definition,
        "partial": False,
        "low_n": False,
        **more,
    }


def total(*rows: dict) -> dict[str, Any]:
    """The one row of the period that holds all of these windows."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        names = arrow_schema("goodput")
        connection.register("goodput", pa.Table.from_pylist(list(rows), schema=names))
        period = {
            "period": "all",
            "from_at": DAY,
            "until_at": DAY + timedelta(days=9),
            "whole_s": DAY_S,
            "drawn_s": 3600,
        }
        register(connection, "shown_periods", as_rows("shown_periods", period))
        register(connection, "shown_slices", as_rows("shown_slices", {"choice": 0, "slice": "overall"}))
        (found,) = connection.sql(sql_file("period_totals").text).to_arrow_table().to_pylist()
    return found


def test_one_window_is_shown_as_it_was_published() -> None:
    found = total(window(0, 700, 650, 780, cost_usd=7.0, cost_per_accepted_ci_low_usd=0.009, wasted_ratio=0.25))
    assert (found["ratio"], found["ratio_low"], found["ratio_high"]) == pytest.approx((0.7, 0.65, 0.78))
    assert (found["price_usd"], found["price_low_usd"], found["wasted_ratio"]) == pytest.approx((0.01, 0.009, 0.25))


def test_windows_of_samples_are_combined_in_quadrature() -> None:
    found = total(window(0, 700, 670, 730), window(1, 800, 760, 840))  # sqrt(30 ** 2 + 40 ** 2) = 50
    assert (found["accepted"], found["low"], found["high"]) == pytest.approx((1500, 1450, 1550))
    assert found["ratio"] == pytest.approx(0.75)


def test_bounds_add_up_linearly_beside_samples() -> None:
    sampled, unjudged = window(0, 700, 670, 730), window(1, 900, 100, 900, "latency_constrained")
    found = total(sampled, unjudged)
    assert (found["accepted"], found["low"], found["high"]) == pytest.approx((1600, 770, 1630))
    assert found["definition"] == "estimated"


def test_labels_that_nobody_drew_leave_no_estimate_of_the_whole() -> None:
    found = total(window(0, 700, 670, 730), window(1, None, 100, 400, "unweighted"))
    assert (found["accepted"], found["ratio"], found["definition"]) == (None, None, "unweighted")
    assert (found["low"], found["high"]) == pytest.approx((770, 1130))


def test_the_ends_of_few_are_within_what_is_possible() -> None:
    found = total(window(0, 5, 0, 40), window(1, 3, 0, 30))  # sqrt(5 ** 2 + 3 ** 2) is less than 8
    assert found["ratio_low"] == pytest.approx((8 - 34**0.5) / 2000)
    assert found["ratio_high"] == pytest.approx((8 + (35**2 + 27**2) ** 0.5) / 2000)


def test_a_day_without_known_cost_leaves_no_price() -> None:
    found = total(window(0, 700, 670, 730, cost_usd=7.0), window(1, 800, 760, 840))
    assert (found["cost_usd"], found["price_usd"]) == (7.0, None)


def test_wasted_shares_weigh_by_what_was_spent() -> None:
    first, second = (
        window(0, 700, 670, 730, cost_usd=30.0, wasted_ratio=0.5),
        window(1, 1, 1, 1, cost_usd=10.0, wasted_ratio=0.1),
    )
    assert total(first, second)["wasted_ratio"] == pytest.approx((15 + 1) / 40)
