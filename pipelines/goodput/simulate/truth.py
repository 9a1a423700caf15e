"""What really happened in the simulated fleet, told by the simulation itself and never by its telemetry."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from opentelemetry.trace import SpanContext, format_span_id, format_trace_id

from goodput.simulate.emit import Clock
from goodput.simulate.events import NEVER
from goodput.simulate.gateway import Attempt, Exchange
from goodput.simulate.judge import Judgement

_UTC_US = pl.Datetime("us", "UTC")
_REQUESTS: dict[str, Any] = {
    "request_id": pl.String,
    "trace_id": pl.String,
    "workload": pl.String,
    "route": pl.String,
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
    "quality_passed": pl.Boolean,
    "labelled": pl.Boolean,
}
_ATTEMPTS: dict[str, Any] = {
    "request_id": pl.String,
    "attempt_index": pl.Int64,
    "trace_id": pl.String,
    "span_id": pl.String,
    "response_id": pl.String,
    "replica": pl.String,
    "started_at": _UTC_US,
    "ended_at": _UTC_US,
    "outcome": pl.String,
    "error_type": pl.String,
    "engine_completed": pl.Boolean,
}
_FILES: dict[str, Any] = {
    "path": pl.String,
    "records": pl.Int64,
    "resent": pl.Int64,
}


@dataclass(frozen=True, slots=True)
class Truth:
    """The truth behind a demo landing folder.

    `requests`: one row per user request (semantics.md section 1). `ttft_s` and `e2e_s` are seconds from the
    first arrival; a latency is NULL when no first chunk or no complete answer was delivered, tokens and
    `quality_passed` (known for every answer, labelled or not) when no complete answer was; `replica` is that
    of the last attempt. `attempts`: one row per try, with the ids of its client span; `engine_completed`
    says that the engine reported it. `files`: per landing file the records in it, resent ones included, and
    how many of them are such repetitions.
    """

    requests: pl.DataFrame
    attempts: pl.DataFrame
    files: pl.DataFrame


def requests_frame(
    exchanges: Sequence[Exchange],
    judgements: Sequence[Judgement | None],
    clients: Sequence[Sequence[SpanContext]],
    clock: Clock,
) -> pl.DataFrame:
    """Return `Truth.requests`; the three sequences are parallel."""
    rows = [
        _request_row(exchange, judgement, spans[0], clock)
        for exchange, judgement, spans in zip(exchanges, judgements, clients, strict=True)
    ]
    return pl.DataFrame(rows, schema=_REQUESTS, orient="row")


def attempts_frame(
    exchanges: Sequence[Exchange], clients: Sequence[Sequence[SpanContext]], clock: Clock
) -> pl.DataFrame:
    """Return `Truth.attempts`; the two sequences are parallel."""
    rows = [
        _attempt_row(exchange.request.request_id, index, attempt, span, clock)
        for exchange, spans in zip(exchanges, clients, strict=True)
        for index, (attempt, span) in enumerate(zip(exchange.attempts, spans, strict=True))
    ]
    return pl.DataFrame(rows, schema=_ATTEMPTS, orient="row")


def files_frame(rows: Sequence[tuple[str, int, int]]) -> pl.DataFrame:
    """Return `Truth.files`."""
    return pl.DataFrame(rows, schema=_FILES, orient="row")


def _request_row(exchange: Exchange, judgement: Judgement | None, client: SpanContext, clock: Clock) -> tuple[Any, ...]:
    request, last = exchange.request, exchange.attempts[-1]
    delivered = last.outcome == "ok"
    arrived_ns, ended_ns = clock.ns(request.arrived_s), clock.ns(last.ended_s)
    answered = last.first_chunk_s < NEVER
    return (
        request.request_id,
        format_trace_id(client.trace_id),
        request.workload.name,
        request.route,
        request.tenant,
        request.session_id,
        arrived_ns // 1000,
        ended_ns // 1000,
        len(exchange.attempts),
        last.outcome,
        (clock.ns(last.first_chunk_s) - arrived_ns) / 1e9 if answered else None,
        (ended_ns - arrived_ns) / 1e9 if delivered else None,
        request.input_tokens if delivered else None,
        request.output_tokens if delivered else None,
        last.replica.spec.name,
        judgement.passed if judgement is not None else None,
        judgement is not None and judgement.labelled,
    )


def _attempt_row(request_id: str, index: int, attempt: Attempt, client: SpanContext, clock: Clock) -> tuple[Any, ...]:
    return (
        request_id,
        index,
        format_trace_id(client.trace_id),
        format_span_id(client.span_id),
        attempt.response_id or None,
        attempt.replica.spec.name,
        clock.ns(attempt.started_s) // 1000,
        clock.ns(attempt.ended_s) // 1000,
        attempt.outcome,
        attempt.error_type or None,
        attempt.engine_completed,
    )
