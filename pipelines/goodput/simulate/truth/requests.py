"""What became of each user request."""

from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from goodput.simulate.emit.day import Day
from goodput.simulate.emit.identity import AttemptIds, request_key
from goodput.simulate.fleet.events import NEVER
from goodput.simulate.fleet.gateway import Exchange
from goodput.simulate.judge import Judgement

_UTC_US: Final = pl.Datetime("us", "UTC")
_REQUESTS: Final[dict[str, Any]] = {
    "request_id": pl.String,
    "request_key": pl.String,
    "trace_id": pl.String,
    "workload": pl.String,
    "route": pl.String,
    "pool": pl.String,
    "tenant": pl.String,
    "session_id": pl.String,
    "arrived_at": _UTC_US,
    "ended_at": _UTC_US,
    "attempts": pl.Int64,
    "outcome": pl.String,
    "ttft_s": pl.Float64,
    "e2e_s": pl.Float64,
    "input_tokens": pl.Int64,
    "output_tokens": pl.Int64,
    "replica": pl.String,
    "weights": pl.String,
    "quality_passed": pl.Boolean,
    "labelled": pl.Boolean,
    "complete": pl.Boolean,
}


def requests_frame(day: Day, attempts: pl.DataFrame) -> pl.DataFrame:
    """Return `Truth.requests`, given `Truth.attempts`."""
    rows = [
        _request_row(day, exchange, judgement, ids)
        for exchange, judgement, ids in zip(day.served.exchanges, day.judgements, day.ids.attempts, strict=True)
    ]
    known = {name: kind for name, kind in _REQUESTS.items() if name != "complete"}
    of_attempts = attempts.group_by("request_id").agg(
        complete=(pl.col("engine_reported") | ~pl.col("engine_completed")).all(),
    )
    frame = pl.DataFrame(rows, schema=known, orient="row")
    return frame.join(of_attempts, on="request_id", how="left", maintain_order="left").select(list(_REQUESTS))


def _request_row(
    day: Day, exchange: Exchange, judgement: Judgement | None, ids: Sequence[AttemptIds]
) -> tuple[Any, ...]:
    arrival, last, clock = exchange.arrival, exchange.attempts[-1], day.clock
    delivered = last.outcome == "ok"
    arrived_ns, ended_ns = clock.ns(arrival.arrived_s), clock.ns(last.ended_s)
    answered = last.first_chunk_s < NEVER
    return (
        arrival.request_id,
        request_key(exchange, ids),
        f"{ids[0].trace_id:032x}",
        arrival.workload,
        arrival.route,
        arrival.pool,
        arrival.tenant,
        arrival.session_id or None,
        clock.at(arrival.arrived_s),
        clock.at(last.ended_s),
        len(exchange.attempts),
        last.outcome,
        (clock.ns(last.first_chunk_s) - arrived_ns) / 1e9 if answered else None,
        (ended_ns - arrived_ns) / 1e9 if delivered else None,
        arrival.input_tokens if delivered else None,
        arrival.output_tokens if delivered else None,
        last.incarnation.replica,
        last.incarnation.engine.spec.weights,
        judgement.passed if judgement is not None else None,
        judgement is not None and judgement.labelled,
    )
