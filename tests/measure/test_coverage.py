"""Coverage by replica-hour: what was seen beside what the engines themselves counted (docs/semantics.md#coverage)."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goodput.plumbing.contracts import arrow_schema
from goodput.plumbing.sql_files import compute, connect
from river import START_S, Parts, Row, Stretch, at, at_ns, judged, measure, one_workload


def attempt(end: float, replica: str = "r", **given: Any) -> Row:
    return {
        "attempt_id": f"a{end}",
        "replica": replica,
        "pool": "p",
        "model": "m",
        "ended_ns": at_ns(end),
        "engine_seen": True,
        **given,
    }


def sample(when: float, increase: float | None, interval: float | None = 100.0, **given: Any) -> Row:
    """A reading of the engine's count of finished requests `when` seconds after START_S."""
    return {
        "series_id": given.get("reason", "stop"),
        "replica": "r",
        "metric": "finished_requests",
        "layer": "engine",
        "reason": "stop",
        "sampled_ns": at_ns(when),
        "increase": increase,
        "interval_s": interval,
        **given,
    }


def coverage(attempts: Iterable[Row], samples: Iterable[Row]) -> dict[tuple[int, str], Row]:
    """Rows of coverage by the hour (from START_S) and replica."""
    with connect() as connection:
        for name, rows in (("attempts", attempts), ("replica_samples", samples)):
            connection.register(name, pa.Table.from_pylist(list(rows), schema=arrow_schema(name)))
        compute(connection, "coverage")
        found = connection.sql("SELECT * FROM coverage").to_arrow_table().to_pylist()
    return {(row["epoch_hour"] - START_S // 3600, row["replica"]): row for row in found}


def test_trap_19_spans_are_compared_with_what_the_engine_counted() -> None:
    """Read at 100 s (first), 200 s, 300 s, then not until 1000 s: of 200 s in all the counter tells."""
    samples = [sample(100, None, None), sample(200, 3), sample(300, 1), sample(1000, None, None)]
    attempts = [attempt(end) for end in (50, 100, 101, 200, 250, 301, 900)]
    row = coverage(attempts, samples)[0, "r"]
    told = ("attempts_seen", "attempts_compared", "requests_counted", "counted_s", "coverage_ratio", "low_coverage")
    assert [row[name] for name in told] == [7, 3, 4, 200.0, 0.75, True]
    assert (row["pool"], row["model"], row["window_s"]) == ("p", "m", 3600)


def test_trap_7_every_reason_is_counted() -> None:
    samples = [sample(200, 6), sample(200, 3, reason="abort"), sample(200, 1, reason="error")]
    row = coverage([attempt(150 + number) for number in range(6)], samples)[0, "r"]
    assert json.loads(row["counted_by_reason"]) == {"abort": 3, "error": 1, "stop": 6}
    assert (row["requests_counted"], row["coverage_ratio"]) == (10, 0.6)


def test_the_reading_after_the_hour_counts_what_ended_before_it() -> None:
    """An attempt that ended at 59:58 is in the increase that is read at 60:40, so it is compared in that hour."""
    found = coverage([attempt(3598.0), attempt(3602.0)], [sample(3540, 0), sample(3640, 2)])
    assert [found[0, "r"][name] for name in ("attempts_seen", "attempts_compared", "requests_counted")] == [1, 0, 0]
    assert [found[1, "r"][name] for name in ("attempts_seen", "attempts_compared", "requests_counted")] == [1, 2, 2]
    assert (found[0, "r"]["coverage_ratio"], found[1, "r"]["coverage_ratio"]) == (None, 1.0)


def test_trap_19_a_replica_without_spans_is_wholly_uncovered_and_one_without_counters_unknown() -> None:
    found = coverage([attempt(20.0, "q", model="n"), attempt(21.0, "q")], [sample(200, 5)])
    silent, uncounted = found[0, "r"], found[0, "q"]
    assert (silent["attempts_seen"], silent["coverage_ratio"], silent["low_coverage"]) == (0, 0.0, True)
    told = ("requests_counted", "attempts_compared", "coverage_ratio", "low_coverage", "model")
    assert [uncounted[name] for name in told] == [None] * 5


def test_trap_19_only_the_engines_own_records_cover_and_only_its_own_counter_counts() -> None:
    attempts = [attempt(150.0), attempt(160.0, engine_seen=False)]
    samples = [sample(200, 2), sample(200, 40, layer="gateway"), sample(200, 40, metric="preemptions")]
    row = coverage(attempts, samples)[0, "r"]
    told = ("attempts_seen", "attempts_without_engine", "requests_counted", "coverage_ratio")
    assert [row[name] for name in told] == [1, 1, 2, 0.5]


@pytest.mark.parametrize(("ratios", "expected"), [({"a": 0.5, "b": 1.0}, 0.625), ({"a": 0.5}, 0.5), ({}, None)])
def test_goodput_weighs_coverage_by_requests(tmp_path: Path, ratios: dict[str, float], expected: float | None) -> None:
    """Three requests on replica a, one on b; a replica whose counter is not known has no weight."""
    requests = [
        judged(f"q{number}", "accepted", 5.0 + number, replica="b" if number == 3 else "a") for number in range(4)
    ]
    hours = [
        {"window_start": at(hour * 3600), "window_s": 3600, "replica": replica, "coverage_ratio": ratio + hour}
        for replica, ratio in ratios.items()
        for hour in (0, 1)
    ]
    paths = []
    for name, rows in (("requests", requests), ("coverage", hours)):
        pq.write_table(pa.Table.from_pylist(rows, schema=arrow_schema(name)), tmp_path / f"{name}.parquet")
        paths.append([str(tmp_path / f"{name}.parquet")])
    stretch = Stretch(START_S, START_S + 3600, (at_ns(-10), at_ns(4000)))
    rows = measure(one_workload(ttft_s=1.0), Parts(paths[0], coverage=paths[1]), [300], stretch).goodput
    assert set(rows["coverage_ratio"]) == {expected}
