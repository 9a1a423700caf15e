# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "openinference-instrumentation-smolagents==0.1.43",
#   "smolagents[openai]==1.26.0",
#   "openai==3.54.0",
#   "opentelemetry-sdk==1.45.2",
#   "opentelemetry-exporter-otlp-proto-http==1.45.2",
# ]
# ///
"""OpenInference's instrumentation of smolagents, with `using_session`: its model, called as an agent calls it."""

import time
from contextlib import nullcontext

from openinference.instrumentation import using_session
from openinference.instrumentation.smolagents import SmolagentsInstrumentor
from smolagents import OpenAIModel

from harness import otel
from harness.drive import Emit, Flush, Where, capture
from harness.plan import CLIENT_TIMEOUT_S, MODEL, RETRIES, Call
from harness.truth import Seen


def setup(where: Where) -> tuple[Emit, Flush]:
    traces = otel.provider(where)
    SmolagentsInstrumentor().instrument(tracer_provider=traces)
    options = {"timeout": CLIENT_TIMEOUT_S, "max_retries": RETRIES}
    model = OpenAIModel(MODEL, api_base=f"{where.model}/v1", api_key="key", client_kwargs=options, retry=False)

    def emit(call: Call, seen: Seen) -> None:
        messages = [{"role": "user", "content": [{"type": "text", "text": call.prompt}]}]
        with using_session(call.session) if call.session else nullcontext():
            if not call.stream:
                model.generate(messages)
                return
            for delta in model.generate_stream(messages):
                if delta.content:
                    seen.first_ns = seen.first_ns or time.time_ns()

    return emit, traces.force_flush


capture(__file__, setup, without=["nousage", "leave", "tool"])
