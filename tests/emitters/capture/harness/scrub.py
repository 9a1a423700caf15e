"""Takes the identity of the machine out of OTLP: its host, process and paths; all else stays as it was written."""

import re
import socket
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

MESSAGES = {
    "traces": ExportTraceServiceRequest,
    "logs": ExportLogsServiceRequest,
    "metrics": ExportMetricsServiceRequest,
}
_IDENTITY = ("host.", "process.", "os.")
_REPLACED = (
    (re.compile(r"[^\s\"'\\(]*/(site-packages|node_modules)/"), r"\1/"),
    (re.compile(r"[^\s\"'\\(]*/lib/python3\.\d+/"), "python3/"),
    (re.compile(re.escape(str(Path(__file__).parents[2])) + "/"), ""),
    (re.compile(r"\b" + re.escape(socket.gethostname()) + r"\b"), "host"),
)


def scrubbed(signal: str, body: bytes) -> bytes:
    """The same request without the machine's identity."""
    message = MESSAGES[signal].FromString(body)
    for batch in message.ListFields()[0][1] if message.ListFields() else ():
        for attribute in batch.resource.attributes:
            if attribute.key.startswith(_IDENTITY):
                attribute.value.Clear()
                attribute.value.string_value = "scrubbed"
        _clean(batch)
    return bytes(message.SerializeToString())


def _clean(message: Any) -> None:
    for descriptor, value in message.ListFields():
        if descriptor.type == descriptor.TYPE_STRING:
            if isinstance(value, str):
                setattr(message, descriptor.name, cleaned(value))
            else:
                value[:] = [cleaned(item) for item in value]
        elif descriptor.type == descriptor.TYPE_MESSAGE:
            for inner in value if isinstance(value, Iterable) else (value,):
                _clean(inner)


def cleaned(text: str) -> str:
    """A text without paths of this machine and its name."""
    for pattern, replacement in _REPLACED:
        text = pattern.sub(replacement, text)
    return text.replace(sys.prefix + "/", "")
