# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "opentelemetry-instrumentation-openai==0.62.4",
#   "openai==3.54.0",
#   "opentelemetry-sdk==1.45.2",
#   "opentelemetry-exporter-otlp-proto-http==1.45.2",
# ]
# ///
"""OpenLLMetry's instrumentation of `openai`; sessions would take its SDK's association properties."""

from openai import OpenAI
from opentelemetry.instrumentation.openai import OpenAIInstrumentor

from harness import otel
from harness.clients import openai_chat
from harness.drive import Emit, Flush, Where, capture
from harness.plan import CLIENT_TIMEOUT_S, RETRIES


def setup(where: Where) -> tuple[Emit, Flush]:
    traces = otel.provider(where)
    OpenAIInstrumentor().instrument(tracer_provider=traces)
    client = OpenAI(base_url=f"{where.model}/v1", api_key="key", timeout=CLIENT_TIMEOUT_S, max_retries=RETRIES)
    return (lambda call, seen: openai_chat(client, call, seen)), traces.force_flush


capture(__file__, setup)
