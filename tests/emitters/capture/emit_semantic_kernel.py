# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "semantic-kernel==1.45.0",
#   "openai==3.54.0",
#   "opentelemetry-sdk==1.45.2",
#   "opentelemetry-exporter-otlp-proto-http==1.45.2",
# ]
# ///
"""Semantic Kernel with its diagnostics of models."""

import asyncio
import os
import time

os.environ["SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS"] = "true"

from openai import AsyncOpenAI
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion, OpenAIChatPromptExecutionSettings
from semantic_kernel.contents import ChatHistory

from harness import otel
from harness.drive import Emit, Flush, Where, capture
from harness.plan import CLIENT_TIMEOUT_S, MODEL, RETRIES, Call
from harness.truth import Seen


def setup(where: Where) -> tuple[Emit, Flush]:
    traces = otel.provider(where)
    loop = asyncio.new_event_loop()
    client = AsyncOpenAI(base_url=f"{where.model}/v1", api_key="key", timeout=CLIENT_TIMEOUT_S, max_retries=RETRIES)
    service = OpenAIChatCompletion(MODEL, async_client=client)

    async def ask(call: Call, seen: Seen) -> None:
        history, settings = ChatHistory(), OpenAIChatPromptExecutionSettings()
        history.add_user_message(call.prompt)
        if not call.stream:
            await service.get_chat_message_contents(history, settings)
            return
        async for chunks in service.get_streaming_chat_message_contents(history, settings):
            if any(str(chunk) for chunk in chunks):
                seen.first_ns = seen.first_ns or time.time_ns()

    return (lambda call, seen: loop.run_until_complete(ask(call, seen))), traces.force_flush


capture(
    __file__,
    setup,
    without=["nousage", "leave", "tool"],
    settings="SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS=true",
)
