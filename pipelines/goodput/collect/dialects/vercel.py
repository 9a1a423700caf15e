"""Spans of the Vercel AI SDK, `ai` 4 to 6: `ai.generateText` and its like, below it one `do...` span for each try.

A try that failed has neither usage nor any word of the GenAI conventions but the model; the span above it repeats
what its tries say and is no request of its own. The steps of an agent stand below one such span too: a try follows
a try that failed, a step an answer. A stream that breaks off leaves no span. Starts are whole milliseconds.
"""

import polars as pl

from goodput.collect.dialect import Dialect, Field, documents, texts
from goodput.collect.dialects import genai
from goodput.collect.otlp.attributes import Wanted

_TRY = r"^ai\.(generate|stream)(Text|Object)\.do(Generate|Stream)$"
_FIRST_CHUNK_MS = "ai.response.msToFirstChunk"
_METADATA = "ai.telemetry.metadata."  # whatever keys an application chooses

FIELDS = (
    Field("response_id", "string", ("ai.response.id", "gen_ai.response.id")),
    Field("model", "string", ("ai.response.model", "gen_ai.response.model", "ai.model.id", "gen_ai.request.model")),
    Field("input_tokens", "int", ("ai.usage.inputTokens", "ai.usage.promptTokens", "gen_ai.usage.input_tokens")),
    Field("output_tokens", "int", ("ai.usage.outputTokens", "ai.usage.completionTokens", "gen_ai.usage.output_tokens")),
    Field(
        "cached_input_tokens", "int", ("ai.usage.inputTokenDetails.cacheReadTokens", "ai.usage.cachedInputTokens")
    ),
    Field("cache_write_tokens", "int", ("ai.usage.inputTokenDetails.cacheWriteTokens",)),
    Field(
        "reasoning_tokens", "int", ("ai.usage.outputTokenDetails.reasoningTokens", "ai.usage.reasoningTokens")
    ),
    Field("finish_reason", "string", ("ai.response.finishReason",)),
    Field("error_type", "string", ("error.type",)),
    Field("session_id", "string", tuple(_METADATA + n for n in ("sessionId", "session_id", "conversationId",
        "conversation_id", "threadId", "thread_id", "chatId", "chat_id"))),
    Field("tenant", "string", tuple(_METADATA + n for n in ("tenantId", "tenant_id", "tenant", "userId", "user_id"))),
)  # fmt: skip


def _finish(frame: pl.DataFrame) -> pl.DataFrame:
    failed = pl.col("status_code") == genai.ERROR
    timed = frame.with_columns(ttft_s=pl.col(_FIRST_CHUNK_MS) / 1000)
    return timed.with_columns(
        layer=pl.lit("client"),
        ended_ns=pl.col("end_ns"),
        input_tokens=genai.whole_input(genai.of_anthropic(pl.coalesce("gen_ai.system", "ai.model.provider"))),
        first_token_ns=genai.first_token_ns(),
        streamed=pl.col(genai.WRAPPED_OPERATION).str.ends_with(".doStream"),
        error_type=genai.error_type(failed),
        outcome=genai.gave_up(failed),
    )


VERCEL = Dialect(
    name="vercel",
    table="serving_records",
    matches=pl.col(genai.WRAPPED_OPERATION).str.contains(_TRY),
    fields=FIELDS,
    finish=_finish,
    also_wanted=(Wanted(_FIRST_CHUNK_MS, "float"), *texts("gen_ai.system", "ai.model.provider")),
    signature=documents(genai.WRAPPED_OPERATION),
    first_token_events=("ai.stream.firstChunk",),
)
