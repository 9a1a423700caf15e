"""Sessions with all of their requests: docs/semantics.md#sessions."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from fractions import Fraction

from oracle.fleet import VERDICTS, Row
from oracle.waste import plus

IN_ORDER = ("in_flight", *VERDICTS)


def by_session(requests: Iterable[Row]) -> dict[str, list[Row]]:
    """Requests of each session in the order in which they ended."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in sorted(requests, key=lambda row: (over(row), row["arrived_at"], row["request_key"])):
        if row["session_id"]:
            found[row["session_id"]].append(row)
    return found


def over(request: Row) -> int:
    """End of a request; of one without it its arrival."""
    return int(request["arrived_at"] if request["ended_at"] is None else request["ended_at"])


def verdict_of(rows: list[Row]) -> str:
    """The first in order that any request has."""
    return next(verdict for verdict in IN_ORDER if any(row["verdict"] == verdict for row in rows))


def sessions(requests: Iterable[Row], costs: dict[str, Fraction]) -> dict[str, Row]:
    """Rows of relation sessions."""
    return {name: _session(rows, costs) for name, rows in by_session(requests).items()}


def _session(rows: list[Row], costs: dict[str, Fraction]) -> Row:
    last, verdict = rows[-1], verdict_of(rows)
    counts = Counter(row["verdict"] for row in rows)
    tokens = [row["output_tokens"] for row in rows if row["output_tokens"] is not None]
    found: Row = {
        **{name: last[name] or "unknown" for name in ("workload", "model", "pool", "route")},
        "started_at": min(row["arrived_at"] for row in rows),
        "ended_at": max(over(row) for row in rows),
        "requests": len(rows),
        "attempts": sum(row["attempts"] for row in rows),
        "retries": sum(row["retry_count"] for row in rows),
        "accepted": None if verdict == "in_flight" else verdict == "accepted",
        "verdict": verdict,
        **{f"{name}_requests": counts[name] for name in IN_ORDER},
        "output_tokens": sum(tokens) if tokens else None,
    }
    usd: Fraction | None = None
    for row in rows:
        usd = plus(usd, costs.get(row["request_key"]))
    return found | {"cost_usd": usd}
