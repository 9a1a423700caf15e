"""What became of each attempt: times, tokens and work as client and engine knew them, and what it cost."""

from typing import Any, Final

import polars as pl

from goodput.simulate.emit.day import Day
from goodput.simulate.emit.identity import AttemptIds
from goodput.simulate.fleet.events import NEVER
from goodput.simulate.fleet.gateway import Attempt, Exchange
from goodput.simulate.fleet.job import Job
from goodput.simulate.truth.money import drafts, work

_UTC_US: Final = pl.Datetime("us", "UTC")
_ATTEMPTS: Final[dict[str, Any]] = {
    "request_id": pl.String,
    "attempt_index": pl.Int64,
    "trace_id": pl.String,
    "span_id": pl.String,
    "response_id": pl.String,
    "workload": pl.String,
    "route": pl.String,
    "pool": pl.String,
    "replica": pl.String,
    "pod_uid": pl.String,
    "started_at": _UTC_US,
    "ended_at": _UTC_US,
    "outcome": pl.String,
    "error_type": pl.String,
    "engine_completed": pl.Boolean,
    "engine_reported": pl.Boolean,
    "ttft_s": pl.Float64,
    "queue_s": pl.Float64,
    "prefill_s": pl.Float64,
    "decode_s": pl.Float64,
    "input_tokens": pl.Int64,
    "output_tokens": pl.Int64,
    "cached_input_tokens": pl.Int64,
    "prefilled_tokens": pl.Float64,
    "preemptions": pl.Int64,
    "recomputed_tokens": pl.Int64,
    "draft_tokens": pl.Float64,
    "accepted_draft_tokens": pl.Float64,
    "work": pl.Float64,
    "redone_work": pl.Float64,
    "vain_work": pl.Float64,
}


def attempts_frame(day: Day) -> pl.DataFrame:
    """Return `Truth.attempts`."""
    rows = [
        _attempt_row(day, exchange, index, attempt, own)
        for exchange, ids in zip(day.served.exchanges, day.ids.attempts, strict=True)
        for index, (attempt, own) in enumerate(zip(exchange.attempts, ids, strict=True))
    ]
    return pl.DataFrame(rows, schema=_ATTEMPTS, orient="row")


def _attempt_row(day: Day, exchange: Exchange, index: int, attempt: Attempt, ids: AttemptIds) -> tuple[Any, ...]:
    arrival, clock = exchange.arrival, day.clock
    return (
        arrival.request_id,
        index,
        f"{ids.trace_id:032x}",
        f"{ids.client_id:016x}",
        attempt.response_id or None,
        arrival.workload,
        arrival.route,
        arrival.pool,
        attempt.incarnation.replica,
        day.ids.pod_uids[attempt.incarnation],
        clock.at(attempt.started_s),
        clock.at(attempt.ended_s),
        attempt.outcome,
        attempt.error_type or None,
        attempt.engine_completed,
        day.engine_reported(attempt),
        _between(attempt.started_s, attempt.first_chunk_s),
        *(_job_facts(attempt.job) if attempt.job is not None else (None,) * 9),
        *_work_facts(attempt),
    )


def _job_facts(job: Job) -> tuple[Any, ...]:
    return (
        _between(job.queued_s, job.scheduled_s),
        _between(job.scheduled_s, job.first_token_s),
        _between(job.first_token_s, job.completed_s),
        job.input_tokens,
        job.output_tokens if job.completed_s < NEVER else round(job.generated),
        job.cached_tokens if job.scheduled_s < NEVER else None,
        job.prefilled_tokens,
        job.preemptions,
        job.recomputed_tokens,
    )


def _work_facts(attempt: Attempt) -> tuple[float | None, ...]:
    if attempt.job is None:
        return None, None, 0.0, 0.0, 0.0
    spec = attempt.incarnation.engine.spec
    return *drafts(attempt.job, spec), *work(attempt.job, spec)


def _between(begin_s: float, end_s: float) -> float | None:
    return end_s - begin_s if end_s < NEVER else None
