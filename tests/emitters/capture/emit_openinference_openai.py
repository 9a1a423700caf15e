# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "openinference-instrumentation-openai==0.1.66",
#   "openai==3.54.0",
#   "opentelemetry-sdk==1.45.2",
#   "opentelemetry-exporter-otlp-proto-http==1.45.2",
# ]
# ///
"""OpenInference's instrumentation of `openai`, with `using_session`."""

from contextlib import nullcontext

from openai import OpenAI
from openinference.instrumentation import using_session
from openinference.instrumentation.openai import OpenAIInstrumentor

from harness import otel
from harness.clients import openai_chat
from harness.drive import Emit, Flush, Where, capture
from harness.plan import CLIENT_TIMEOUT_S, RETRIES, Call
from harness.truth import Seen


def setup(where: Where) -> tuple[Emit, Flush]:
    traces = otel.provider(where)
    OpenAIInstrumentor().instrument(tracer_provider=traces)
    client = OpenAI(base_url=f"{where.model}/v1", api_key="key", timeout=CLIENT_TIMEOUT_S, max_retries=RETRIES)

    def emit(call: Call, seen: Seen) -> None:
        with using_session(call.session) if call.session else nullcontext():
            openai_chat(client, call, seen)

    return emit, traces.force_flush


capture(__file__, setup)
