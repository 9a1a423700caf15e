# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "openinference-instrumentation-llama-index==4.6.1",
#   "llama-index-core==0.14.25",
#   "llama-index-llms-openai-like==0.8.1",
#   "openai==2.54.0",
#   "opentelemetry-sdk==1.45.2",
#   "opentelemetry-exporter-otlp-proto-http==1.45.2",
# ]
# ///
"""OpenInference's instrumentation of LlamaIndex, with `using_session`: its language model."""

import time
from contextlib import nullcontext

from llama_index.core.llms import ChatMessage
from llama_index.llms.openai_like import OpenAILike
from openinference.instrumentation import using_session
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor

from harness import otel
from harness.drive import Emit, Flush, Where, capture
from harness.plan import CLIENT_TIMEOUT_S, MODEL, RETRIES, Call
from harness.truth import Seen


def setup(where: Where) -> tuple[Emit, Flush]:
    traces = otel.provider(where)
    LlamaIndexInstrumentor().instrument(tracer_provider=traces)
    options = {"api_base": f"{where.model}/v1", "api_key": "key", "timeout": CLIENT_TIMEOUT_S, "max_retries": RETRIES}
    model = OpenAILike(MODEL, is_chat_model=True, **options)

    def emit(call: Call, seen: Seen) -> None:
        messages = [ChatMessage(call.prompt)]
        with using_session(call.session) if call.session else nullcontext():
            if not call.stream:
                model.chat(messages)
                return
            for chunk in model.stream_chat(messages, stream_options={"include_usage": True}):
                if chunk.delta:
                    seen.first_ns = seen.first_ns or time.time_ns()

    return emit, traces.force_flush


capture(__file__, setup, without=["nousage", "leave", "tool"])
