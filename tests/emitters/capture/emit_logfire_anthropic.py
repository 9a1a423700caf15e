# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "logfire==5.2.0",
#   "anthropic==2.12.0",
# ]
# ///
"""Logfire's `instrument_anthropic`, sent by its own OpenTelemetry SDK."""

import logfire
from anthropic import Anthropic

from harness import otel
from harness.clients import anthropic_message
from harness.drive import Emit, Flush, Where, capture
from harness.plan import CLIENT_TIMEOUT_S, RETRIES


def setup(where: Where) -> tuple[Emit, Flush]:
    otel.environment(where)
    logfire.configure(send_to_logfire=False, console=False, service_name=otel.SERVICE)
    client = Anthropic(base_url=where.model, api_key="key", timeout=CLIENT_TIMEOUT_S, max_retries=RETRIES)
    logfire.instrument_anthropic(client)
    return (lambda call, seen: anthropic_message(client, call, seen)), logfire.force_flush


capture(__file__, setup, without=["nousage"])
