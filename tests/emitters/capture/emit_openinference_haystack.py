# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "openinference-instrumentation-haystack==0.1.46",
#   "haystack-ai==3.4.0",
#   "openai==3.54.0",
#   "opentelemetry-sdk==1.45.2",
#   "opentelemetry-exporter-otlp-proto-http==1.45.2",
# ]
# ///
"""OpenInference's instrumentation of Haystack, with `using_session`: a pipeline of one chat generator."""

import os
import time
from contextlib import nullcontext

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

from haystack import Pipeline
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.utils import Secret
from openinference.instrumentation import using_session
from openinference.instrumentation.haystack import HaystackInstrumentor

from harness import otel
from harness.drive import Emit, Flush, Where, capture
from harness.plan import CLIENT_TIMEOUT_S, MODEL, RETRIES, Call
from harness.truth import Seen


def setup(where: Where) -> tuple[Emit, Flush]:
    traces = otel.provider(where)
    HaystackInstrumentor().instrument(tracer_provider=traces)
    options = {"api_base_url": f"{where.model}/v1", "timeout": CLIENT_TIMEOUT_S, "max_retries": RETRIES}

    def emit(call: Call, seen: Seen) -> None:
        def chunk(_: object) -> None:
            seen.first_ns = seen.first_ns or time.time_ns()

        streaming = {"streaming_callback": chunk} if call.stream else {}
        with_usage = {"stream_options": {"include_usage": True}} if call.stream and call.kind != "nousage" else {}
        generator = OpenAIChatGenerator(
            api_key=Secret.from_token("key"), model=MODEL, generation_kwargs=with_usage, **streaming, **options
        )
        pipeline = Pipeline()
        pipeline.add_component("model", generator)
        with using_session(call.session) if call.session else nullcontext():
            pipeline.run({"model": {"messages": [ChatMessage.from_user(call.prompt)]}})

    return emit, traces.force_flush


capture(__file__, setup, without=["leave", "tool"])
