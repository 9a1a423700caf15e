"""Quantiles of what engines observed, by window, from their histograms (docs/semantics.md#histograms)."""

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import pytest

from goodput.contracts import arrow_schema
from goodput.plumbing.graph import closure
from goodput.plumbing.parameters import as_rows
from goodput.plumbing.sql_files import compute, connect
from river import START_S, Row, at_ns, made

BOUNDS = (1.0, 2.0, 4.0)


def reading(when: float, counts: Sequence[float], increase: float | None, **given: Any) -> Row:
    """A reading of a histogram; `counts` are those up to 1, 2 and 4 s, and of all."""
    return {
        "series_id": "s",
        "replica": "r",
        "metric": "itl_s",
        "kind": "histogram",
        "layer": "engine",
        "value": float(counts[-1]),
        "increase": increase,
        "reset": False,
        "total": float(counts[-1]),
        "bucket_bounds": list(BOUNDS[: len(counts) - 1]),
        "bucket_counts": [float(count) for count in counts[:-1]],
        "sampled_ns": at_ns(when),
        **given,
    }


def histograms(samples: Iterable[Row], grain: int = 300) -> list[Row]:
    """Rows of the hour after START_S."""
    none = arrow_schema("attempts").append(pa.field("part_hour", pa.int64())).empty_table()
    options = {
        "measured_range": {"from_s": START_S, "until_s": START_S + 3600},
        "ledger_options": {"step_ns": 300 * 10**9, "staleness_ns": 300 * 10**9, "reach_h": 1, "lateness_ns": 0},
        "sample_options": {"staleness_ns": 300 * 10**9},
        "cache_options": {"hit_min_ratio": 0.5},
        "context_options": {"long_context_tokens": 1000},
    }
    with connect() as connection:
        rows = pa.Table.from_pylist(list(samples), schema=arrow_schema("replica_samples"))
        for name, table in {"attempts": none, "replica_samples": rows}.items():
            connection.register(name, table)
        connection.register("grains", as_rows("grains", {"window_s": grain}))
        for name, row in options.items():
            connection.register(name, as_rows(name, row))
        for name in closure(["replica_histograms"], ("attempts", "replica_samples")):
            compute(connection, name)
        found = made(connection, "replica_histograms").to_pylist()
    return sorted(found, key=lambda row: (row["window_start"], row["replica"]))


def told(row: Row, *names: str) -> list[Any]:
    return [row[name] for name in names]


def test_quantiles_are_interpolated_in_the_bucket_that_holds_them() -> None:
    """Between the readings 20 were observed: 10 up to 1 s, 16 up to 2 s, 20 up to 4 s.

    p50 is the 10th, at the end of the first bucket; p95 the 19th, three quarters into the last (2 + 2 x 3/4 = 3.5).
    """
    (row,) = histograms([reading(0, (5, 6, 7, 7), None), reading(10, (15, 22, 27, 27), 20)])
    assert told(row, "observed", "mean", "metric", "layer") == [20, 1.0, "itl_s", "engine"]
    assert told(row, "p50", "p50_low", "p50_high") == [1.0, 0.0, 1.0]
    assert told(row, "p95", "p95_low", "p95_high") == [3.5, 2.0, 4.0]


def test_what_lies_beyond_the_last_bound_is_not_guessed() -> None:
    (row,) = histograms([reading(0, (0, 0, 0, 0), None), reading(10, (6, 6, 6, 10), 10)])
    assert told(row, "p50", "p95", "p95_low", "p95_high") == [pytest.approx(5 / 6), None, 4.0, None]


def test_nothing_observed_has_no_quantile() -> None:
    (row,) = histograms([reading(0, (5, 6, 7, 7), None), reading(10, (5, 6, 7, 7), 0)])
    assert told(row, "observed", "mean", "p50", "p50_low", "p50_high") == [0, None, None, None, None]


def test_after_a_reset_all_counts_are_new() -> None:
    """9 + 2 up to 1 s and 10 + 4 in all; the restart loses what came between it and the reading before."""
    samples = [
        reading(0, (1, 1, 1, 1), None),
        reading(10, (10, 11, 11, 11), 10),
        reading(20, (2, 2, 4, 4), 4, reset=True),
    ]
    (row,) = histograms(samples)
    assert told(row, "observed", "p50") == [14, pytest.approx(7 / 11)]
    assert row["mean"] == 1.0


def test_each_window_counts_what_was_read_in_it_and_a_gap_counts_in_none() -> None:
    samples = [
        reading(290, (1, 1, 1, 1), None),
        reading(310, (1, 5, 5, 5), 4),  # since a reading of the window before
        reading(320, (1, 9, 9, 9), 4),
        reading(900, (100, 100, 100, 100), None),
        reading(910, (101, 101, 101, 101), 1),
    ]
    found = histograms(samples)
    assert [(row["observed"], row["p50"]) for row in found] == [(8, 1.5), (1, 0.5)]


def test_engines_of_one_replica_add_up_at_the_bounds_that_both_have() -> None:
    """The second engine has no bound at 4 s: its 3 above 2 s are somewhere beyond, and so is p95 of both."""
    one = [reading(0, (0, 0, 0, 0), None), reading(10, (5, 5, 5, 5), 5)]
    other = [
        reading(0, (0, 0, 0), None, series_id="t"),
        reading(10, (0, 2, 5), 5, series_id="t"),
    ]
    (row,) = histograms([*one, *other])
    assert told(row, "observed", "p50", "p95", "p95_low") == [10, 1.0, None, 2.0]


def test_deltas_are_whole_increases() -> None:
    samples = [reading(when, (2, 4, 4, 4), 4) for when in (10, 20, 30)]
    (row,) = histograms(samples)
    assert told(row, "observed", "p50", "mean") == [12, 1.0, 1.0]
