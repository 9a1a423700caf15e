# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "opentelemetry-instrumentation-google-genai==1.3b0",
#   "google-genai==2.34.0",
#   "opentelemetry-sdk==1.45.2",
#   "opentelemetry-exporter-otlp-proto-http==1.45.2",
# ]
# ///
"""OpenTelemetry's instrumentation of `google-genai` with its defaults."""

import time

from google.genai import Client, types
from opentelemetry.instrumentation.google_genai import GoogleGenAiSdkInstrumentor

from harness import otel
from harness.drive import Emit, Flush, Where, capture
from harness.plan import CHUNKS_BEFORE_LEAVING, CLIENT_TIMEOUT_S, MODEL, RETRIES, Call
from harness.truth import Seen


def setup(where: Where) -> tuple[Emit, Flush]:
    traces, logs = otel.provider(where), otel.logs(where)
    GoogleGenAiSdkInstrumentor().instrument(tracer_provider=traces, logger_provider=logs)
    retry = types.HttpRetryOptions(attempts=RETRIES + 1, initial_delay=0.05, max_delay=0.1)
    timeout_ms = int(CLIENT_TIMEOUT_S * 1000)
    http = types.HttpOptions(base_url=where.model, timeout=timeout_ms, retry_options=retry)
    client = Client(api_key="key", http_options=http)

    def emit(call: Call, seen: Seen) -> None:
        if not call.stream:
            client.models.generate_content(model=MODEL, contents=call.prompt)
            return
        chunks = 0
        for chunk in client.models.generate_content_stream(model=MODEL, contents=call.prompt):
            if chunk.text:
                seen.first_ns = seen.first_ns or time.time_ns()
                chunks += 1
            if call.kind == "leave" and chunks == CHUNKS_BEFORE_LEAVING:
                seen.outcome = "cancelled"
                return

    return emit, lambda: (traces.force_flush(), logs.force_flush())


capture(__file__, setup, without=["nousage", "tool"])
