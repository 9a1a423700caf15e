# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "opentelemetry-instrumentation-langchain==0.62.4",
#   "langchain==1.4.7",
#   "langchain-openai==1.7.3",
#   "openai==3.54.0",
#   "opentelemetry-sdk==1.45.2",
#   "opentelemetry-exporter-otlp-proto-http==1.45.2",
# ]
# ///
"""OpenLLMetry's instrumentation of LangChain, the session in the run's metadata: an agent that may use a tool."""

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from opentelemetry.instrumentation.langchain import LangchainInstrumentor

from harness import otel
from harness.drive import Emit, Flush, Where, capture
from harness.plan import CLIENT_TIMEOUT_S, MODEL, RETRIES, Call
from harness.truth import Seen


def lookup(river: str) -> str:
    """Look a river up."""
    return f"{river} is long"


def setup(where: Where) -> tuple[Emit, Flush]:
    traces = otel.provider(where)
    LangchainInstrumentor().instrument(tracer_provider=traces)
    options = {"base_url": f"{where.model}/v1", "api_key": "key", "timeout": CLIENT_TIMEOUT_S, "max_retries": RETRIES}
    agents = {
        stream: create_agent(ChatOpenAI(model=MODEL, streaming=stream, stream_usage=stream, **options), [lookup])
        for stream in (False, True)
    }

    def emit(call: Call, seen: Seen) -> None:
        asked = {"messages": [{"role": "user", "content": call.prompt}]}
        metadata = {"session_id": call.session} if call.session else {}
        agents[call.stream].invoke(asked, config={"metadata": metadata})

    return emit, traces.force_flush


capture(__file__, setup, without=["nousage", "leave"], by_model=True)
