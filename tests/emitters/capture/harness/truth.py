"""What really happened to each call, from what the client saw and what the mock did."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .mock_model import Served
from .plan import Call


@dataclass
class Seen:
    """One call as its client saw it; the client notes the first content with `first()` in a stream."""

    call: Call
    start_ns: int
    first_ns: int | None = None
    end_ns: int = 0
    outcome: str = "ok"
    error: str | None = None


def of_client(seen: Iterable[Seen], served: Iterable[Served]) -> list[dict[str, Any]]:
    """A line for each call that the client made, with what the mock knows of it."""
    by_rid = defaultdict(list)
    for entry in served:
        by_rid[entry.rid].append(entry)
    return [_line(one, by_rid[one.call.rid], one.call.rid) for one in seen]


def of_model(seen: Iterable[Seen], served: Iterable[Served]) -> list[dict[str, Any]]:
    """A line for each call of the model, where one call of the client may be several: times as the mock saw them.

    What the mock answered whole is ok, whatever the framework made of it; otherwise the client's outcome counts.
    """
    by_turn = defaultdict(list)
    for entry in served:
        by_turn[entry.rid, entry.turn].append(entry)
    lines = []
    for one in seen:
        for turn in sorted(turn for rid, turn in by_turn if rid == one.call.rid):
            tries = by_turn[one.call.rid, turn]
            inner = Seen(one.call, tries[0].start_ns, tries[-1].first_ns, tries[-1].end_ns or one.end_ns)
            if not tries[-1].is_whole:
                inner.outcome, inner.error = one.outcome, one.error
                if inner.outcome == "ok":  # the framework swallows failures
                    inner.outcome = "error" if tries[-1].status else "timeout"
            if inner.outcome in ("timeout", "cancelled"):
                inner.end_ns = one.end_ns
            lines.append(_line(inner, tries, f"{one.call.rid}.{turn}"))
    return lines


def _line(one: Seen, tries: list[Served], rid: str) -> dict[str, Any]:
    last = tries[-1] if tries else None
    delivered = last if last and last.is_whole and one.outcome == "ok" else None
    line = {
        "rid": rid,
        "kind": one.call.kind,
        "stream": bool(last and last.streamed),
        "session": one.call.session,
        "start_ns": one.start_ns,
        "first_ns": one.first_ns if last and last.streamed else None,
        "end_ns": one.end_ns,
        "outcome": one.outcome,
        "error": one.error,
        "status": last.status if last and last.status >= 400 else None,
        "response_id": delivered.response_id if delivered else None,
        "input_tokens": one.call.input_tokens if delivered else None,
        "cached_input_tokens": one.call.cached_tokens if delivered else None,
        "output_tokens": one.call.output_tokens if delivered else None,
        "attempts": len(tries),
    }
    return {name: value for name, value in line.items() if value is not None}
