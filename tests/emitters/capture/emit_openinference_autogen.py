# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "openinference-instrumentation-autogen-agentchat==0.1.22",
#   "autogen-agentchat==0.7.5",
#   "autogen-ext[openai]==0.7.5",
#   "openai==3.54.0",
#   "opentelemetry-sdk==1.45.2",
#   "opentelemetry-exporter-otlp-proto-http==1.45.2",
# ]
# ///
"""OpenInference's instrumentation of AutoGen's agents, with `using_session`: one assistant for each call."""

import asyncio
import time
from contextlib import nullcontext

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.messages import ModelClientStreamingChunkEvent
from autogen_ext.models.openai import OpenAIChatCompletionClient
from openinference.instrumentation import using_session
from openinference.instrumentation.autogen_agentchat import AutogenAgentChatInstrumentor

from harness import otel
from harness.drive import Emit, Flush, Where, capture
from harness.plan import CLIENT_TIMEOUT_S, MODEL, RETRIES, Call
from harness.truth import Seen
from harness.wire import TOOL

_ABOUT = {
    "vision": False,
    "function_calling": True,
    "json_output": False,
    "family": "unknown",
    "structured_output": False,
}


def setup(where: Where) -> tuple[Emit, Flush]:
    traces = otel.provider(where)
    AutogenAgentChatInstrumentor().instrument(tracer_provider=traces)
    loop = asyncio.new_event_loop()
    options = {"timeout": CLIENT_TIMEOUT_S, "max_retries": RETRIES, "api_key": "key"}
    model = OpenAIChatCompletionClient(
        model=MODEL, base_url=f"{where.model}/v1", model_info=_ABOUT, include_name_in_message=False, **options
    )

    def look_up(river: str) -> str:
        """Look a river up."""
        return f"{river} is long"

    look_up.__name__ = TOOL

    async def ask(call: Call, seen: Seen) -> None:
        tools = [look_up] if call.kind == "tool" else None
        agent = AssistantAgent(
            "helper", model, tools=tools, model_client_stream=call.stream, system_message=None, reflect_on_tool_use=True
        )
        async for event in agent.run_stream(task=call.prompt):
            if isinstance(event, ModelClientStreamingChunkEvent):
                seen.first_ns = seen.first_ns or time.time_ns()

    def emit(call: Call, seen: Seen) -> None:
        with using_session(call.session) if call.session else nullcontext():
            loop.run_until_complete(ask(call, seen))

    return emit, traces.force_flush


capture(__file__, setup, without=["nousage", "leave"], by_model=True)
