# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "agent-framework-core==1.23.0",
#   "agent-framework-openai==1.17.0",
#   "openai==3.54.0",
#   "opentelemetry-sdk==1.45.2",
#   "opentelemetry-exporter-otlp-proto-http==1.45.2",
# ]
# ///
"""Microsoft's Agent Framework with its own instrumentation: an agent that may use a tool."""

import asyncio

from agent_framework import Agent
from agent_framework.observability import enable_instrumentation
from agent_framework.openai import OpenAIChatCompletionClient
from openai import AsyncOpenAI

from harness import otel
from harness.drive import Emit, Flush, Where, capture
from harness.plan import CLIENT_TIMEOUT_S, MODEL, RETRIES, Call


def lookup(river: str) -> str:
    """Look a river up."""
    return f"{river} is long"


def setup(where: Where) -> tuple[Emit, Flush]:
    traces = otel.provider(where)
    enable_instrumentation()
    loop = asyncio.new_event_loop()
    client = AsyncOpenAI(base_url=f"{where.model}/v1", api_key="key", timeout=CLIENT_TIMEOUT_S, max_retries=RETRIES)
    agent = Agent(OpenAIChatCompletionClient(MODEL, async_client=client), "Answer.", tools=[lookup])

    async def run(call: Call) -> None:
        session = agent.create_session(session_id=call.session)
        if not call.stream:
            await agent.run(call.prompt, session=session)
            return
        async for _ in agent.run(call.prompt, session=session, stream=True):
            pass

    return (lambda call, seen: loop.run_until_complete(run(call))), traces.force_flush


capture(__file__, setup, without=["nousage", "leave"], by_model=True)
