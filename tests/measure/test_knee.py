"""The fit of a knee, beside queues whose knee is known and a plain pooling of violators.

See docs/semantics.md#frontier. `make drill-knee` counts how often intervals hold, over more runs.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from goodput.contracts import arrow_schema, contract_names
from goodput.join.workloads import workload_rows
from goodput.measure.crossing import monotone
from goodput.measure.frontier import fit_between, options
from goodput.measure.knee import levels
from goodput.measure.slices import slice_options
from goodput.plumbing.graph import closure
from goodput.plumbing.parameters import register
from goodput.plumbing.sql_files import connect
from measure.drill_knee import SCENARIOS, Scenario, fitted, holds
from measure.queues import Observed, Queue, observe
from river import one_workload

RATES = (100, 200, 300, 400, 450, 480, 500, 520, 560)
SERVER = Queue(1, 455 + np.log(100) / 0.2, 0.2)  # 1 % take longer than 0.2 s at 455 a second


def frontier(observed: Observed, *, declared: bool) -> dict[str, Any]:
    """The row of the pool, from load windows of one route on one replica."""
    begin = datetime(2026, 11, 20, tzinfo=UTC)
    counts = zip(observed.arrivals.astype(int), observed.slow.astype(int), observed.offered, strict=True)
    rows = [
        {
            "window_start": begin + timedelta(seconds=n * observed.window_s),
            "window_s": int(observed.window_s),
            **{"workload": "qa", "pool": "p", "route": "r", "replicas": ["a"], "replica_arrivals": [arrivals]},
            **{"arrivals": arrivals, "ended": arrivals, "succeeded": arrivals, "accepted": arrivals - slow},
            **{"need": 0, "labelled": 0},
            **{"gates": ["e2e"], "gated_counts": [arrivals], "failing_counts": [slow]},
            "first_arrived_at": begin + timedelta(seconds=n * observed.window_s),
            "last_arrived_at": begin + timedelta(seconds=(n + 1) * observed.window_s),
            "declared_rps": offered if declared else None,
        }
        for n, (arrivals, slow, offered) in enumerate(counts)
    ]
    settings = one_workload(e2e_s=0.2)
    with connect() as connection:
        given = {"load_windows": rows, "disruptions": [], "goodput": []}
        for name, of_table in given.items():
            connection.register(name, pa.Table.from_pylist(of_table, schema=arrow_schema(name)))
        register(connection, "workload_rules", workload_rows(settings))
        register(connection, "slice_options", slice_options(settings))
        register(connection, "frontier_options", options(settings))
        fit_between(connection, "frontier", closure(["frontier"], contract_names()), set())
        found = pl.DataFrame(connection.sql("FROM frontier WHERE slice = 'pool' AND windows > 0").to_arrow_table())
    return found.to_dicts()[0]


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize(("seconds", "window_s"), [(2000 / 9, 10.0), (2000, 20.0)], ids=["in all", "of each rate"])
def test_the_knee_of_a_measured_queue(declared: bool, seconds: float, window_s: float) -> None:
    offered = [float(rate) for rate in RATES for _ in range(int(seconds // window_s))]
    observed = observe(np.random.default_rng(20), SERVER, offered, window_s)
    row = frontier(observed, declared=declared)
    assert row["knee_rps"] == pytest.approx(455, rel=0.03)
    assert row["knee_ci_low_rps"] < row["knee_rps"] < row["knee_ci_high_rps"]
    assert row["knee_censored"] is False


def test_a_queue_that_was_never_overloaded_is_censored() -> None:
    observed = observe(
        np.random.default_rng(21), SERVER, [float(rate) for rate in (100, 200, 300) for _ in range(9)], 10
    )
    row = frontier(observed, declared=True)
    assert row["knee_rps"] == pytest.approx(300, rel=0.02)
    assert (row["knee_censored"], row["knee_ci_high_rps"]) == (True, None)


@pytest.mark.parametrize("name", list(SCENARIOS)[:2])
def test_intervals_hold_the_knee_of_a_queue(name: str) -> None:
    # of 40 intervals that hold the truth 95 times in 100, fewer than 34 do so once in 700 such tests
    scenario: Scenario = SCENARIOS[name]
    truth = scenario.queue.knee_rps
    found = [fitted(scenario, seed) for seed in range(1000, 1040)]
    assert sum(holds(one, truth) for one in found) >= 34
    rates = np.array([one.rps for one in found], dtype=float)
    assert np.median(np.abs(rates / truth - 1)) < 0.015
    widths = [one.high_rps - one.low_rps for one in found if one.high_rps and one.low_rps]
    assert len(widths) >= 38
    assert np.median(widths) < 0.08 * truth  # one that holds all says nothing


def plainly_pooled(failing: list[float], judged: list[float]) -> list[float]:
    """Pool adjacent violators one by one."""
    blocks: list[tuple[float, float, int]] = []
    for one in zip(failing, judged, strict=True):
        blocks.append((*one, 1))
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
            (failed, all_, many), (before, of, count) = blocks.pop(), blocks.pop()
            blocks.append((before + failed, of + all_, count + many))
    return [failed / all_ for failed, all_, many in blocks for _ in range(many)]


def test_violators_are_pooled() -> None:
    rng = np.random.default_rng(22)
    judged = rng.integers(1, 1000, (50, 12)).astype(float)
    failing = np.floor(judged * rng.random((50, 12)) ** 2)
    expected = [plainly_pooled(*both) for both in zip(failing.tolist(), judged.tolist(), strict=True)]
    assert monotone(failing, judged) == pytest.approx(np.array(expected))


def test_levels_have_a_hundred_requests_each() -> None:
    # 1.0 and 1.02 a second are one fiftieth of a decade apart at most; 60 more at 3 are too few, and join those below
    counts = np.array([60.0, 70.0, 300.0, 60.0])
    nothing = np.zeros(4)
    windows = Observed(10.0, counts, nothing, nothing).windows(declared=False)
    assert levels(replace(windows, load_rps=np.array([1.0, 1.02, 2.0, 3.0]))).tolist() == [0, 0, 1, 1]
