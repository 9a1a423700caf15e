"""Inference spans of OpenTelemetry's GenAI semantic conventions, current and deprecated names.

Spans of agents, tools, workflows, retrieval and embeddings are no requests to a generating model: not here.
"""

import polars as pl

from goodput.collect.dialect import Dialect, Field
from goodput.collect.otlp.attributes import Wanted

GENERATING = ("chat", "text_completion", "generate_content", "completion")
SERVER = 2  # SpanKind

FIELDS = (
    Field("response_id", "string", ("gen_ai.response.id",)),
    Field("model", "string", ("gen_ai.response.model", "gen_ai.request.model")),
    Field("input_tokens", "int", ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens")),
    Field("output_tokens", "int", ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens")),
    Field(
        "cached_input_tokens",
        "int",
        (
            "gen_ai.usage.cache_read.input_tokens",
            "gen_ai.usage.cache_read_input_tokens",
            "gen_ai.usage.cached_tokens",
        ),
    ),
    Field(
        "cache_write_tokens",
        "int",
        (
            "gen_ai.usage.cache_write.input_tokens",
            "gen_ai.usage.cache_creation.input_tokens",
            "gen_ai.usage.cache_creation_input_tokens",
        ),
    ),
    Field("reasoning_tokens", "int", ("gen_ai.usage.reasoning.output_tokens",)),
    Field("ttft_s", "float", ("gen_ai.response.time_to_first_chunk",)),
    Field("error_type", "string", ("error.type",)),
    Field("http_status", "int", ("http.response.status_code", "http.status_code")),
)
ALSO = (
    Wanted("gen_ai.operation.name", "string"),
    Wanted("gen_ai.provider.name", "string"),
    Wanted("gen_ai.system", "string"),
    Wanted("gen_ai.request.stream", "bool"),
    Wanted("gen_ai.response.finish_reasons", "strings"),
    Wanted("server.address", "string"),
    Wanted("server.port", "string"),
)
IN_GATEWAY = (pl.col("kind") == SERVER) | pl.col("scope_name").str.contains("gateway").fill_null(value=False)
SERVER_ADDRESS = pl.coalesce(pl.concat_str("server.address", "server.port", separator=":"), "server.address")
_OPERATION = pl.col("gen_ai.operation.name")
HAS_USAGE = pl.any_horizontal(
    pl.col(name).is_not_null()
    for field in FIELDS
    if field.canonical in {"input_tokens", "output_tokens"}
    for name in field.emitted
)


def _finish(frame: pl.DataFrame) -> pl.DataFrame:
    reasons = pl.col("gen_ai.response.finish_reasons")
    failed = (pl.col("status_code") == 2) | reasons.list.contains("error").fill_null(value=False)
    return frame.with_columns(
        layer=pl.when(IN_GATEWAY).then(pl.lit("gateway")).otherwise(pl.lit("client")),
        ended_ns=pl.col("end_ns"),
        input_tokens=whole_input(pl.coalesce("gen_ai.provider.name", "gen_ai.system")),
        error_type=pl.coalesce("error_type", pl.when(failed).then(pl.lit("_OTHER"))),
        finish_reason=reasons.list.first(),
        streamed=_streamed(),
        address=SERVER_ADDRESS,
    )


def whole_input(provider: pl.Expr) -> pl.Expr:
    """input_tokens with the cached ones. Anthropic's own usage counts them apart, and some emitters hand it on.

    That is seen where they cannot be a subset; of other providers such a row is refused as absurd.
    """
    cache = pl.col("cached_input_tokens").fill_null(0) + pl.col("cache_write_tokens").fill_null(0)
    of_anthropic = provider.str.contains("(?i)anthropic|bedrock") | pl.col("model").str.contains("(?i)claude")
    apart = of_anthropic.fill_null(value=False) & (cache > pl.col("input_tokens"))
    return pl.when(apart).then(pl.col("input_tokens") + cache).otherwise("input_tokens")


def _streamed() -> pl.Expr:
    # Since v1.41 an absent gen_ai.request.stream means that the answer was not streamed. Emitters that still write
    # gen_ai.system are older than the attribute: of them nothing is known.
    return (
        pl.when(pl.col("ttft_s").is_not_null())
        .then(pl.lit(value=True))
        .when(pl.col("gen_ai.provider.name").is_not_null())
        .then(pl.col("gen_ai.request.stream").fill_null(value=False))
        .otherwise(pl.col("gen_ai.request.stream"))
    )


GENAI = Dialect(
    name="genai",
    table="serving_records",
    matches=_OPERATION.is_in(GENERATING).fill_null(value=False)
    | (_OPERATION.is_null() & pl.col("gen_ai.system").is_not_null() & HAS_USAGE),
    fields=FIELDS,
    finish=_finish,
    also_wanted=ALSO,
)
