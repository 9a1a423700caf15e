# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "openinference-instrumentation-agno==1.0.15",
#   "agno==3.1.10",
#   "openai==3.54.0",
#   "opentelemetry-sdk==1.45.2",
#   "opentelemetry-exporter-otlp-proto-http==1.45.2",
# ]
# ///
"""OpenInference's instrumentation of Agno: an agent with the sessions of Agno itself."""

from agno.agent import Agent
from agno.models.openai import OpenAIChat
from openinference.instrumentation.agno import AgnoInstrumentor

from harness import otel
from harness.drive import Emit, Flush, Where, capture
from harness.plan import CLIENT_TIMEOUT_S, MODEL, RETRIES, Call
from harness.truth import Seen


def lookup(river: str) -> str:
    """Look a river up."""
    return f"{river} is long"


def setup(where: Where) -> tuple[Emit, Flush]:
    traces = otel.provider(where)
    AgnoInstrumentor().instrument(tracer_provider=traces)
    options = {"base_url": f"{where.model}/v1", "api_key": "key", "timeout": CLIENT_TIMEOUT_S, "max_retries": RETRIES}
    model = OpenAIChat(id=MODEL, **options)
    agent = Agent(model=model, tools=[lookup], telemetry=False)

    def emit(call: Call, seen: Seen) -> None:
        if not call.stream:
            agent.run(call.prompt, session_id=call.session)
            return
        for _ in agent.run(call.prompt, session_id=call.session, stream=True):
            pass

    return emit, traces.force_flush


capture(__file__, setup, without=["nousage", "leave"], by_model=True)
