"""The OpenTelemetry SDK of a capture: providers that send to the receiver, at once and in order."""

import os

from opentelemetry import _logs, trace
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from .drive import Where

SERVICE = "chat-app"


def environment(where: Where) -> None:
    """Point what configures itself by the environment to the receiver."""
    os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = where.otlp
    os.environ["OTEL_EXPORTER_OTLP_PROTOCOL"] = "http/protobuf"
    os.environ["OTEL_SERVICE_NAME"] = SERVICE


def provider(where: Where) -> TracerProvider:
    """The global tracer provider, which exports to the receiver."""
    made = TracerProvider(resource=Resource.create({"service.name": SERVICE}))
    made.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{where.otlp}/v1/traces")))
    trace.set_tracer_provider(made)
    return made


def logs(where: Where) -> LoggerProvider:
    """The global logger provider, which exports to the receiver."""
    made = LoggerProvider(resource=Resource.create({"service.name": SERVICE}))
    made.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter(endpoint=f"{where.otlp}/v1/logs")))
    _logs.set_logger_provider(made)
    return made
