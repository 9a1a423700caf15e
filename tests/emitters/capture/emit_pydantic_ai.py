# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "pydantic-ai-slim[openai]==2.68.0",
#   "logfire==5.2.0",
#   "openai==3.54.0",
# ]
# ///
"""Pydantic AI with Logfire's `instrument_pydantic_ai`: an agent that may use a tool."""

import logfire
from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from harness import otel
from harness.drive import Emit, Flush, Where, capture
from harness.plan import CLIENT_TIMEOUT_S, MODEL, RETRIES, Call
from harness.truth import Seen


def setup(where: Where) -> tuple[Emit, Flush]:
    otel.environment(where)
    logfire.configure(send_to_logfire=False, console=False, service_name=otel.SERVICE)
    logfire.instrument_pydantic_ai()
    client = AsyncOpenAI(base_url=f"{where.model}/v1", api_key="key", timeout=CLIENT_TIMEOUT_S, max_retries=RETRIES)
    agent = Agent(OpenAIChatModel(MODEL, provider=OpenAIProvider(openai_client=client)))

    @agent.tool_plain
    def lookup(river: str) -> str:
        return f"{river} is long"

    def emit(call: Call, seen: Seen) -> None:
        if not call.stream:
            agent.run_sync(call.prompt, conversation_id=call.session)
            return
        with agent.run_stream_sync(call.prompt, conversation_id=call.session) as streamed:
            for _ in streamed.stream_text(debounce_by=None):
                pass

    return emit, logfire.force_flush


capture(__file__, setup, without=["nousage", "leave"], by_model=True)
