"""Spans as gateway, applications and engines would have ended them.

Which process records what, when and under which parent belongs here; how spans reach a file does not. They are built as
the SDK's own read-only spans: a day has too many for a live tracer each.
"""

from typing import Final

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from goodput.simulate.emit.attributes import client_attributes, engine_attributes, http_attributes, http_status
from goodput.simulate.emit.clock import Clock
from goodput.simulate.emit.identity import AttemptIds
from goodput.simulate.emit.processes import GATEWAY, Process
from goodput.simulate.fleet.arrival import Arrival
from goodput.simulate.fleet.gateway import Attempt, Exchange
from goodput.simulate.fleet.job import Job

_SAMPLED: Final = TraceFlags(TraceFlags.SAMPLED)
_UNSET: Final = Status(StatusCode.UNSET)
_ERROR: Final = Status(StatusCode.ERROR)
_HEALTH_NS: Final = 900_000
_GATEWAY_EXIT_NS: Final = 250_000
ENGINE_FLUSH_NS: Final = 1_300_000


def server_span(clock: Clock, exchange: Exchange, ids: AttemptIds) -> ReadableSpan:
    """Return the gateway's SERVER span of a request: the parent of its attempts."""
    last = exchange.attempts[-1]
    status_code = http_status(last)
    return ReadableSpan(
        "POST /v1/chat/completions",
        context=_context(ids.trace_id, ids.parent_id),
        resource=GATEWAY.resource,
        attributes=http_attributes("POST", "/v1/chat/completions", status_code),
        kind=SpanKind.SERVER,
        status=_ERROR if status_code >= 500 else _UNSET,
        start_time=clock.ns(exchange.arrival.arrived_s),
        end_time=clock.ns(last.ended_s) + _GATEWAY_EXIT_NS,
        instrumentation_scope=GATEWAY.scope,
    )


def client_span(clock: Clock, process: Process, exchange: Exchange, attempt: Attempt, ids: AttemptIds) -> ReadableSpan:
    """Return the GenAI CLIENT span of one attempt, below its parent where it has one."""
    return ReadableSpan(
        f"chat {attempt.incarnation.engine.spec.model}",
        context=_context(ids.trace_id, ids.client_id),
        parent=_context(ids.trace_id, ids.parent_id) if ids.parent_id else None,
        resource=process.resource,
        attributes=client_attributes(exchange.arrival, attempt),
        kind=SpanKind.CLIENT,
        status=_ERROR if attempt.error_type else _UNSET,
        start_time=clock.ns(attempt.started_s),
        end_time=clock.ns(attempt.ended_s),
        instrumentation_scope=process.scope,
    )


def engine_span(clock: Clock, process: Process, arrival: Arrival, job: Job, ids: AttemptIds) -> ReadableSpan:
    """Return vLLM's `llm_request` span of an answer that it generated to the end; it never sets a status."""
    return ReadableSpan(
        "llm_request",
        context=_context(ids.trace_id, ids.engine_id),
        parent=_context(ids.trace_id, ids.client_id, is_remote=True),
        resource=process.resource,
        attributes=engine_attributes(arrival, job),
        kind=SpanKind.SERVER,
        start_time=clock.ns(job.received_s),
        end_time=clock.ns(job.completed_s) + ENGINE_FLUSH_NS,
        instrumentation_scope=process.scope,
    )


def health_span(clock: Clock, at_s: float, trace_id: int) -> ReadableSpan:
    """Return the span of one liveness probe of the gateway."""
    return ReadableSpan(
        "GET /health",
        context=_context(trace_id, trace_id >> 64),
        resource=GATEWAY.resource,
        attributes=http_attributes("GET", "/health", 200),
        kind=SpanKind.SERVER,
        start_time=clock.ns(at_s),
        end_time=clock.ns(at_s) + _HEALTH_NS,
        instrumentation_scope=GATEWAY.scope,
    )


def _context(trace_id: int, span_id: int, *, is_remote: bool = False) -> SpanContext:
    return SpanContext(trace_id, span_id, is_remote=is_remote, trace_flags=_SAMPLED)
