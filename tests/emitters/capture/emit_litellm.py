# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "litellm[proxy]==1.106.2",
#   "openai==2.54.0",
#   "opentelemetry-sdk==1.45.2",
#   "opentelemetry-exporter-otlp-proto-http==1.45.2",
# ]
# ///
"""LiteLLM's Python library with its callback `otel`."""

import os
import time

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm
from opentelemetry import trace

from harness import otel
from harness.drive import Emit, Flush, Where, capture
from harness.plan import CHUNKS_BEFORE_LEAVING, CLIENT_TIMEOUT_S, MODEL, RETRIES, Call
from harness.truth import Seen


def setup(where: Where) -> tuple[Emit, Flush]:
    otel.environment(where)
    os.environ |= {"OTEL_EXPORTER": "otlp_http", "OTEL_ENDPOINT": f"{where.otlp}/v1/traces"}
    litellm.callbacks = ["otel"]
    options = {"api_base": f"{where.model}/v1", "api_key": "key", "timeout": CLIENT_TIMEOUT_S, "max_retries": RETRIES}

    def emit(call: Call, seen: Seen) -> None:
        messages = [{"role": "user", "content": call.prompt}]
        metadata = {"session_id": call.session} if call.session else {}
        asked = {"model": f"openai/{MODEL}", "messages": messages, "metadata": metadata, **options}
        if not call.stream:
            litellm.completion(**asked)
            return
        with_usage = {"include_usage": True} if call.kind != "nousage" else None
        chunks = 0
        for chunk in litellm.completion(**asked, stream=True, stream_options=with_usage):
            if chunk.choices and chunk.choices[0].delta.content:
                seen.first_ns = seen.first_ns or time.time_ns()
                chunks += 1
            if call.kind == "leave" and chunks == CHUNKS_BEFORE_LEAVING:
                seen.outcome = "cancelled"
                return

    return emit, lambda: (time.sleep(3), trace.get_tracer_provider().force_flush())


capture(__file__, setup)
