# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "openinference-instrumentation-crewai==1.1.21",
#   "openinference-instrumentation-openai==0.1.66",
#   "crewai==1.15.30",
#   "openai==2.54.0",
#   "opentelemetry-sdk==1.45.2",
#   "opentelemetry-exporter-otlp-proto-http==1.45.2",
# ]
# ///
"""OpenInference's instrumentations of CrewAI, which sees agents alone, and of `openai`: a crew of one for each call."""

import os
from contextlib import nullcontext

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false", "OPENAI_API_KEY": "key"}

from crewai import LLM, Agent, Crew, Task
from openinference.instrumentation import using_session
from openinference.instrumentation.crewai import CrewAIInstrumentor
from openinference.instrumentation.openai import OpenAIInstrumentor

from harness import otel
from harness.drive import Emit, Flush, Where, capture
from harness.plan import CLIENT_TIMEOUT_S, MODEL, RETRIES, Call
from harness.truth import Seen


def setup(where: Where) -> tuple[Emit, Flush]:
    traces = otel.provider(where)
    CrewAIInstrumentor().instrument(tracer_provider=traces)
    OpenAIInstrumentor().instrument(tracer_provider=traces)
    options = {"base_url": f"{where.model}/v1", "api_key": "key", "timeout": CLIENT_TIMEOUT_S, "max_retries": RETRIES}

    def emit(call: Call, seen: Seen) -> None:
        model = LLM(model=f"openai/{MODEL}", stream=call.stream, **options)
        agent = Agent(
            role="guide", goal="name rivers", backstory="knows them", llm=model, max_iter=1, max_retry_limit=0
        )
        task = Task(description=call.prompt, expected_output="a name", agent=agent)
        with using_session(call.session) if call.session else nullcontext():
            Crew(agents=[agent], tasks=[task]).kickoff()

    return emit, traces.force_flush


capture(__file__, setup, without=["nousage", "leave", "tool"], by_model=True)
