"""What windows count: requests, or the sessions of workloads that count those. See docs/semantics.md#sessions."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from math import ceil

from oracle.fleet import ATTRIBUTES, HOUR, Fleet, Row
from oracle.labels import is_drawn
from oracle.sessions import by_session, over, verdict_of

OF_LAST = ("workload", "model", "pool", "route")


def counts_sessions(fleet: Fleet, workload: str) -> bool:
    """Whether a workload's unit is a session."""
    return bool(fleet.workloads.get(workload, {}).get("unit", "request") == "session")


def units(fleet: Fleet, requests: Iterable[Row]) -> list[Row]:
    """Requests and sessions as windows count them: `arrived_at`, `ended_at` (or None) and what they came to."""
    found: list[Row] = []
    by_workload: dict[str, list[Row]] = defaultdict(list)
    for row in requests:
        by_workload[row["workload"]].append(row)
    for workload, rows in by_workload.items():
        if not counts_sessions(fleet, workload):
            found += rows
            continue
        drawn = is_drawn(fleet.workloads[workload].get("quality") or {})
        reach_h = ceil(fleet.settings.get("max_session_s", 14400) / 3600)
        for of in by_session(rows).values():
            for session in _parts(of, reach_h):
                found += _counted(session, reach_h, is_drawn=drawn)
    return found


def _hour(row: Row) -> int:
    return over(row) // HOUR


def _parts(rows: list[Row], reach_h: int) -> Iterator[list[Row]]:
    """Sessions of one id: another begins after more hours than the settings allow."""
    begins = 0
    for n in range(1, len(rows)):
        if _hour(rows[n]) - _hour(rows[n - 1]) > reach_h:
            yield rows[begins:n]
            begins = n
    yield rows[begins:]


def _counted(rows: list[Row], reach_h: int, *, is_drawn: bool) -> Iterator[Row]:
    """A session's arrival, as of the hour of its beginning, and its end, as of the hours that decide it."""
    first = [row for row in rows if _hour(row) == _hour(rows[0])]
    yield {
        **_seen_last(first),
        "request_key": None,
        "arrived_at": min(row["arrived_at"] for row in first),
        "ended_at": None,
    }
    lately = [row for row in rows if _hour(rows[-1]) - _hour(row) <= reach_h]
    if any(row["verdict"] == "in_flight" for row in lately):
        return
    quality = [row["pass_quality"] for row in lately]
    yield {
        **_seen_last(lately),
        "request_key": None,
        "session_id": None,  # it is one unit by itself
        "arrived_at": None,
        "ended_at": over(rows[-1]),
        "verdict": verdict_of(lately),
        "pass_success": all(row["verdict"] != "failed" for row in lately),
        "pass_quality": _passed(quality, is_drawn=is_drawn),
        "partly_judged": 0 < sum(one is not None for one in quality) < len(quality),
        "needs_label": all(row["needs_label"] for row in lately),
        "output_tokens": sum(row["output_tokens"] or 0 for row in lately),
        "retry_count": sum(row["retry_count"] for row in lately),
        "sole_failing_gate": _sole_gate(lately),
    }


def _passed(quality: list[bool | None], *, is_drawn: bool) -> bool | None:
    """What is known of all requests of a session: a drawn label is one of the whole session."""
    if is_drawn and None in quality:
        return None
    return False if False in quality else True if all(quality) else None


def _seen_last(rows: list[Row]) -> Row:
    """Where the last request was served, and the tenant and each attribute as the last one that has it reports it."""
    known = {name: [row[name] for row in rows if row[name] is not None] for name in ("tenant", *ATTRIBUTES)}
    of_last = {name: rows[-1][name] for name in OF_LAST}
    return of_last | {name: values[-1] if values else None for name, values in known.items()}


def _sole_gate(rows: list[Row]) -> str | None:
    """The gate that alone stands in the way of every request that is not accepted, nor waits for a label."""
    gates = {row["sole_failing_gate"] for row in rows if row["verdict"] not in {"accepted", "unlabelled"}}
    return gates.pop() if len(gates) == 1 else None
