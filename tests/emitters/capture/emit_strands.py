# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "strands-agents[openai,otel]==1.62.0",
#   "openai==2.54.0",
# ]
# ///
"""Strands Agents with `StrandsTelemetry`; it always streams."""

from strands import Agent, tool
from strands.models.openai import OpenAIModel
from strands.telemetry import StrandsTelemetry

from harness import otel
from harness.drive import Emit, Flush, Where, capture
from harness.plan import CLIENT_TIMEOUT_S, MODEL, RETRIES, Call
from harness.truth import Seen


@tool
def lookup(river: str) -> str:
    """Look a river up.

    Args:
        river: Its name.
    """
    return f"{river} is long"


def setup(where: Where) -> tuple[Emit, Flush]:
    otel.environment(where)
    telemetry = StrandsTelemetry().setup_otlp_exporter()
    options = {"base_url": f"{where.model}/v1", "api_key": "key", "timeout": CLIENT_TIMEOUT_S, "max_retries": RETRIES}
    model = OpenAIModel(client_args=options, model_id=MODEL)

    def emit(call: Call, seen: Seen) -> None:
        attributes = {"session.id": call.session} if call.session else {}
        agent = Agent(model, tools=[lookup], trace_attributes=attributes, callback_handler=None, retry_strategy=None)
        agent(call.prompt)

    return emit, telemetry.tracer_provider.force_flush


capture(__file__, setup, without=["nousage", "leave"], by_model=True)
