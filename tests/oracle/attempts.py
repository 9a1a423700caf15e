"""Serving records to attempts and attempts to requests: docs/semantics.md#attempts-and-requests."""

from collections import defaultdict
from math import prod
from typing import Any

from oracle.fleet import ATTRIBUTES, HOUR, Row

LAYERS = ("client", "gateway", "engine")
OUTERMOST = (
    *("finish_reason", "error_type", "http_status", "started_at", "ended_at", "first_token_at", "itl_p95_s"),
    *("jitter_s", "streamed", "session_id", "tenant", "model", "route", "pool", "reported_cost_usd", "response_id"),
    *ATTRIBUTES,
)
FROM_ENGINE = (
    *("replica", "queue_s", "prefill_s", "decode_s", "input_tokens", "cached_input_tokens", "cache_write_tokens"),
    *("output_tokens", "reasoning_tokens", "draft_tokens", "accepted_draft_tokens", "preemptions"),
    "recomputed_tokens",
)


def attempts_of(records: list[Row]) -> list[Row]:
    """Every attempt with its merged facts; a record is below the one whose span is its parent."""
    by_span = {(row["trace_id"], row["span_id"]): row for row in records if row.get("span_id")}
    below: dict[str, list[Row]] = defaultdict(list)
    for row in records:
        outer = row
        while (outer.get("trace_id"), outer.get("parent_span_id")) in by_span:
            outer = by_span[outer["trace_id"], outer["parent_span_id"]]
        below[outer["attempt_id"]].append(row)
    merged = [_merged(sorted(rows, key=lambda row: LAYERS.index(row["layer"]))) for rows in below.values()]
    _pools_of_replicas(merged)
    return merged


def _first(rows: list[Row], name: str) -> Any:
    return next((row[name] for row in rows if row.get(name) is not None), None)


def _merged(rows: list[Row]) -> Row:
    outer = rows[0]
    counts = [row["reported_attempts"] for row in rows if row.get("reported_attempts") is not None]
    intended = _first(rows, "intended_at")
    started = outer["started_at"]
    return {
        **{name: _first(rows, name) for name in OUTERMOST},
        **{name: _first(rows[::-1], name) for name in FROM_ENGINE},
        "attempt_id": outer["attempt_id"],
        "request_key": _first(rows, "request_key") or outer["attempt_id"],
        "response_ids": {row["response_id"] for row in rows if row.get("response_id")},
        "record_ids": {row["attempt_id"] for row in rows},
        "depth": LAYERS.index(outer["layer"]),
        "started_at": started,
        "tried_at": rows[-1]["started_at"],
        "arrived_at": started if intended is None else min(started, intended),
        "outcome": next((row["outcome"] for row in rows if row["outcome"] != "unknown"), "unknown"),
        "engine_seen": any(row["layer"] == "engine" for row in rows),
        "engine_records": [row for row in rows if row["layer"] == "engine"],
        "counted": prod(max(count, 1) for count in counts) if counts else 0,
    }


def _pools_of_replicas(attempts: list[Row]) -> None:
    """An attempt without a pool has that which its replica's own records in the hour name."""

    def hour(row: Row) -> int:
        return int(row["started_at"] if row["ended_at"] is None else row["ended_at"]) // HOUR

    pools = {
        (a["replica"], hour(record)): a["pool"]
        for a in attempts
        for record in a["engine_records"]
        if a["replica"] and a["pool"]
    }
    for attempt in attempts:
        attempt["pool"] = attempt["pool"] or pools.get((attempt["replica"], hour(attempt)))


def requests_of(attempts: list[Row]) -> dict[str, list[Row]]:
    """Attempts by request key, in the order in which they started."""
    found: dict[str, list[Row]] = defaultdict(list)
    for attempt in sorted(attempts, key=lambda attempt: (attempt["started_at"], attempt["attempt_id"])):
        found[attempt["request_key"]].append(attempt)
    return dict(found)


def delivering(tries: list[Row]) -> Row:
    """The try that delivered: one that succeeded, of several the one that the user had, else the last.

    Of two answers the later supersedes the earlier if it began after the end of that; of hedges the outermost layer's
    counts, then the first to end, of several at once the last that started.
    """
    succeeded = [attempt for attempt in tries if attempt["outcome"] == "ok"]
    latest = max((attempt["started_at"] for attempt in succeeded), default=0)
    had = [a for a in succeeded if a["ended_at"] is None or a["ended_at"] > latest or a["started_at"] == latest]
    return min(had[::-1], key=lambda a: (a["depth"], a["ended_at"]), default=tries[-1])


def tries_counted(tries: list[Row]) -> int:
    """How many tries a request took: counts of its attempts add up unless they count on."""
    counts = [a["counted"] for a in sorted(tries, key=lambda a: (a["tried_at"], a["attempt_id"]))]
    return len(counts) if counts == list(range(1, len(counts) + 1)) else sum(max(count, 1) for count in counts)
