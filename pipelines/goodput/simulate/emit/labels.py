"""Quality labels as `gen_ai.evaluation.result` log records: late, and of a sample of the answers."""

from typing import Final

from opentelemetry._logs import LogRecord
from opentelemetry.context import Context
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.trace import INVALID_SPAN, NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

from goodput.simulate.emit.attributes import label_attributes
from goodput.simulate.emit.clock import Clock
from goodput.simulate.emit.identity import AttemptIds
from goodput.simulate.emit.processes import JUDGE
from goodput.simulate.fleet.gateway import Exchange
from goodput.simulate.judge import Judgement

_OBSERVED_AFTER_NS: Final = 2_000_000


def label_record(clock: Clock, exchange: Exchange, ids: AttemptIds, judgement: Judgement) -> ReadableLogRecord:
    """Return the label of a delivered answer, beside its response id with or without its span."""
    context = SpanContext(ids.trace_id, ids.client_id, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
    subject = NonRecordingSpan(context) if judgement.names_span else INVALID_SPAN
    judged_ns = clock.ns(judgement.judged_s)
    record = LogRecord(
        timestamp=judged_ns,
        observed_timestamp=judged_ns + _OBSERVED_AFTER_NS,
        context=set_span_in_context(subject, Context()),
        event_name="gen_ai.evaluation.result",
        attributes=label_attributes(exchange.arrival, exchange.attempts[-1].response_id, judgement),
    )
    return ReadableLogRecord(record, JUDGE.resource, JUDGE.scope)
