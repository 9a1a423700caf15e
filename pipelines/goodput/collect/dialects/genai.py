"""Inference spans of OpenTelemetry's GenAI semantic conventions, current and deprecated names.

Spans of agents, tools, workflows, retrieval and embeddings are no requests to a generating model: not here. What
dialects of one emitter share with the conventions is here as well.
"""

import polars as pl

from goodput.collect.dialect import Dialect, Field, documents
from goodput.collect.otlp.attributes import Wanted

GENERATING = ("chat", "text_completion", "generate_content", "completion")
SERVER = 2  # SpanKind
UNSET, OK, ERROR = 0, 1, 2  # status codes of a span

RESENT = "http.request.resend_count"

TTFT = Field(
    "ttft_s",
    "float",
    (
        "gen_ai.response.time_to_first_chunk",
        "gen_ai.client.operation.time_to_first_chunk",
        "gen_ai.client.inference.time_to_first_chunk",
    ),
)
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
            "gen_ai.usage.cache_write_input_tokens",
            "gen_ai.usage.cache_creation.input_tokens",
            "gen_ai.usage.cache_creation_input_tokens",
        ),
    ),
    Field(
        "reasoning_tokens",
        "int",
        (
            "gen_ai.usage.reasoning.output_tokens",
            "gen_ai.usage.reasoning_tokens",
            "gen_ai.usage.details.reasoning_tokens",
        ),
    ),
    TTFT,
    Field("finish_reason", "string", ("anthropic.message.stop_reason",)),  # of Anthropic's own SDK
    Field("error_type", "string", ("error.type",)),
    Field("http_status", "int", ("http.response.status_code", "http.status_code")),
)
_TOTALS = ("gen_ai.usage.total_tokens", "llm.usage.total_tokens")
ALSO = (
    Wanted("gen_ai.operation.name", "string"),
    Wanted("gen_ai.provider.name", "string"),
    Wanted("gen_ai.system", "string"),
    Wanted("gen_ai.request.stream", "bool"),
    Wanted("gen_ai.response.finish_reasons", "strings"),
    Wanted("server.address", "string"),
    Wanted("server.port", "string"),
    Wanted(RESENT, "int"),
    *(Wanted(name, "int") for name in _TOTALS),
)
WRAPPED_OPERATION = "ai.operationId"  # of the Vercel AI SDK, whose outer spans repeat what its calls say
IN_GATEWAY = (pl.col("kind") == SERVER) | pl.col("scope_name").str.contains("gateway").fill_null(value=False)
SERVER_ADDRESS = pl.coalesce(pl.concat_str("server.address", "server.port", separator=":"), "server.address")
OPERATION = pl.col("gen_ai.operation.name")
ANTHROPIC = "of_anthropic"  # column that `finish` adds
PROVIDER = pl.coalesce("gen_ai.provider.name", "gen_ai.system")
HAS_USAGE = pl.any_horizontal(
    pl.col(name).is_not_null()
    for field in FIELDS
    if field.canonical in {"input_tokens", "output_tokens"}
    for name in field.emitted
)
# Writes neither the finish reason of a stream nor, unless it is asked for, its usage: that the stream gave its id and
# did not fail is all that it says of one that ended well.
_SILENT_ON_STREAMS = "opentelemetry.instrumentation.openai_v2"
# As the clients of HTTP libraries and gateways phrase it; a word such as "timeout" alone may be a parameter's name.
_TIMED_OUT = r"(?i)\btimed out\b|timeouterror|deadline ?exceeded|\b(due to|read|connect|request|gateway) timeout\b"
_LEFT = r"^(?:\w+\.)*(?:\w*Cancell?ed\w*|GeneratorExit|AbortError)\b|^abandoned stream$"


def finish(frame: pl.DataFrame) -> pl.DataFrame:
    """Canonical columns of an inference span; its outcome only where more than usage or a finish reason shows it."""
    reasons = pl.col("gen_ai.response.finish_reasons")
    failed = (pl.col("status_code") == ERROR) | reasons.list.contains("error").fill_null(value=False)
    is_streamed, reason = streamed(pl.col("gen_ai.request.stream")), pl.coalesce(reasons.list.first(), "finish_reason")
    return frame.with_columns(of_anthropic(PROVIDER).alias(ANTHROPIC)).with_columns(
        layer=pl.when(IN_GATEWAY).then(pl.lit("gateway")).otherwise(pl.lit("client")),
        ended_ns=pl.col("end_ns"),
        input_tokens=whole_input(pl.col(ANTHROPIC), pl.coalesce(_TOTALS)),
        error_type=error_type(failed),
        outcome=pl.coalesce(gave_up(failed), no_end(is_streamed & reason.is_null(), pl.col(ANTHROPIC))),
        finish_reason=reason,
        first_token_ns=first_token_ns(),
        streamed=is_streamed,
        address=SERVER_ADDRESS,
        reported_attempts=1 + pl.col(RESENT),  # absent where there was one, or where nobody counts
    )


def _finish(frame: pl.DataFrame) -> pl.DataFrame:
    answered = (pl.col("status_code") == OK) | (
        (pl.col("scope_name") == _SILENT_ON_STREAMS) & pl.col("response_id").is_not_null()
    )
    ended_well = pl.when(answered & pl.col("error_type").is_null()).then(pl.lit("ok"))
    return finish(frame).with_columns(outcome=pl.coalesce(ended_well, "outcome"))


def whole_input(anthropic: pl.Expr, total: pl.Expr | None = None) -> pl.Expr:
    """input_tokens with the cached ones. Anthropic's own usage counts them apart, and some emitters hand it on.

    The `total` of a record shows which it is. Without one that fits, it is seen where they cannot be a subset; of other
    providers such a row is refused as absurd.
    """
    cache = pl.col("cached_input_tokens").fill_null(0) + pl.col("cache_write_tokens").fill_null(0)
    apart = anthropic & (cache > pl.col("input_tokens"))
    if total is not None:
        beside = total - pl.col("input_tokens") - pl.col("output_tokens")
        apart = (
            pl.when(beside == 0)
            .then(pl.lit(value=False))
            .when(beside == cache)
            .then(pl.lit(value=True))
            .otherwise(apart)
        )
    return pl.when(apart).then(pl.col("input_tokens") + cache).otherwise("input_tokens")


def counted(answered: pl.Expr, *more: str) -> dict[str, pl.Expr]:
    """Tokens, and `more` that follows from them, of calls: some emitters write 0 where an answered stream had no usage.

    No prompt has no token.
    """
    uncounted = (answered & (pl.col("input_tokens") == 0) & (pl.col("output_tokens") == 0)).fill_null(value=False)
    return {name: pl.when(~uncounted).then(name) for name in ("input_tokens", "output_tokens", *more)}


def no_end(open_stream: pl.Expr, anthropic: pl.Expr) -> pl.Expr:
    """unknown, where a stream without a finish reason neither failed nor shows that it ended: its caller may have left.

    A status of HTTP came before the answer did, and so do the first output tokens that Anthropic counts.
    """
    silent = (pl.col("status_code").fill_null(0) == UNSET) & pl.col("error_type").is_null()
    refused = (pl.col("http_status") >= 400).fill_null(value=False)
    uncounted = pl.col("output_tokens").is_null() | anthropic
    return pl.when(open_stream & silent & ~refused & uncounted).then(pl.lit("unknown"))


def of_anthropic(provider: pl.Expr) -> pl.Expr:
    """Whether the provider, else the model, is Anthropic's: never null."""
    named = provider.str.contains("(?i)anthropic|bedrock") | pl.col("model").str.contains("(?i)claude")
    return named.fill_null(value=False)


def first_token_ns() -> pl.Expr:
    """When the span's event at its first token or chunk happened, unless it gives a time to first token itself."""
    return pl.when(pl.col("ttft_s").is_null()).then(pl.col("event_ns"))


def streamed(flag: pl.Expr) -> pl.Expr:
    """Whether the answer was streamed: yes where a first token was observed, else what the emitter's flag says.

    Many emitters never write a flag, or only where it is true: without one nothing is known.
    """
    observed = pl.col("ttft_s").is_not_null() | pl.col("event_ns").is_not_null()
    return pl.when(observed).then(pl.lit(value=True)).otherwise(flag)


def error_type(failed: pl.Expr) -> pl.Expr:
    """The class of the failure as emitted: the attribute, else the exception's; "_OTHER" where neither names it."""
    return pl.coalesce("error_type", pl.when(failed).then(pl.coalesce("exception_type", pl.lit("_OTHER"))))


def gave_up(failed: pl.Expr) -> pl.Expr:
    """timeout or cancelled, where a failed span's message or exception says that its caller waited no longer."""
    message = pl.col("status_message")
    named = pl.coalesce("exception_type", message)
    return (
        pl.when(failed & message.str.contains(_TIMED_OUT))
        .then(pl.lit("timeout"))
        .when(failed & (named.str.contains(_LEFT) | message.str.contains(_LEFT)))
        .then(pl.lit("cancelled"))
    )


GENAI = Dialect(
    name="genai",
    table="serving_records",
    matches=OPERATION.is_in(GENERATING).fill_null(value=False)
    | (OPERATION.is_null() & pl.col("gen_ai.system").is_not_null() & HAS_USAGE & pl.col(WRAPPED_OPERATION).is_null()),
    fields=FIELDS,
    finish=_finish,
    also_wanted=ALSO,
    signature=documents(WRAPPED_OPERATION),
)
