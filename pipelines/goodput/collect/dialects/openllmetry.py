"""Spans of OpenLLMetry (Traceloop), opentelemetry-instrumentation-openai 0.62 and its sisters.

They speak the GenAI conventions with a few words of their own. A stream has an event for each chunk and a finish
reason; one that broke off, or that its caller left, has none and ends with status OK all the same. Spans of
workflows, tasks and tools have neither a generating operation nor a request type.
"""

import polars as pl

from goodput.collect.dialect import Dialect, Field, texts
from goodput.collect.dialects import genai

CHUNK_EVENTS = ("gen_ai.content.completion.chunk", "llm.content.completion.chunk")
_ASSOCIATED = "traceloop.association.properties."
_IS_STREAMING = ("gen_ai.is_streaming", "llm.is_streaming")  # a boolean, or its text
_OWN_WORDS = texts("traceloop.workflow.name", "traceloop.entity.path", "llm.request.type")
_REQUEST_TYPE = pl.col("llm.request.type")

FIELDS = (
    *genai.FIELDS,
    Field("session_id", "string", tuple(_ASSOCIATED + name for name in ("session_id", "thread_id", "conversation_id"))),
    Field("tenant", "string", tuple(_ASSOCIATED + name for name in ("tenant_id", "tenant", "user_id"))),
)


def _finish(frame: pl.DataFrame) -> pl.DataFrame:
    flag = pl.coalesce("gen_ai.request.stream", *(pl.col(name).str.to_lowercase() == "true" for name in _IS_STREAMING))
    return genai.finish(frame).with_columns(streamed=genai.streamed(flag))


OPENLLMETRY = Dialect(
    name="openllmetry",
    table="serving_records",
    matches=pl.any_horizontal(pl.col(*_IS_STREAMING, *(word.key for word in _OWN_WORDS)).is_not_null())
    & pl.coalesce(genai.OPERATION.is_in(genai.GENERATING), _REQUEST_TYPE.is_in(["chat", "completion"])),
    fields=FIELDS,
    finish=_finish,
    also_wanted=genai.ALSO,
    signature=(*_OWN_WORDS, *texts(*_IS_STREAMING)),
    first_token_events=CHUNK_EVENTS,
)
