# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "langfuse==5.0.4",
#   "openai==3.54.0",
# ]
# ///
"""Langfuse's wrapper of `openai`, with `propagate_attributes` for the session."""

from contextlib import nullcontext

from langfuse import Langfuse, propagate_attributes
from langfuse.openai import OpenAI

from harness.clients import openai_chat
from harness.drive import Emit, Flush, Where, capture
from harness.plan import CLIENT_TIMEOUT_S, RETRIES, Call
from harness.truth import Seen


def setup(where: Where) -> tuple[Emit, Flush]:
    langfuse = Langfuse(public_key="pk-lf-1", secret_key="sk-lf-1", base_url=where.otlp)
    client = OpenAI(base_url=f"{where.model}/v1", api_key="key", timeout=CLIENT_TIMEOUT_S, max_retries=RETRIES)

    def emit(call: Call, seen: Seen) -> None:
        with propagate_attributes(session_id=call.session) if call.session else nullcontext():
            openai_chat(client, call, seen)

    return emit, langfuse.flush


capture(__file__, setup)
