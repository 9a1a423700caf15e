# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "logfire==5.2.0",
#   "openai==3.54.0",
# ]
# ///
"""Logfire's `instrument_openai`, sent by its own OpenTelemetry SDK."""

import logfire
from openai import OpenAI

from harness import otel
from harness.clients import openai_chat
from harness.drive import Emit, Flush, Where, capture
from harness.plan import CLIENT_TIMEOUT_S, RETRIES


def setup(where: Where) -> tuple[Emit, Flush]:
    otel.environment(where)
    logfire.configure(send_to_logfire=False, console=False, service_name=otel.SERVICE)
    client = OpenAI(base_url=f"{where.model}/v1", api_key="key", timeout=CLIENT_TIMEOUT_S, max_retries=RETRIES)
    logfire.instrument_openai(client)
    return (lambda call, seen: openai_chat(client, call, seen)), logfire.force_flush


capture(__file__, setup)
