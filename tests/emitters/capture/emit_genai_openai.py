# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "opentelemetry-instrumentation-genai-openai==1.3b0",
#   "openai==3.54.0",
#   "opentelemetry-sdk==1.45.2",
#   "opentelemetry-exporter-otlp-proto-http==1.45.2",
# ]
# ///
"""OpenTelemetry's `genai-openai` instrumentation with its defaults."""

from openai import OpenAI
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor

from harness import otel
from harness.clients import openai_chat
from harness.drive import Emit, Flush, Where, capture
from harness.plan import CLIENT_TIMEOUT_S, RETRIES


def setup(where: Where) -> tuple[Emit, Flush]:
    traces, logs = otel.provider(where), otel.logs(where)
    OpenAIInstrumentor().instrument(tracer_provider=traces, logger_provider=logs)
    client = OpenAI(base_url=f"{where.model}/v1", api_key="key", timeout=CLIENT_TIMEOUT_S, max_retries=RETRIES)
    return (lambda call, seen: openai_chat(client, call, seen)), lambda: (traces.force_flush(), logs.force_flush())


capture(__file__, setup)
