"""Coverage by replica-hour: what was seen beside what the engines themselves counted (docs/semantics.md#coverage)."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goodput.contracts import arrow_schema
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


def served(when: float, increase: float, **given: Any) -> Row:
    """A reading of the web server's count of requests, which is of the process."""
    told = {"layer": "process", "metric": "http_requests", "series_id": "http", "reason": "2xx"}
    return sample(when, increase, **{**told, **given})


def test_the_counter_that_counted_the_most_is_the_one_that_counts() -> None:
    """Ten were sent; the engine finished six, of which five left a record: the other four were given up."""
    samples = [sample(200, 6), served(200, 9), served(200, 1, reason="5xx", series_id="http5")]
    row = coverage([attempt(150 + number) for number in range(5)], samples)[0, "r"]
    names = ("counter", "requests_counted", "attempts_compared", "coverage_ratio", "requests_unobserved")
    assert [row[name] for name in names] == ["http_requests", 10, 5, 0.5, 5]
    assert json.loads(row["counted_by_reason"]) == {"2xx": 9, "5xx": 1}


def test_a_web_server_counts_a_stream_when_it_begins() -> None:
    """Read at 0 and 100 s: a stream from 98 to 103 s is in that count, an answer in one piece is not."""
    http = {"layer": "process", "metric": "http_requests", "series_id": "http", "reason": "2xx"}
    samples = [sample(0, None, None, **http), sample(100, 2, **http), sample(50, None, None)]
    streams = [attempt(end, started_ns=at_ns(begin), streamed=True) for begin, end in ((10, 20), (98, 103))]
    whole = attempt(104, started_ns=at_ns(97), streamed=False, first_token_ns=at_ns(104))
    row = coverage([*streams, whole], samples)[0, "r"]
    assert (row["attempts_compared"], row["requests_unobserved"]) == (2, 0)


def test_an_hour_has_the_same_coverage_alone_and_beside_others() -> None:
    """In the first hour a client's call goes to q, which metrics show in the second alone: it is placed nowhere.

    In the second r's web server counts the most, in the first its engine: a stream is counted there when it ends.
    """
    samples = [sample(200, 3), served(4000, 9), sample(4100, 0, replica="q")]
    attempts = [attempt(150, "q", engine_seen=False, outcome="ok")]
    attempts.append(attempt(190, started_ns=at_ns(90), streamed=True, first_token_ns=at_ns(120)))
    own = [row for row in samples if row["sampled_ns"] < at_ns(3600)]
    alone, beside = (coverage(attempts, of)[0, "r"] for of in (own, samples))
    assert (alone["attempts_compared"], alone["requests_unobserved"]) == (1, 1)
    assert alone == beside


def test_a_callers_stream_that_broke_after_its_headers_is_not_unobserved() -> None:
    http = {"layer": "process", "metric": "http_requests", "series_id": "http", "reason": "2xx"}
    samples = [sample(0, None, None, **http), sample(100, 3, **http), sample(50, None, None)]
    broken = [attempt(end, replica=None, engine_seen=False, outcome="error", http_status=200) for end in (20, 30)]
    refused = attempt(40, replica=None, engine_seen=False, outcome="error", http_status=503)
    assert coverage([*broken, refused], samples)[0, "r"]["requests_unobserved"] == 1


def test_an_engine_that_finished_more_than_its_web_server_took_in_counts_itself() -> None:
    """Prompts in one request, or another frontend beside the web server."""
    row = coverage([attempt(150.0)], [sample(200, 6), served(200, 2)])[0, "r"]
    assert (row["counter"], row["requests_counted"], row["requests_unobserved"]) == ("finished_requests", 6, 5)


def test_a_web_server_of_no_engine_counts_nothing() -> None:
    assert coverage([attempt(150.0)], [served(200, 7)])[0, "r"]["requests_counted"] is None


def test_what_a_caller_saw_is_not_unobserved() -> None:
    """Of ten that were sent the engine shows five; a gateway shows two more on this replica, a client two on none.

    The client's refused call reached no server; its call to an address that no metrics name was answered.
    """
    attempts = [
        *(attempt(150 + number) for number in range(5)),
        attempt(160.0, engine_seen=False, outcome="cancelled"),
        attempt(161.0, engine_seen=False, outcome="error"),
        attempt(162.0, replica=None, engine_seen=False, outcome="timeout"),
        attempt(163.0, replica=None, engine_seen=False, outcome="error"),
        attempt(164.0, replica="10.0.0.1:8000", engine_seen=False, outcome="ok"),
    ]
    row = coverage(attempts, [sample(200, 5), served(200, 10)])[0, "r"]
    assert (row["coverage_ratio"], row["requests_unobserved"]) == (0.5, 1)


def test_replicas_share_what_nothing_places() -> None:
    """Six and two are missing; four calls of a client are on no known replica: three of the first, one of the other."""
    samples = [served(200, 6), served(200, 2, replica="q"), sample(200, 0), sample(200, 0, replica="q")]
    lost = [attempt(160.0 + number, replica=None, engine_seen=False, outcome="ok") for number in range(4)]
    found = coverage(lost, samples)
    assert [found[0, name]["requests_unobserved"] for name in ("r", "q")] == [3, 1]


@pytest.mark.parametrize(
    ("pool", "of_replica", "unobserved"),
    [("p", "p", 4), (None, "p", 4), ("bought", "p", 6), ("bought", None, 4), ("other", "p", 6)],
)
def test_calls_to_a_pool_without_metrics_hide_nothing(
    pool: str | None, of_replica: str | None, unobserved: int
) -> None:
    """Six are missing, and two answers are on no known replica: only those of the replica's pool may be of the six."""
    samples = [served(200, 6, pool=of_replica), sample(200, 0, pool=of_replica)]
    elsewhere = [
        attempt(160.0 + number, replica=None, engine_seen=False, outcome="ok", pool=pool) for number in range(2)
    ]
    assert coverage(elsewhere, samples)[0, "r"]["requests_unobserved"] == unobserved


def bounds(tmp_path: Path, unobserved: dict[str, tuple[str | None, int]]) -> dict[str | None, list[float | None]]:
    """unobserved and goodput ratios by pool, of three accepted requests and one failed in p, and one failed in q."""
    requests = [judged(f"a{number}", "accepted", 5.0 + number, replica="a", pool="p") for number in range(3)]
    requests += [judged("b", "failed", 9.0, replica="a", pool="p"), judged("c", "failed", 9.0, replica="c", pool="q")]
    hours = [
        {"window_start": at(0), "window_s": 3600, "replica": name, "pool": pool, "requests_unobserved": count}
        for name, (pool, count) in unobserved.items()
    ]
    paths = []
    for name, rows in (("requests", requests), ("coverage", hours)):
        pq.write_table(pa.Table.from_pylist(rows, schema=arrow_schema(name)), tmp_path / f"{name}.parquet")
        paths.append([str(tmp_path / f"{name}.parquet")])
    stretch = Stretch(START_S, START_S + 3600, (at_ns(-10), at_ns(4000)))
    rows = measure(one_workload(ttft_s=1.0), Parts(paths[0], coverage=paths[1]), [300], stretch).goodput
    told = ("unobserved", "goodput_ratio_low", "goodput_ratio", "goodput_ratio_high")
    kept = rows.filter(rows["slice"].is_in(["overall", "pool"])).to_dicts()
    return {row["pool"]: [row[name] for name in told] for row in kept}


def test_goodput_lies_between_none_and_all_of_what_nobody_saw(tmp_path: Path) -> None:
    """Four missing in p: 3 of 8 to 7 of 8; over both pools 3 of 9 to 7 of 9."""
    found = bounds(tmp_path, {"a": ("p", 4), "c": ("q", 0)})
    assert found["p"] == [4.0, 3 / 8, 3 / 4, 7 / 8]
    assert found["q"] == [0.0, 0.0, 0.0, 0.0]
    assert found[None] == [4.0, 3 / 9, 3 / 5, 7 / 9]


def test_a_replica_that_no_request_names_is_missed_all_the_same(tmp_path: Path) -> None:
    """A dark replica of p adds to p; one of no known pool, and one of a pool without requests, to all of them."""
    assert bounds(tmp_path, {"a": ("p", 0), "dark": ("p", 4)})["p"][0] == 4.0
    found = bounds(tmp_path, {"dark": (None, 4), "other": ("elsewhere", 1)})
    assert [found[name][0] for name in ("p", "q", None)] == [4.0, 1.0, 5.0]


def test_without_a_counter_nobody_knows_what_is_missing(tmp_path: Path) -> None:
    assert bounds(tmp_path, {})[None] == [None, None, 3 / 5, None]


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
