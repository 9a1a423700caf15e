"""How full replicas were: of readings of which the fullest, the longest queue and the sums are plain."""

from datetime import timedelta
from typing import Any

from goodput.report.catalog import all_charts
from report.test_sums import DAY, asked
from report.test_unlike import of_contract

ANSWER = next(chart.answer for chart in all_charts() if chart.name == "replica_fill")


def reading(replica: str, nth: int, **given: Any) -> dict[str, Any]:
    at = {"window_start": DAY + nth * timedelta(hours=1), "window_s": 3600}
    return {"replica": replica, "pool": "p", "model": "m", "up_s": 3600.0, "preemptions": None, **at, **given}


def found(*rows: dict[str, Any]) -> list[dict[str, Any]]:
    filled = asked("replica_fill", replica_windows=of_contract("replica_windows", [*rows]))
    return [row | {"at": int(row["at"].timestamp() * 1000)} for row in filled]


def kv(replica: str, nth: int, ratio: float, **given: Any) -> dict[str, Any]:
    return reading(
        replica, nth, **{"max_kv_usage_ratio": ratio, "max_waiting_requests": 0.0, "preemptions": 0, **given}
    )


def test_the_fullest_the_longest_queue_and_all_preemptions_are_told() -> None:
    rows = found(
        kv("a", 0, 0.5),
        kv("a", 1, 0.97, preemptions=3),
        kv("b", 0, 0.6, max_waiting_requests=4.0),
        kv("b", 1, 0.96, preemptions=2),
        kv("c", 0, 0.94),
    )
    assert ANSWER(rows) == (
        "The KV cache was fullest at a, 97.0 % in the window from 20 Nov 01:00 UTC; 2 replicas of 3 reached 95 %; most "
        "waited at b, 4 requests at once in the window from 20 Nov 00:00 UTC; 5 preemptions in all."
    )


def test_what_was_not_read_is_not_called_empty() -> None:
    assert found(reading("a", 0)) == []
    queue = found(reading("a", 0, max_waiting_requests=0.0))
    assert ANSWER(queue) == "Nobody was seen to wait."
    cache = found(reading("a", 0, max_kv_usage_ratio=0.2))
    assert ANSWER(cache) == "The KV cache was fullest at a, 20.0 % in the window from 20 Nov 00:00 UTC."
    running = found(reading("a", 0, max_running_requests=2.0))
    assert ANSWER(running) == "No reading tells more than that requests ran."


def test_a_gauge_that_stood_still_is_named() -> None:
    assert "The readings of a stood still while it served" in ANSWER(
        found(kv("a", 0, 0.5, stale=True), kv("b", 0, 0.2))
    )


def test_of_many_replicas_the_fullest_are_drawn() -> None:
    rows = found(*(kv(f"r{nth:03}", 0, nth / 100) for nth in range(80)))
    assert {row["replica"] for row in rows} == {f"r{nth:03}" for nth in range(20, 80)}
