# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "openinference-instrumentation-dspy==0.1.48",
#   "dspy==3.4.1",
#   "litellm==1.106.2",
#   "openai==2.54.0",
#   "opentelemetry-sdk==1.45.2",
#   "opentelemetry-exporter-otlp-proto-http==1.45.2",
# ]
# ///
"""OpenInference's instrumentation of DSPy, with `using_session`: its language model, which does not stream."""

import os
from contextlib import nullcontext

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import dspy
from openinference.instrumentation import using_session
from openinference.instrumentation.dspy import DSPyInstrumentor

from harness import otel
from harness.drive import Emit, Flush, Where, capture
from harness.plan import CLIENT_TIMEOUT_S, MODEL, RETRIES, Call
from harness.truth import Seen


def setup(where: Where) -> tuple[Emit, Flush]:
    traces = otel.provider(where)
    DSPyInstrumentor().instrument(tracer_provider=traces)
    options = {"api_base": f"{where.model}/v1", "api_key": "key", "timeout": CLIENT_TIMEOUT_S}
    model = dspy.LM(f"openai/{MODEL}", cache=False, num_retries=RETRIES, **options)

    def emit(call: Call, seen: Seen) -> None:
        with using_session(call.session) if call.session else nullcontext():
            model(call.prompt)

    return emit, traces.force_flush


capture(__file__, setup, without=["tool"], streams=False)
