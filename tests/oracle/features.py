"""What kinds of things a fleet has, so that the few fleets of the suite can be shown to have them all."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from oracle.engine import COUNTERS
from oracle.fleet import HOUR, Fleet, S

ALL = {
    *("retried", "hedged", "unended", "counts tries", "by a caller alone", "on no known replica", "intended earlier"),
    *("no first token", "no cached tokens", "no output tokens", "drafts", "recomputed", "several hours"),
    *("labels revised", "labels withdrawn", "labels of nothing", "labels by response", "scores", "words"),
    *(
        "unit session",
        "deadline",
        "on_missing",
        "retry_budget",
        "estimate",
        "fail",
        "pass",
        "random",
        "session",
        "none",
    ),
    *("by tenant", "by attribute", "by value within workloads", "crowded", "names crowded", "from the attempt"),
    *("billing", "allocation", "rate_card", "overhead", "of a request", "rates", "token prices", "FOCUS"),
    *("parts of an export", "several exports", "currencies", "bills in several files", "cost by the gateway"),
    *(f"counts {kind}" for kind in COUNTERS),
    *("on a pool", "on a replica alone", "on the fleet", "on an unknown replica", "by its subject"),
    *("told again", "changed in place", "caps by kind", "overlapping"),
    *("phases", "cache writes", "reasoning", "prices in tiers", "price of reasoning", "labels of sessions"),
    *("rates declared", "disrupted windows kept"),
    *("gauges", "histograms", "deltas", "starts told", "begun anew", "paused", "process start"),
}


def features(fleet: Fleet) -> set[str]:
    """The features that a fleet has."""
    rows = (_of_records, _of_labels, _of_settings, _of_money, _of_readings, _of_events)
    return {name for of in rows for name in of(fleet)}


def _of_records(fleet: Fleet) -> Iterator[str]:
    keys = Counter(row["request_key"] for row in fleet.records if row.get("request_key"))
    tries = [[row for row in fleet.records if row.get("request_key") == key] for key in keys]
    for one, other in (pair for of in tries for pair in pairwise(of)):
        yield "hedged" if other["started_at"] < one["ended_at"] else "retried"
    below = {row.get("parent_span_id") for row in fleet.records}
    for row in fleet.records:
        alone = row["layer"] == "client" and row["span_id"] not in below
        told = {
            "unended": "ended_at" not in row,
            "counts tries": row.get("reported_attempts"),
            "by a caller alone": alone and row.get("replica"),
            "on no known replica": alone and row.get("pool") and not row.get("replica"),
            "intended earlier": row.get("intended_at", row["started_at"]) < row["started_at"],
            "no first token": row["layer"] == "client" and "first_token_at" not in row,
            "no cached tokens": "input_tokens" in row and row["cached_input_tokens"] is None,
            "no output tokens": "output_tokens" in row and row["output_tokens"] is None,
            "drafts": row.get("draft_tokens"),
            "recomputed": row.get("recomputed_tokens"),
            "phases": row.get("prefill_s"),
            "cache writes": row.get("cache_write_tokens"),
            "reasoning": row.get("reasoning_tokens"),
            "cost by the gateway": row.get("reported_cost_usd"),
        }
        yield from (name for name, holds in told.items() if holds)
    hours = {row["started_at"] // HOUR for row in fleet.records}
    yield from ("several hours",) if len(hours) > 1 else ()


def _of_labels(fleet: Fleet) -> Iterator[str]:
    times = Counter(row["label_id"] for row in fleet.labels)
    yield from ("labels revised" for count in times.values() if count > 1)
    for row in fleet.labels:
        told = {
            "labels withdrawn": row["withdrawn"],
            "labels of nothing": str(row.get("request_key")).startswith("not-"),
            "labels by response": row.get("response_id"),
            "scores": row.get("score"),
            "words": row.get("label"),
            "labels of sessions": row.get("session_id"),
        }
        yield from (name for name, holds in told.items() if holds)


def _of_settings(fleet: Fleet) -> Iterator[str]:
    slices = fleet.settings["slices"]
    yield from ("by tenant" if name.endswith("tenant") else "by attribute" for name in slices["by"])
    yield from ("by value within workloads" for name in slices["by"] if name.startswith("workload_"))
    yield from ("crowded",) if slices["by"] and slices["max_values"] < 3 else ()
    yield from ("names crowded",) if slices["max_names"] < 3 else ()
    yield from ("from the attempt",) if fleet.settings["latency_origin"] == "attempt" else ()
    for workload in fleet.workloads.values():
        yield from ("unit session",) if workload.get("unit") == "session" else ()
        yield from ("deadline",) if "completion_window_s" in workload else ()
        yield from (name for name in ("on_missing", "retry_budget") if name in workload and workload[name] != {})
        if "quality" in workload:
            yield from (workload["quality"]["unlabelled"], workload["quality"]["sampling"])


def _of_money(fleet: Fleet) -> Iterator[str]:
    for row in (row for bill in fleet.bills for row in bill):
        yield row["basis"]
        yield from ("of a request",) if row.get("request_key") else ()
    folders = {path.rsplit("/", 1)[0] for path in fleet.exports if "/part-" in path}
    exports = len(fleet.exports) - len([path for path in fleet.exports if "/part-" in path]) + len(folders)
    told = {
        "rates": fleet.settings.get("rates"),
        "token prices": fleet.prices,
        "prices in tiers": any("above_1k" in of for of in fleet.prices.values()),
        "price of reasoning": any("reasoning" in of for of in fleet.prices.values()),
        "FOCUS": fleet.exports,
        "parts of an export": folders,
        "several exports": exports > 1,
        "currencies": any(line["currency"] != "USD" for lines in fleet.exports.values() for line in lines),
        "bills in several files": len(fleet.bills) > 1,
    }
    yield from (name for name, holds in told.items() if holds)


def _of_readings(fleet: Fleet) -> Iterator[str]:
    for row in fleet.readings:
        counted = row["counters"].keys()
        yield from (f"counts {kind}" for kind, keys in COUNTERS.items() if counted >= set(keys))
        yield from ("gauges",) if "waiting_requests" in row["gauges"] else ()
        yield from ("process start",) if "process_started_s" in row["gauges"] else ()
        yield from ("histograms",) if row["histograms"] else ()
        yield from ("deltas",) if row["delta"] and counted else ()
        yield from ("starts told",) if row["began"] and not row["delta"] and counted else ()
    for one, other in pairwise(fleet.readings):
        if one["replica"] == other["replica"]:
            yield from ("paused",) if other["at"] - one["at"] > 300 * S else ()
            fell = any(other["counters"].get(key, 0) < value for key, value in one["counters"].items())
            yield from ("begun anew",) if fell and not one["delta"] else ()


def _of_events(fleet: Fleet) -> Iterator[str]:
    told = Counter(row["event_id"] for row in fleet.events)
    named = {row["replica"] for row in fleet.records if row.get("replica")}
    yield from ("rates declared",) if any("offered_rps" in row for row in fleet.records) else ()
    yield from ("disrupted windows kept",) if fleet.settings["disruptions"]["in_frontier"] else ()
    yield from ("caps by kind",) if fleet.settings["disruptions"]["caps_s"] else ()
    for row in fleet.events:
        pool, replica, subject = (row.get(name) for name in ("pool", "replica", "subject"))
        held = {
            "on a pool": pool and not subject,
            "on a replica alone": replica in named and not pool,
            "on the fleet": not pool and not replica and not subject,
            "on an unknown replica": replica and replica not in named and not pool,
            "by its subject": pool and pool == subject,
            "told again": told[row["event_id"]] > 1 and "revised_at" not in row,
            "changed in place": "revised_at" in row,
        }
        yield from (name for name, holds in held.items() if holds)
    times = sorted({row["event_id"]: row["occurred_at"] for row in fleet.events}.values())
    yield from ("overlapping" for one, other in pairwise(times) if other - one < 300 * S)
