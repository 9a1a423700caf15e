# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "opentelemetry-instrumentation-anthropic==0.62.4",
#   "anthropic==2.12.0",
#   "opentelemetry-sdk==1.45.2",
#   "opentelemetry-exporter-otlp-proto-http==1.45.2",
# ]
# ///
"""OpenLLMetry's instrumentation of `anthropic`."""

from anthropic import Anthropic
from opentelemetry.instrumentation.anthropic import AnthropicInstrumentor

from harness import otel
from harness.clients import anthropic_message
from harness.drive import Emit, Flush, Where, capture
from harness.plan import CLIENT_TIMEOUT_S, RETRIES


def setup(where: Where) -> tuple[Emit, Flush]:
    traces = otel.provider(where)
    AnthropicInstrumentor().instrument(tracer_provider=traces)
    client = Anthropic(base_url=where.model, api_key="key", timeout=CLIENT_TIMEOUT_S, max_retries=RETRIES)
    return (lambda call, seen: anthropic_message(client, call, seen)), traces.force_flush


capture(__file__, setup, without=["nousage"])
