# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "openinference-instrumentation-openai-agents==2.6.0",
#   "openai-agents==0.24.0",
#   "openai==3.54.0",
#   "opentelemetry-sdk==1.45.2",
#   "opentelemetry-exporter-otlp-proto-http==1.45.2",
# ]
# ///
"""OpenInference's instrumentation of OpenAI's Agents SDK over chat completions, with `using_session`."""

import asyncio
from contextlib import nullcontext

from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, Runner, function_tool
from openai import AsyncOpenAI
from openinference.instrumentation import using_session
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor

from harness import otel
from harness.drive import Emit, Flush, Where, capture
from harness.plan import CLIENT_TIMEOUT_S, MODEL, RETRIES, Call
from harness.truth import Seen


@function_tool
def lookup(river: str) -> str:
    """Look a river up."""
    return f"{river} is long"


def setup(where: Where) -> tuple[Emit, Flush]:
    traces = otel.provider(where)
    OpenAIAgentsInstrumentor().instrument(tracer_provider=traces)
    loop = asyncio.new_event_loop()
    client = AsyncOpenAI(base_url=f"{where.model}/v1", api_key="key", timeout=CLIENT_TIMEOUT_S, max_retries=RETRIES)
    settings = ModelSettings(include_usage=True)
    model = OpenAIChatCompletionsModel(MODEL, client)
    agent = Agent("guide", instructions="Answer.", model=model, model_settings=settings, tools=[lookup])

    async def run(call: Call) -> None:
        if not call.stream:
            await Runner.run(agent, call.prompt)
            return
        async for _ in Runner.run_streamed(agent, call.prompt).stream_events():
            pass

    def emit(call: Call, seen: Seen) -> None:
        with using_session(call.session) if call.session else nullcontext():
            loop.run_until_complete(run(call))

    return emit, traces.force_flush


capture(__file__, setup, without=["nousage", "leave"], by_model=True)
