"""Replicas by window: hit ratios from attempts and counters, gauges over time, restarts, gauges that stand still."""

import random
from collections.abc import Iterable
from itertools import pairwise
from statistics import median, quantiles
from typing import Any

import pyarrow as pa
import pytest

from goodput.contracts import arrow_schema
from goodput.measure.nodes import REPLICAS
from goodput.plumbing.graph import closure
from goodput.plumbing.hours import HOUR_NS
from goodput.plumbing.parameters import as_rows
from goodput.plumbing.sql_files import compute, connect
from river import START_S, Row, at_ns, made


def attempt(start: float, end: float, **given: Any) -> Row:
    return {
        "attempt_id": f"{start}-{end}-{given.get('replica', 'r')}",
        "replica": "r",
        "pool": "p",
        "model": "m",
        "started_ns": at_ns(start),
        "ended_ns": at_ns(end),
        "part_hour": at_ns(end) // HOUR_NS,
        "outcome": "ok",
        **given,
    }


def reading(when: float, metric: str, value: float = 0.0, **given: Any) -> Row:
    counter = "increase" in given
    return {
        "series_id": given.get("replica", "r") + metric,
        "replica": "r",
        "metric": metric,
        "kind": "counter" if counter else "gauge",
        "layer": "engine",
        "value": value,
        "reset": False,
        "sampled_ns": at_ns(when),
        "pool": "p",
        **given,
    }


def rows_of(
    attempts: Iterable[Row] = (), samples: Iterable[Row] = (), grain: int = 300, staleness_s: int = 100
) -> dict[str, dict[tuple[float, str], Row]]:
    """Rows of both tables for the hour after START_S, by (minute, replica)."""
    with connect() as connection:
        schema = arrow_schema("attempts").append(pa.field("part_hour", pa.int64()))
        connection.register("attempts", pa.Table.from_pylist(list(attempts), schema=schema))
        rows = pa.Table.from_pylist(list(samples), schema=arrow_schema("replica_samples"))
        connection.register("replica_samples", rows)
        asked = {
            "grains": {"window_s": grain},
            "measured_range": {"from_s": START_S, "until_s": START_S + 3600},
            "partition_size": {"rows": 0},
            "size_options": {"max_exact_requests": 1},
            "cache_options": {"hit_min_ratio": 0.5},
            "context_options": {"long_context_tokens": 1000},
            "sample_options": {"staleness_ns": staleness_s * 10**9},
            "ledger_options": {
                "step_ns": 300 * 10**9,
                "staleness_ns": staleness_s * 10**9,
                "reach_h": 1,
                "lateness_ns": 0,
            },
        }
        for name, row in asked.items():
            connection.register(name, as_rows(name, row))
        for name in REPLICAS.relations:
            compute(connection, name)
        found = {name: made(connection, name) for name in ("cache_by_replica", "replica_windows")}
    return {
        name: {((row["window_start"].timestamp() - START_S) / 60, row["replica"]): row for row in table.to_pylist()}
        for name, table in found.items()
    }


def told(row: Row, *names: str) -> list[Any]:
    return [row[name] for name in names]


def test_a_hit_ratio_is_of_attempts_that_report_both() -> None:
    """900 of 1500 tokens by attempts (the third and fourth report one half only), 1000 of 2000 by the counters."""
    attempts = [
        attempt(0, 10, input_tokens=1000, cached_input_tokens=900, ttft_s=0.2),
        attempt(0, 20, input_tokens=500, cached_input_tokens=0, ttft_s=1.0),
        attempt(0, 30, input_tokens=5000),
        attempt(0, 40, cached_input_tokens=70),
        attempt(0, 50, input_tokens=0, cached_input_tokens=0, ttft_s=9.0),
    ]
    samples = [
        reading(when, f"prefix_cache_{word}_tokens", increase=increase)
        for when in (60, 120)
        for word, increase in (("queried", 1000), ("hit", 500))
    ]
    row = rows_of(attempts, samples)["cache_by_replica"][0, "r"]
    assert told(row, "attempts", "lookups", "input_tokens", "cached_input_tokens") == [5, 2, 1500, 900]
    assert told(row, "attempts_hit_ratio", "engine_hit_ratio") == [0.6, 0.5]
    assert told(row, "hit_ratio", "hit_ratio_from", "looked_up_tokens") == [0.5, "counters", 2000]
    assert row["reconciliation_gap"] == pytest.approx(0.1)
    assert told(row, "p50_ttft_hit_s", "n_ttft_hit", "p95_ttft_miss_s", "n_ttft_miss") == [0.2, 1, 1.0, 1]


def test_a_starved_replica_has_no_hit_ratio() -> None:
    samples = [
        reading(when, name, increase=0, replica="idle")
        for when in range(0, 300, 30)
        for name in ("prefix_cache_queried_tokens", "prefix_cache_hit_tokens")
    ]
    row = rows_of([attempt(0, 9, input_tokens=10, cached_input_tokens=0)], samples)["cache_by_replica"]
    names = ("attempts", "lookups", "hit_ratio", "hit_ratio_from", "engine_hit_ratio", "reconciliation_gap", "pool")
    assert told(row[0, "idle"], *names) == [0, 0, None, None, None, None, "p"]
    assert told(row[0, "r"], *names) == [1, 1, 0.0, "attempts", None, None, "p"]


def test_a_replica_whose_attempts_report_nothing_has_the_ratio_of_its_counters() -> None:
    """Spans of vLLM have no cached tokens; its blocks are no tokens, so that they weigh nothing beside tokens."""
    read = [
        reading(10, "prefix_cache_hit_tokens", increase=30),
        reading(10, "prefix_cache_queried_tokens", increase=40),
    ]
    blocks = [
        reading(10, f"prefix_cache_{word}_blocks", increase=n, replica="b") for word, n in (("hit", 1), ("queried", 4))
    ]
    rows = rows_of([attempt(0, 20, input_tokens=40)], read + blocks)["cache_by_replica"]
    names = ("attempts_hit_ratio", "hit_ratio", "hit_ratio_from", "looked_up_tokens")
    assert told(rows[0, "r"], *names) == [None, 0.75, "counters", 40]
    assert told(rows[0, "b"], *names) == [None, 0.25, "counters", None]


@pytest.mark.parametrize(
    ("counters", "ratio"),
    [
        pytest.param({"queried_blocks": 8, "hit_blocks": 2}, 0.25, id="blocks"),
        pytest.param({"missed_blocks": 6, "hit_blocks": 2}, 0.25, id="blocks hit and missed"),
        pytest.param({"hit_tokens": 5}, None, id="no lookups told"),
        pytest.param({"queried_tokens": 5}, None, id="no hits told"),
        pytest.param({"queried_tokens": 2, "hit_tokens": 2 * 10**6}, 1e6, id="a million hits a lookup"),
        pytest.param({"queried_tokens": 2, "hit_tokens": 2 * 10**6 + 2}, None, id="more than is believed"),
    ],
)
def test_engines_count_their_cache_in_their_own_units(counters: dict[str, int], ratio: float | None) -> None:
    samples = [reading(10, f"prefix_cache_{name}", increase=increase) for name, increase in counters.items()]
    assert rows_of(samples=samples)["cache_by_replica"][0, "r"]["engine_hit_ratio"] == ratio
    prompts = [*samples, reading(10, "input_tokens", increase=20)]
    by_prompts = 0.25 if counters.keys() == {"hit_tokens"} else ratio
    assert rows_of(samples=prompts)["cache_by_replica"][0, "r"]["engine_hit_ratio"] == by_prompts


def test_a_gauge_holds_until_the_next_reading() -> None:
    """0.2 from the window before for 50 s, 0.8 for 100 s, 0.5 for 60 s; then a gap longer than staleness_s."""
    samples = [
        reading(when, "kv_usage_ratio", value)
        for when, value in ((-20, 0.2), (50, 0.8), (150, 0.5), (210, 0.3), (590, 0.9))
    ]
    rows = rows_of(samples=samples)["replica_windows"]
    row = rows[0, "r"]
    assert row["mean_kv_usage_ratio"] == pytest.approx((0.2 * 50 + 0.8 * 100 + 0.5 * 60) / 210)
    assert told(row, "max_kv_usage_ratio", "last_kv_usage_ratio", "up_s", "stale") == [0.8, 0.3, 210.0, False]
    # numpy's and DuckDB's linear interpolation of the four readings: position 0.99 * 3
    assert row["p99_kv_usage_ratio"] == pytest.approx(0.5 + (0.99 * 3 - 2) * 0.3)
    alone = rows[5, "r"]
    assert told(alone, "mean_kv_usage_ratio", "up_s", "appeared") == [0.9, 0.0, True]
    assert row["appeared"] is False


def test_requests_of_engines_in_one_process_add_up() -> None:
    samples = [
        reading(when, "running_requests", value, series_id=series)
        for when in (0, 60)
        for series, value in (("0", 3), ("1", 5))
    ]
    row = rows_of(samples=samples)["replica_windows"][0, "r"]
    assert told(row, "mean_running_requests", "max_running_requests", "stale") == [8.0, 8.0, None]


def test_counters_add_up_and_a_reset_is_one_restart() -> None:
    samples = [
        reading(when, metric, increase=increase, reset=when == 180)
        for metric, increase in (("preemptions", 2), ("recomputed_tokens", 40), ("finished_requests", 7))
        for when in (60, 120, 180)
    ]
    attempts = [attempt(0, 30, preemptions=9, recomputed_tokens=9), attempt(0, 310, preemptions=1)]
    rows = rows_of(attempts, samples)["replica_windows"]
    names = ("preemptions", "recomputed_tokens", "restarts")
    assert told(rows[0, "r"], *names) == [6, 120, 1]
    assert told(rows[5, "r"], *names) == [1, None, None]


def test_long_contexts_are_a_share_of_the_input_that_is_reported() -> None:
    """From 1,000 tokens on: 1,000 and 3,000 of 4,999; of a window in which nothing is reported nothing is known."""
    reported = [attempt(0, at, input_tokens=n) for at, n in ((30, 999), (40, 1000), (50, 3000), (60, None))]
    rows = rows_of([*reported, attempt(0, 310, input_tokens=None), attempt(0, 610, input_tokens=0)])["replica_windows"]
    names = ("input_tokens", "n_input", "long_input_tokens", "long_context_ratio")
    assert told(rows[0, "r"], *names) == [4999, 3, 4000, pytest.approx(4000 / 4999)]
    assert told(rows[5, "r"], *names) == [None, 0, None, None]
    assert told(rows[10, "r"], *names) == [0, 1, 0, None]


def test_another_version_is_a_restart() -> None:
    """Rolled at 120 s; after a gap of 500 s it may be anything, and appears anew."""
    samples = [
        reading(when, "preemptions", increase=0, version=version, series_id=version)
        for when, version in ((60, "1.4"), (120, "1.5"), (180, "1.5"), (680, "1.6"), (740, "1.6"))
    ]
    rows = rows_of(samples=samples)["replica_windows"]
    assert told(rows[0, "r"], "restarts", "appeared") == [1, True]
    assert told(rows[10, "r"], "restarts", "appeared") == [0, True]


def test_readings_of_a_gateway_are_no_replicas() -> None:
    assert rows_of(samples=[reading(5, "running_requests", 3.0, layer="gateway")])["replica_windows"] == {}


@pytest.mark.parametrize(
    ("attempts", "values", "stale"),
    [
        pytest.param([(0, 300)], [0.3] * 20, True, id="frozen while it serves"),
        pytest.param([(0, 300)], [0.3 + 0.01 * n for n in range(20)], False, id="it moves"),
        pytest.param([], [0.0] * 20, False, id="idle"),
        pytest.param([(n * 15 + 5, n * 15 + 9) for n in range(20)], [0.0] * 20, False, id="idle whenever it is read"),
        pytest.param([(0, 50)], [0.3] * 20, False, id="too short to tell"),
        pytest.param([(150, 450)], [0.1, 0.2] * 10 + [0.7] * 10, True, id="it froze later"),
    ],
)
def test_a_gauge_that_stands_still_while_the_replica_serves_is_stale(
    attempts: list[tuple[float, float]], values: list[float], stale: bool
) -> None:
    """Readings every 15 s; staleness_s 100: three readings or more, over 50 s or more."""
    samples = [reading(n * 15, "kv_usage_ratio", value) for n, value in enumerate(values)]
    rows = rows_of([attempt(*times) for times in attempts], samples)["replica_windows"]
    assert any(row["stale"] for row in rows.values()) is stale


def test_a_gauge_that_froze_before_the_hour_is_stale_from_its_first_reading() -> None:
    """Alike for 120 s while the replica serves, of which 15 s lie in the hour: too few to tell by themselves."""
    samples = [reading(15.0 * n, "kv_usage_ratio", 0.3) for n in range(-7, 2)]
    rows = rows_of([attempt(-300.0, 60.0)], samples)["replica_windows"]
    assert rows[0.0, "r"]["stale"] is True


def test_one_cached_token_is_no_hit() -> None:
    """A hit has at least half of its prompt from the cache; what every prompt shares saves nobody's time."""
    shares = [(0, 1.0), (1, 1.1), (499, 1.2), (500, 0.3), (999, 0.2)]
    attempts = [
        attempt(0, 10 + n, attempt_id=str(n), input_tokens=1000, cached_input_tokens=cached, ttft_s=ttft)
        for n, (cached, ttft) in enumerate(shares)
    ]
    attempts.append(attempt(0, 30, input_tokens=1000, ttft_s=7.0))  # reports no cached tokens: neither
    row = rows_of(attempts)["cache_by_replica"][0, "r"]
    assert told(row, "n_ttft_hit", "p50_ttft_hit_s", "n_ttft_miss", "p50_ttft_miss_s") == [2, 0.25, 3, 1.1]


def test_the_effect_of_the_cache_by_bands_of_what_was_found() -> None:
    cached = {0: 1.0, 1: 0.9, 250: 0.8, 251: 0.7, 500: 0.6, 501: 0.5, 750: 0.4, 751: 0.3, 1000: 0.2}
    attempts = [
        attempt(0, 10, attempt_id=str(tokens), input_tokens=1000, cached_input_tokens=tokens, ttft_s=ttft)
        for tokens, ttft in cached.items()
    ]
    attempts += [
        attempt(0, 20, attempt_id="no ttft", input_tokens=3000, cached_input_tokens=0),
        attempt(0, 20, attempt_id="failed", input_tokens=1000, cached_input_tokens=0, ttft_s=9.0, outcome="error"),
        attempt(0, 20, attempt_id="half told", input_tokens=1000, ttft_s=9.0),
        attempt(0, 20, attempt_id="nothing asked", input_tokens=0, cached_input_tokens=0, ttft_s=9.0),
        attempt(0, 4000, attempt_id="later", input_tokens=1000, cached_input_tokens=0, ttft_s=9.0),
        attempt(0, 301, attempt_id="elsewhere", input_tokens=8, cached_input_tokens=4, ttft_s=0.1, pool=None),
    ]
    with connect() as connection:
        connection.register("attempts", pa.Table.from_pylist(attempts, schema=arrow_schema("attempts")))
        asked = {
            "grains": {"window_s": 300},
            "measured_range": {"from_s": START_S, "until_s": START_S + 3600},
            "partition_size": {"rows": 0},
            "size_options": {"max_exact_requests": 1},
            "cache_options": {"hit_min_ratio": 0.5},
            "context_options": {"long_context_tokens": 1000},
        }
        for name, row in asked.items():
            connection.register(name, as_rows(name, row))
        for name in closure(["cache_effect"], ("attempts",)):
            compute(connection, name)
        rows = made(connection, "cache_effect").to_pylist()
    named = ("band", "cached_above_ratio", "cached_up_to_ratio", "attempts", "input_tokens", "n_ttft", "p50_ttft_s")
    assert [tuple(told(row, *named)) for row in rows if row["pool"] == "p"] == [
        ("none", 0, 0, 2, 4000, 1, 1.0),
        ("to 25 %", 0, 0.25, 2, 2000, 2, pytest.approx(0.85)),
        ("to 50 %", 0.25, 0.5, 2, 2000, 2, pytest.approx(0.65)),
        ("to 75 %", 0.5, 0.75, 2, 2000, 2, pytest.approx(0.45)),
        ("to 100 %", 0.75, 1, 2, 2000, 2, pytest.approx(0.25)),
    ]
    (other,) = [row for row in rows if row["pool"] != "p"]
    assert told(other, "pool", "band", "cached_input_tokens", "p99_ttft_s") == ["unknown", "to 50 %", 4, 0.1]


def test_time_up_and_busy_is_that_of_the_union() -> None:
    """In flight 0-40 and 100-140; signs of life no further apart than 100 s: up 0-140, then 400-410 again."""
    attempts = [attempt(0, 30), attempt(20, 40), attempt(10, 15), attempt(100, 140), attempt(400, 410)]
    rows = rows_of(attempts)["replica_windows"]
    assert told(rows[0, "r"], "up_s", "busy_s", "attempts", "appeared") == [140.0, 80.0, 4, True]
    assert told(rows[5, "r"], "up_s", "busy_s", "attempts", "appeared") == [10.0, 10.0, 1, True]


@pytest.mark.parametrize("seed", range(3))
def test_a_random_fleet_by_plain_python(seed: int) -> None:
    """An hour of three replicas, second by second, counted without SQL."""
    rng = random.Random(seed)
    attempts = []
    for number in range(300):
        start = rng.uniform(-100, 3500)
        tokens = rng.randrange(1, 500)
        attempts.append(
            attempt(
                *(start, start + rng.expovariate(1 / 20)),
                attempt_id=str(number),
                replica=rng.choice("abc"),
                input_tokens=rng.choice((tokens, None)),
                cached_input_tokens=rng.choice((rng.randrange(tokens), 0, None)),
                ttft_s=rng.random(),
                queue_s=rng.choice((rng.random(), None)),
                tpot_s=rng.choice((rng.random(), None)),
                outcome=rng.choice(("ok", "ok", "error")),
            )
        )
    found = rows_of(attempts, grain=600)
    for minute in range(0, 60, 10):
        first, last = at_ns(60 * minute), at_ns(60 * minute + 600)
        for replica in "abc":
            ended = [a for a in attempts if a["replica"] == replica and first <= a["ended_ns"] < last]
            both = [a for a in ended if a["input_tokens"] is not None and a["cached_input_tokens"] is not None]
            cache, window = (found[name][minute, replica] for name in ("cache_by_replica", "replica_windows"))
            asked = sum(a["input_tokens"] for a in both)
            assert cache["attempts_hit_ratio"] == pytest.approx(sum(a["cached_input_tokens"] for a in both) / asked)
            hits = [
                a["ttft_s"] for a in both if a["outcome"] == "ok" and 2 * a["cached_input_tokens"] >= a["input_tokens"]
            ]
            assert cache["n_ttft_hit"] == len(hits)
            if len(hits) > 1:
                cuts = quantiles(hits, n=20, method="inclusive")
                assert told(cache, "p50_ttft_hit_s", "p95_ttft_hit_s") == pytest.approx([cuts[9], cuts[18]])
            assert window["attempts"] == len(ended)
            assert window["n_queue"] == sum(a["queue_s"] is not None for a in ended)
            paces = [a["tpot_s"] for a in ended if a["tpot_s"] is not None]
            assert window["n_tpot"] == len(paces)
            assert window["p50_tpot_s"] == (pytest.approx(median(paces)) if paces else None)
            mine = [(a["started_ns"], a["ended_ns"]) for a in attempts if a["replica"] == replica]
            edges = sorted({first, last, *(edge for pair in mine for edge in pair if first < edge < last)})
            busy = sum(
                until - begin
                for begin, until in pairwise(edges)
                if any(start <= begin and until <= end for start, end in mine)
            )
            assert window["busy_s"] == pytest.approx(busy / 1e9)


def started(when: float, began: float, **given: Any) -> Row:
    """A reading of when the process began."""
    return reading(when, "process_started_s", at_ns(began) / 1e9, layer="process", **given)


def up_s(attempts: Iterable[Row], samples: Iterable[Row]) -> float:
    rows = rows_of(attempts, samples, grain=3600)["replica_windows"]
    return float(rows[0, "r"]["up_s"])


def test_a_replica_is_not_up_while_its_process_begins_anew() -> None:
    """Readings to 60 s and from 120 s on, well within staleness: the gap is an outage only where the start changed."""
    gauges = [reading(when, "running_requests") for when in (0, 30, 60, 120, 150)]
    same = [started(when, -500) for when in (0, 30, 60, 120, 150)]
    restarted = [started(when, -500 if when < 100 else 90) for when in (0, 30, 60, 120, 150)]
    assert up_s([], gauges + same) == 150
    assert up_s([], gauges + restarted) == 90
    row = rows_of([], gauges + restarted, grain=3600)["replica_windows"][0, "r"]
    assert row["appeared"]


def test_a_counter_that_fell_shows_an_outage_too_and_work_in_it_that_it_was_up() -> None:
    counters = [reading(when, "output_tokens", increase=1, reset=when == 120) for when in (0, 30, 60, 120, 150)]
    assert up_s([], counters) == 90
    # an answer that ended after the last reading before, and one that began before the first after
    assert up_s([attempt(50, 70), attempt(110, 130)], counters) == 70 + 40


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        ("aaabb", 60 + 30),  # its series are others, which no reset shows
        ("aaaaa", 150),
        ("ababa", 150),  # two feeds that call it differently
        ("aabab", 150),
        ("aaaab", 120),  # begun anew at the end
        ("abbaa", 30 + 30),  # rolled back
    ],
)
def test_an_engine_that_returns_as_another_version_was_out(versions: str, expected: float) -> None:
    whens = (0, 30, 60, 120, 150)
    counters = [
        reading(when, "output_tokens", series=f"of {version}", increase=1, version=version)
        for when, version in zip(whens, versions, strict=True)
    ]
    assert up_s([], counters) == expected


@pytest.mark.parametrize(
    ("engine_seen", "outcome", "expected"),
    [
        (False, "timeout", 60 + 30),  # its client waited for a process that was gone
        (False, "ok", 150),  # somebody answered
        (True, "timeout", 150),  # the engine itself wrote so
    ],
)
def test_who_waits_in_vain_shows_no_life_of_a_replica(engine_seen: bool, outcome: str, expected: float) -> None:
    """Readings to 60 s and from 120 s on, with a restart between; a call from 40 to 140 s, one refused at 70 s."""
    counters = [reading(when, "output_tokens", increase=1, reset=when == 120) for when in (0, 30, 60, 120, 150)]
    waits = attempt(40, 140, engine_seen=engine_seen, outcome=outcome)
    refused = attempt(70, 70, engine_seen=False, outcome="error")
    assert up_s([waits, refused], counters) == expected
