"""Own telemetry by the OpenTelemetry SDK: what a run tells of itself becomes spans, gauges and log records.

The SDK's batches leave in threads while the run works; what is left at its end is waited for within a budget.
"""

import math
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar

from opentelemetry import trace
from opentelemetry._logs import SeverityNumber
from opentelemetry.context import Context
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import Status, StatusCode

from goodput.plumbing.telemetry import Severity, Silent, Value, WorkSpan
from goodput.telemetry.quantities import QUANTITIES
from goodput.telemetry.resource import own_resource
from goodput.telemetry.sending import Sending
from goodput.telemetry.wanted import Signal

MOST_PARTS = 20  # of one span: with all nodes computed three times over, the SDK still holds all spans
MOST_RECORDS = 100  # of one event
_SCOPE = "goodput"
_SEVERITIES = {"info": SeverityNumber.INFO, "warning": SeverityNumber.WARN, "error": SeverityNumber.ERROR}


class _Ids(RandomIdGenerator):
    """Random ids of spans, below a trace id that may be given."""

    def __init__(self, trace_id: int | None) -> None:
        self._trace_id = trace_id

    def generate_trace_id(self) -> int:
        """The id of the trace."""
        return self._trace_id or super().generate_trace_id()


class _Recorded:
    """A span that is open."""

    def __init__(self, span: trace.Span) -> None:
        self._span = span
        self.parts = 0

    def note(self, **attributes: Value) -> None:
        """Set attributes."""
        self._span.set_attributes(_named(attributes))

    def fail(self, why: str) -> None:
        """Set the status."""
        self._span.set_status(Status(StatusCode.ERROR, why))


class Recorder:
    """The telemetry of one run; `close` sends what is left."""

    is_on = True

    def __init__(
        self, signals: Collection[Signal], sending: Sending, identity: Mapping[str, str], trace_id: int | None = None
    ) -> None:
        self._sending = sending
        resource = own_resource(identity)
        self._traces = TracerProvider(resource=resource, id_generator=_Ids(trace_id), shutdown_on_exit=False)
        if "traces" in signals:
            self._traces.add_span_processor(BatchSpanProcessor(sending.spans()))
        readers = [PeriodicExportingMetricReader(sending.metrics(), math.inf)] if "metrics" in signals else []
        self._metrics = MeterProvider(readers, resource, shutdown_on_exit=False)
        self._logs = LoggerProvider(resource, shutdown_on_exit=False)
        if "logs" in signals:
            self._logs.add_log_record_processor(BatchLogRecordProcessor(sending.logs()))
        self._tracer, self._logger = self._traces.get_tracer(_SCOPE), self._logs.get_logger(_SCOPE)
        meter = self._metrics.get_meter(_SCOPE)
        self._gauges = {name: meter.create_gauge(name, of.unit, of.meaning) for name, of in QUANTITIES.items()}
        self._open = ContextVar[tuple[_Recorded, ...]]("open spans", default=())  # innermost last
        self._sums: defaultdict[tuple[str, frozenset[tuple[str, Value]]], float] = defaultdict(float)
        self._records: Counter[str] = Counter()

    @contextmanager
    def span(self, name: str, **attributes: Value) -> Iterator[WorkSpan]:
        """A span within the one that is open, else the first of a trace."""
        with self._span(name, None, attributes) as span:
            yield span

    @contextmanager
    def part(self, name: str, *, since_ns: int | None = None, **attributes: Value) -> Iterator[WorkSpan]:
        """A span within the one that is open, unless that has MOST_PARTS of them."""
        whole = self._open.get()[-1]
        whole.parts += 1
        is_told = whole.parts <= MOST_PARTS
        if not is_told:
            whole.note(parts_left_out=whole.parts - MOST_PARTS)
        with self._span(name, since_ns, attributes) if is_told else Silent().span(name) as span:
            yield span

    @contextmanager
    def _span(self, name: str, since_ns: int | None, attributes: Mapping[str, Value]) -> Iterator[WorkSpan]:
        with self._tracer.start_as_current_span(
            name,
            None if self._open.get() else Context(),
            attributes=_named(attributes),
            start_time=since_ns,
            record_exception=False,  # its text may be of anything
            set_status_on_exception=False,
        ) as span:
            recorded = _Recorded(span)
            outer = self._open.set((*self._open.get(), recorded))
            try:
                yield recorded
            except BaseException as error:
                recorded.fail(type(error).__name__)
                raise
            finally:
                self._open.reset(outer)

    def add(self, quantity: str, amount: float, **attributes: Value) -> None:
        """Set the gauge to the sum so far."""
        key = (quantity, frozenset(attributes.items()))
        self._sums[key] += amount
        self.put(quantity, self._sums[key], **attributes)

    def put(self, quantity: str, amount: float, **attributes: Value) -> None:
        """Set the gauge."""
        self._gauges[quantity].set(amount, _named(attributes))

    def record(self, event: str, text: str, severity: Severity, **attributes: Value) -> None:
        """Emit a log record with the ids of the span that is open."""
        self._records[event] += 1
        if self._records[event] <= MOST_RECORDS:
            self._emit(event, text, severity, attributes)
        elif self._records[event] == MOST_RECORDS + 1:
            self._emit(event, "there are more of these, which are not recorded one by one", severity, {})

    def close(self, budget_s: float) -> str:
        """Send what is left, waiting for so long at most; what went wrong, as far as is known."""
        work = (self._traces.shutdown, self._flush_metrics, self._logs.shutdown)
        threads = [threading.Thread(target=_quietly, args=(each,), name="telemetry", daemon=True) for each in work]
        until = time.monotonic() + budget_s
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))
        late = any(thread.is_alive() for thread in threads)
        problem = self._sending.problem or (f"no answer within {budget_s:g} s" if late else "")
        if late:
            self._sending.stop()
        return problem

    def _flush_metrics(self) -> None:
        self._metrics.force_flush()
        self._metrics.shutdown()

    def _emit(self, event: str, text: str, severity: Severity, attributes: Mapping[str, Value]) -> None:
        self._logger.emit(
            timestamp=time.time_ns(),
            severity_number=_SEVERITIES[severity],
            severity_text=_SEVERITIES[severity].name,
            body=text,
            attributes=_named(attributes),
            event_name=f"goodput.{event}",
        )


def _quietly(work: Callable[[], object]) -> None:
    with suppress(Exception):  # what was not sent is known to the sessions
        work()


def _named(attributes: Mapping[str, Value]) -> dict[str, Value]:
    return {f"goodput.{name}": value for name, value in attributes.items()}
