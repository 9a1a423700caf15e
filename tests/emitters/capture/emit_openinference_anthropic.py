# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "openinference-instrumentation-anthropic==3.1.0",
#   "anthropic==2.12.0",
#   "opentelemetry-sdk==1.45.2",
#   "opentelemetry-exporter-otlp-proto-http==1.45.2",
# ]
# ///
"""OpenInference's instrumentation of `anthropic`, with `using_session`."""

from contextlib import nullcontext

from anthropic import Anthropic
from openinference.instrumentation import using_session
from openinference.instrumentation.anthropic import AnthropicInstrumentor

from harness import otel
from harness.clients import anthropic_message
from harness.drive import Emit, Flush, Where, capture
from harness.plan import CLIENT_TIMEOUT_S, RETRIES, Call
from harness.truth import Seen


def setup(where: Where) -> tuple[Emit, Flush]:
    traces = otel.provider(where)
    AnthropicInstrumentor().instrument(tracer_provider=traces)
    client = Anthropic(base_url=where.model, api_key="key", timeout=CLIENT_TIMEOUT_S, max_retries=RETRIES)

    def emit(call: Call, seen: Seen) -> None:
        with using_session(call.session) if call.session else nullcontext():
            anthropic_message(client, call, seen)

    return emit, traces.force_flush


capture(__file__, setup, without=["nousage"])
