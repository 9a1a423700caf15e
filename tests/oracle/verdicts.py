"""Gates and the verdict of each request: docs/semantics.md#latency, #gates-and-verdicts."""

from fnmatch import fnmatchcase
from fractions import Fraction

from oracle.attempts import attempts_of, delivering, requests_of, tries_counted
from oracle.fleet import ATTRIBUTES, LATENCIES, Fleet, Row, S, bound_of, exact, seconds
from oracle.labels import current, labels_by_request, pass_quality
from oracle.latency import latencies

COPIED = (
    *("model", "replica", "pool", "route", "streamed", "queue_s", "prefill_s", "itl_p95_s", "jitter_s", "input_tokens"),
    *("cached_input_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens", "finish_reason", "error_type"),
)


def judged_requests(fleet: Fleet, observed_until_ns: int) -> tuple[list[Row], list[Row]]:
    """Attempts and requests of a fleet; each attempt has its `workload`."""
    attempts = attempts_of(fleet.records)
    tries = requests_of(attempts)
    labels = labels_by_request(fleet.labels, tries)
    rows = [_request(fleet, key, of_key, labels.get(key, []), observed_until_ns) for key, of_key in tries.items()]
    for row in rows:
        for attempt in row["tries"]:
            attempt["workload"] = row["workload"]
            attempt.update(latencies(attempt, attempt["started_at"]))
    return attempts, rows


def workload_of(fleet: Fleet, tries: list[Row]) -> str:
    """The first workload that matches what the first try that carries it reports."""

    def matches(globs: list[str], name: str) -> bool:
        asked = next((attempt[name] for attempt in tries if attempt[name] is not None), "")
        return any(fnmatchcase(asked, glob) for glob in globs)

    for name, workload in fleet.workloads.items():
        asked = dict(workload.get("match", {}))
        asked |= asked.pop("attributes", {})
        if all(matches(globs, column) for column, globs in asked.items()):
            return str(name)
    return "unassigned"


def _request(fleet: Fleet, key: str, tries: list[Row], labels: list[Row], until_ns: int) -> Row:
    attempt = delivering(tries)
    name = workload_of(fleet, tries)
    workload = fleet.workloads.get(name, {})
    lifetime_ns = int(exact(fleet.settings["max_request_lifetime_s"]) * S)  # type: ignore[operator]
    arrived = min(a["arrived_at"] for a in tries)
    unended = attempt["ended_at"] is None and attempt["outcome"] == "unknown"
    in_flight = unended and arrived + lifetime_ns > until_ns
    timed_out = unended and not in_flight
    row: Row = {
        **{column: attempt[column] for column in COPIED},
        "tries": tries,
        "request_key": key,
        "workload": name,
        "arrived_at": arrived,
        "ended_at": _ended(tries, arrived + lifetime_ns, in_flight=in_flight, timed_out=timed_out),
        "attempts": len(tries),
        "retry_count": tries_counted(tries) - 1,
        "delivering_attempt_id": attempt["attempt_id"],
        "tenant": attempt["tenant"] or next((a["tenant"] for a in tries if a["tenant"]), None),
        **{name: next((a[name] for a in tries if a[name] is not None), None) for name in ATTRIBUTES},
        "session_id": attempt["session_id"] or next((a["session_id"] for a in tries if a["session_id"]), None),
        "outcome": "timeout" if timed_out else attempt["outcome"],
    }
    row |= _latencies(fleet, attempt, row)
    over = arrived if row["ended_at"] is None else row["ended_at"]
    row["judged"] = current(labels, over, fleet.settings["label_lateness_s"])
    row |= _gates(workload, row)
    if in_flight:
        row["pass_success"] = None
    return row | _verdict(workload, row, in_flight=in_flight)


def _ended(tries: list[Row], given_up: int, *, in_flight: bool, timed_out: bool) -> int | None:
    if in_flight:
        return None
    ends = [a["ended_at"] for a in tries if a["ended_at"] is not None]
    return given_up if timed_out else max(ends)


def _latencies(fleet: Fleet, attempt: Row, request: Row) -> Row:
    origin = request["arrived_at"] if fleet.settings["latency_origin"] == "request" else attempt["arrived_at"]
    ended, tokens, is_whole = attempt["ended_at"], attempt["output_tokens"], attempt["streamed"] is False
    return {
        **latencies(attempt, origin),
        "deadline_s": None if ended is None else seconds(ended - request["arrived_at"]),
        "before_s": {
            **dict.fromkeys(("ttft", "e2e"), seconds(attempt["arrived_at"] - origin)),
            "deadline": seconds(attempt["arrived_at"] - request["arrived_at"]),
        },
        "at_most_one_token": is_whole or (tokens is not None and tokens <= 1),
    }


def _gates(workload: Row, row: Row) -> Row:
    """What each gate says: true, false, or None where it is not set, not measured or does not apply."""
    found: Row = {f"pass_{gate}": None for gate in LATENCIES}
    missing = []
    row["tpot_na"] = bound_of(workload, "tpot") is not None and row["at_most_one_token"]
    for gate in LATENCIES:
        bound = bound_of(workload, gate)
        value = _measured(row, gate)
        if bound is None or (gate == "tpot" and row["tpot_na"]):
            continue
        if value is not None:
            found[f"pass_{gate}"] = value <= bound
        elif workload.get("on_missing", {}).get(gate) != "pass":
            missing.append(gate)
    found["missing_gates"] = missing
    found["pass_success"] = row["outcome"] == "ok"
    budget = workload.get("retry_budget")
    found["pass_retries"] = None if budget is None else row["retry_count"] <= budget
    quality = workload.get("quality")
    found["pass_quality"] = None if quality is None else pass_quality(row["judged"], quality)
    return found


def _measured(row: Row, gate: str) -> Fraction | None:
    value = row[f"{gate}_s"]
    return value if value is None or isinstance(value, Fraction) else exact(value)


def _verdict(workload: Row, row: Row, *, in_flight: bool) -> Row:
    slow = [gate for gate in LATENCIES if row[f"pass_{gate}"] is False]
    gated = workload.get("quality") is not None
    applies = {
        "in_flight": in_flight,
        "failed": row["pass_success"] is False,
        "ungated": row["workload"] == "unassigned",
        "over_budget": row["pass_retries"] is False,
        "slow": bool(slow),
        "rejected": row["pass_quality"] is False,
        "unevaluable": bool(row["missing_gates"]),
        "unlabelled": gated and row["pass_quality"] is None,
        "accepted": True,
    }
    in_the_way = [*(["success"] if applies["failed"] else []), *(["retries"] if applies["over_budget"] else [])]
    in_the_way += slow + row["missing_gates"]
    needs_label = gated and not in_the_way and not in_flight
    in_the_way += ["quality"] if applies["rejected"] else []
    judged = not in_flight and not applies["ungated"]
    first = next(name for name, holds in applies.items() if holds)
    return {
        "verdict": first,
        "needs_label": needs_label,
        "sole_failing_gate": in_the_way[0] if judged and len(in_the_way) == 1 else None,
        "tpot_na": row["tpot_na"] and not in_flight,
    } | {"late_by": _late_by(workload, row, slow) if first == "slow" else None}


def _late_by(workload: Row, row: Row, slow: list[str]) -> str | None:
    """What alone made it late: the wait in the queue, what passed before the try that answered, or its prefill."""
    if set(slow) - {"ttft", "e2e", "deadline"}:
        return "work"
    queue = exact(row["queue_s"])
    over = {gate: row[f"{gate}_s"] - bound_of(workload, gate) for gate in slow}
    if queue is not None and all(late <= queue for late in over.values()):
        return "queue"
    if all(late <= row["before_s"][gate] + (queue or 0) for gate, late in over.items()):
        return "retries"
    prefill, bound = exact(row["prefill_s"]), bound_of(workload, "ttft")
    if prefill is not None and bound is not None and prefill > bound:
        return "prefill"
    return None if queue is None else "work"
