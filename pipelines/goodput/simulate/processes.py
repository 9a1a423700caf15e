"""The processes of the demo that emit telemetry, each with its own OpenTelemetry SDK provider.

Resources, identities and the seeded id generator belong here; what is said about a request does not.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from numpy.random import Generator
from opentelemetry.sdk._logs import LoggerProvider, ReadableLogRecord
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.sdk.version import __version__ as sdk_version

from goodput.simulate.story import ReplicaSpec

_SDK = {
    "telemetry.sdk.language": "python",
    "telemetry.sdk.name": "opentelemetry",
    "telemetry.sdk.version": sdk_version,
}


class SeededIds(IdGenerator):
    """Trace and span ids drawn from a seeded generator."""

    def __init__(self, rng: Generator) -> None:
        self._rng = rng

    def generate_trace_id(self) -> int:
        """Return a 128-bit id that is not zero."""
        return int.from_bytes(self._rng.bytes(16), "big") or 1

    def generate_span_id(self) -> int:
        """Return a 64-bit id that is not zero."""
        return int.from_bytes(self._rng.bytes(8), "big") or 1

    def is_trace_id_random(self) -> bool:
        """Say that the ids are uniformly random."""
        return True


class TracingProcess:
    """A process that ends spans; they stay in memory until they are written."""

    def __init__(self, resource: dict[str, str], scope: str, version: str, rng: Generator) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider(
            sampler=ALWAYS_ON,
            resource=Resource(_SDK | resource),
            id_generator=SeededIds(rng),
            shutdown_on_exit=False,
        )
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer = provider.get_tracer(scope, version)

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        """All spans that have ended."""
        return self._exporter.get_finished_spans()


class LoggingProcess:
    """A process that emits log records; they stay in memory until they are written."""

    def __init__(self, resource: dict[str, str], scope: str, version: str) -> None:
        self._exporter = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
        provider = LoggerProvider(resource=Resource(_SDK | resource), shutdown_on_exit=False)
        provider.add_log_record_processor(SimpleLogRecordProcessor(self._exporter))
        self.logger = provider.get_logger(scope, version)

    @property
    def records(self) -> Sequence[ReadableLogRecord]:
        """All log records that were emitted."""
        return self._exporter.get_finished_logs()


def gateway_process(rng: Generator) -> TracingProcess:
    """Return the gateway that all users talk to."""
    resource = {
        "service.name": "llm-gateway",
        "service.version": "2.4.1",
        "service.instance.id": "serving.llm-gateway-0.gateway",
        "k8s.pod.name": "llm-gateway-0",
    }
    return TracingProcess(resource, "llm_gateway.genai", "2.4.1", rng)


def engine_process(spec: ReplicaSpec, rng: Generator) -> TracingProcess:
    """Return the vLLM engine of one replica, with the resource that a Kubernetes deployment gives it."""
    uid = rng.bytes(16).hex()
    resource = {
        "service.name": "vllm",
        "service.instance.id": f"serving.{spec.name}.vllm",
        "k8s.namespace.name": "serving",
        "k8s.deployment.name": f"vllm-{spec.pool}",
        "k8s.pod.name": spec.name,
        "k8s.pod.uid": f"{uid[:8]}-{uid[8:12]}-{uid[12:16]}-{uid[16:20]}-{uid[20:]}",
        "vllm.instrumenting_module_name": "vllm.llm_engine",
        "vllm.process_id": str(int(rng.integers(100, 900))),
    }
    return TracingProcess(resource, "vllm.llm_engine", "", rng)


def judge_process() -> LoggingProcess:
    """Return the evaluator that labels answers after the fact."""
    resource = {"service.name": "quality-judge", "service.version": "1.3.0"}
    return LoggingProcess(resource, "quality.judge", "1.3.0")


@contextmanager
def own_sdk_settings() -> Iterator[None]:
    """Hide the caller's OTEL_* variables: they configure the caller's telemetry, not that of the demo."""
    hidden = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("OTEL_")}
    try:
        yield
    finally:
        os.environ.update(hidden)
