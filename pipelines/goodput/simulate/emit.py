"""The fleet speaks: spans of gateway and engines and the judge's log records, through the OpenTelemetry SDK.

Which process says what, when and under which parent belongs here; how records reach a file does not.
"""

from dataclasses import dataclass
from typing import Final

from opentelemetry.context import Context
from opentelemetry.trace import (
    INVALID_SPAN,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    StatusCode,
    set_span_in_context,
)

from goodput.simulate.attributes import (
    client_attributes,
    engine_attributes,
    http_attributes,
    http_status,
    label_attributes,
)
from goodput.simulate.gateway import Attempt, Exchange
from goodput.simulate.judge import Judgement
from goodput.simulate.processes import LoggingProcess, TracingProcess
from goodput.simulate.replica import Job
from goodput.simulate.traffic import UserRequest

_HEALTH_EVERY_S: Final = 60
_HEALTH_NS: Final = 900_000
_GATEWAY_EXIT_NS: Final = 250_000
_ENGINE_FLUSH_NS: Final = 1_300_000
_OBSERVED_AFTER_NS: Final = 2_000_000


@dataclass(frozen=True, slots=True)
class Clock:
    """Turns simulated seconds into nanoseconds of the epoch."""

    start_ns: int

    def ns(self, simulated_s: float) -> int:
        """Return the epoch time in nanoseconds."""
        return self.start_ns + round(simulated_s * 1e9)


@dataclass(frozen=True, slots=True)
class Emitter:
    """The processes of the fleet, ready to report; `engines` by replica name."""

    clock: Clock
    gateway: TracingProcess
    engines: dict[str, TracingProcess]
    judge: LoggingProcess

    def report_exchange(self, exchange: Exchange) -> list[SpanContext]:
        """Emit the spans of one user request; return the client span of each attempt.

        One SERVER span of the gateway is the parent of one CLIENT span per attempt, which is the parent of
        the engine's span where the engine generated to the end: it reports nothing of what was aborted.
        """
        request, last = exchange.request, exchange.attempts[-1]
        status_code = http_status(last)
        parent = self.gateway.tracer.start_span(
            "POST /v1/chat/completions",
            context=Context(),
            kind=SpanKind.SERVER,
            start_time=self.clock.ns(request.arrived_s),
            attributes=http_attributes("POST", "/v1/chat/completions", status_code),
        )
        clients = [self._report_attempt(request, attempt, parent) for attempt in exchange.attempts]
        if status_code >= 500:
            parent.set_status(StatusCode.ERROR)
        parent.end(self.clock.ns(last.ended_s) + _GATEWAY_EXIT_NS)
        return clients

    def report_health(self, span_s: float) -> None:
        """Emit the spans of the gateway's liveness probe, one a minute."""
        for second in range(_HEALTH_EVERY_S // 2, int(span_s), _HEALTH_EVERY_S):
            span = self.gateway.tracer.start_span(
                "GET /health",
                context=Context(),
                kind=SpanKind.SERVER,
                start_time=self.clock.ns(second),
                attributes=http_attributes("GET", "/health", 200),
            )
            span.end(self.clock.ns(second) + _HEALTH_NS)

    def report_label(self, exchange: Exchange, client: SpanContext, judgement: Judgement) -> None:
        """Emit one judgement of a delivered answer, beside its response id with or without its span."""
        subject = NonRecordingSpan(client) if judgement.names_span else INVALID_SPAN
        judged_ns = self.clock.ns(judgement.judged_s)
        self.judge.logger.emit(
            timestamp=judged_ns,
            observed_timestamp=judged_ns + _OBSERVED_AFTER_NS,
            context=set_span_in_context(subject, Context()),
            event_name="gen_ai.evaluation.result",
            attributes=label_attributes(exchange.request, exchange.attempts[-1].response_id, judgement),
        )

    def _report_attempt(self, request: UserRequest, attempt: Attempt, parent: Span) -> SpanContext:
        span = self.gateway.tracer.start_span(
            f"chat {request.workload.model}",
            context=set_span_in_context(parent, Context()),
            kind=SpanKind.CLIENT,
            start_time=self.clock.ns(attempt.started_s),
            attributes=client_attributes(request, attempt),
        )
        if attempt.error_type:
            span.set_status(StatusCode.ERROR)
        span.end(self.clock.ns(attempt.ended_s))
        if attempt.job is not None and attempt.engine_completed:
            engine = self.engines[attempt.replica.spec.name]
            self._report_generation(request, attempt.job, engine, span.get_span_context())
        return span.get_span_context()

    def _report_generation(self, request: UserRequest, job: Job, engine: TracingProcess, client: SpanContext) -> None:
        caller = SpanContext(client.trace_id, client.span_id, is_remote=True, trace_flags=client.trace_flags)
        span = engine.tracer.start_span(
            "llm_request",
            context=set_span_in_context(NonRecordingSpan(caller), Context()),
            kind=SpanKind.SERVER,
            start_time=self.clock.ns(job.received_s),
            attributes=engine_attributes(request, job),
        )
        span.end(self.clock.ns(job.completed_s) + _ENGINE_FLUSH_NS)
