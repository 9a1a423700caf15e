"""Spans of LiteLLM, mostly its proxy, both generations of its tracing (litellm/integrations/otel and opentelemetry.py).

One HTTP request makes a SERVER span, below it a span for each call to a model, and for each choice of a deployment
a `route` span. A call's span never shows that the client had gone, and the SERVER span's 200 only says that headers
were sent: each tells what it knows, and which of them are one request is for `join` to say.
"""

import polars as pl

from goodput.collect.dialect import Dialect, Field, Ignore, texts
from goodput.collect.dialects import genai
from goodput.collect.dialects.http_routes import asks_to_generate

ERROR, OK = 2, 1  # status codes of a span
HEALTH_CHECK = "litellm-internal-health-check"  # the service account of LiteLLM's own probes of its models
_PROVIDER_MODEL = "litellm.provider.model"
_API_BASE = r"""['"]api_base['"]: *['"][a-z]+://([^/?#'"]+)"""  # in JSON, or in what Python prints
_CACHE_HIT = "litellm.cache_hit"
_USAGE = "metadata.usage_object"  # of the first generation, as Python prints it
_CACHED = r"""['"](?:cached_tokens|cache_read_input_tokens)['"]: *([0-9]+)"""
_CALL_TYPE = pl.coalesce("litellm.call_type", "llm.request.type")
GENERATING_CALL = r"^_?a?((text_)?completion(_with_retries)?|responses|anthropic_messages|generate_content(_stream)?)$"
_END_USER = ("litellm.metadata.user_api_key_end_user_id", "metadata.user_api_key_end_user_id")
_ASKED_BY_ROUTE = "metadata.user_api_key_request_route"  # empty where LiteLLM is a library in its caller's process
_SELF_CALLS = ("litellm.api_key.hash", "litellm.metadata.user_api_key_alias", "metadata.user_api_key_alias")

# A choice of a deployment. Where all tries fail only the first one has a span of the call, but each has one of these.
ROUTED = (pl.col("scope_name") == "litellm") & pl.col("name").str.starts_with("route ")

_KEPT = tuple(field for field in genai.FIELDS if field.canonical != "model")
CALL_FIELDS = (
    *_KEPT,
    Field("call_id", "string", ("litellm.call_id",)),
    Field("reported_cost_usd", "float", ("litellm.cost.total", "gen_ai.cost.total_cost")),
)
_CALL_ALSO = (
    *genai.ALSO,
    *texts("gen_ai.request.model", "gen_ai.response.model", _PROVIDER_MODEL, "litellm.model_group", "hidden_params"),
    *texts("litellm.call_type", "llm.request.type", "litellm.request.purpose", "llm.is_streaming"),
    *texts(*_END_USER, *_SELF_CALLS, _CACHE_HIT, _ASKED_BY_ROUTE, _USAGE),
)


def _call(frame: pl.DataFrame) -> pl.DataFrame:
    failed = pl.col("status_code") == ERROR
    provider = pl.concat_str(pl.coalesce("gen_ai.provider.name", "gen_ai.system"), pl.lit("/"))
    sent = pl.col(_PROVIDER_MODEL)
    end_user = pl.coalesce(_END_USER)
    return frame.with_columns(
        layer=pl.when(pl.col(_ASKED_BY_ROUTE) == "").then(pl.lit("client")).otherwise(pl.lit("gateway")),
        covers_tries=pl.col("kind") == genai.SERVER,  # versions that write the call on the span of the HTTP request
        ended_ns=pl.col("end_ns"),
        # gen_ai.response.model is the group when streamed and the model when not; this is always the model
        model=pl.coalesce(sent.str.strip_prefix(provider), sent, "gen_ai.response.model", "gen_ai.request.model"),
        route=pl.coalesce("route", "litellm.model_group", pl.when(_second_generation()).then("gen_ai.request.model")),
        tenant=pl.coalesce("tenant", pl.when(end_user != "").then(end_user)),
        address=_upstream(),
        answered_from_cache=from_cache(_CACHE_HIT),
        **genai.counted(~failed.fill_null(value=False), "reported_cost_usd"),
        cached_input_tokens=pl.coalesce("cached_input_tokens", pl.col(_USAGE).str.extract(_CACHED).cast(pl.Int64)),
        streamed=_streamed(failed),
        finish_reason=pl.col("gen_ai.response.finish_reasons").list.first(),
        error_type=pl.coalesce("error_type", pl.when(failed).then(pl.lit("_OTHER"))),
        outcome=pl.when(pl.col("status_code") == OK).then(pl.lit("ok")),  # the first generation sets it on success
    )


def _second_generation() -> pl.Expr:
    return pl.col("litellm.call_type").is_not_null()  # only it names the group in gen_ai.request.model


def _upstream() -> pl.Expr:
    """host:port that was called; NULL where no deployment was chosen or the gateway's cache answered."""
    named = pl.coalesce(genai.SERVER_ADDRESS, pl.col("hidden_params").str.extract(_API_BASE))
    return pl.when(~from_cache(_CACHE_HIT)).then(named)


def from_cache(name: str) -> pl.Expr:
    """Whether the gateway's cache answered, by the column that says so; some versions write "None"."""
    return (pl.col(name).str.to_lowercase() == "true").fill_null(value=False)


def _streamed(failed: pl.Expr) -> pl.Expr:
    # Both generations leave the attribute out where it was false, and the second also where the call failed.
    declared = pl.coalesce("gen_ai.request.stream", pl.col("llm.is_streaming").str.to_lowercase() == "true")
    streamed = declared.fill_null(pl.when(~failed.fill_null(value=False)).then(statement=False))
    return pl.when(pl.col("ttft_s").is_not_null()).then(statement=True).otherwise(streamed)


def _refusal(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(
        layer=pl.lit("gateway"),
        covers_tries=pl.lit(value=False),
        ended_ns=pl.col("end_ns"),
        model=pl.lit(None, pl.String),  # none was chosen, and so no replica failed
        route=pl.coalesce("route", "gen_ai.request.model"),
        error_type=pl.coalesce("error_type", pl.lit("_OTHER")),
        reported_cost_usd=pl.lit(0.0),
    )


def _http_request(frame: pl.DataFrame) -> pl.DataFrame:
    failed = pl.col("status_code") == ERROR
    headers_sent = pl.col("http_status").is_between(200, 299)
    client_gone = pl.col("error_type") == "ConnectionError"
    outcome = (
        pl.when(headers_sent & failed & client_gone)
        .then(pl.lit("cancelled"))
        .when(headers_sent & ~failed.fill_null(value=False))
        .then(pl.lit("unknown"))  # a stream that breaks later leaves this span as it is
    )
    return frame.with_columns(
        layer=pl.lit("gateway"),
        covers_tries=pl.lit(value=True),
        ended_ns=pl.col("end_ns"),
        error_type=pl.coalesce("error_type", pl.when(failed).then(pl.lit("_OTHER"))),
        outcome=outcome,
    )


_OPERATION = pl.col("gen_ai.operation.name")
_GENERATES = (
    pl.when(_CALL_TYPE.is_not_null() & (_CALL_TYPE != "pass_through_endpoint"))
    .then(_CALL_TYPE.str.contains(GENERATING_CALL))  # the operation is "chat" for any call unknown to it
    .when(_OPERATION.is_not_null())
    .then(_OPERATION.is_in(genai.GENERATING))
    .otherwise(genai.HAS_USAGE)
)

LITELLM_CALL = Dialect(
    name="litellm.call",
    table="serving_records",
    matches=pl.col("litellm.call_id").is_not_null() | (pl.col("name") == "litellm_request"),
    fields=CALL_FIELDS,
    finish=_call,
    also_wanted=_CALL_ALSO,
    signature=texts("litellm.call_id"),
    ignored=(
        Ignore("litellm_health_check", pl.any_horizontal(pl.col(name) == HEALTH_CHECK for name in _SELF_CALLS)),
        Ignore("litellm_own_call", pl.col("litellm.request.purpose").is_not_null()),  # its router asks a model itself
        Ignore("litellm_not_generating", ~_GENERATES),
    ),
)
LITELLM_REFUSAL = Dialect(
    name="litellm.refusal",
    table="serving_records",
    matches=ROUTED & (pl.col("status_code") == ERROR),
    marks_try=True,
    fields=(Field("error_type", "string", ("error.type",)),),
    finish=_refusal,
    also_wanted=texts("gen_ai.request.model"),
)
LITELLM_HTTP = Dialect(
    name="litellm.http",
    table="serving_records",
    matches=pl.col("scope_name").is_in(["fastapi", "litellm"])
    & (pl.col("kind") == genai.SERVER)
    & asks_to_generate(pl.coalesce("http.route", "url.path"), pl.col("http.request.method")),
    fields=(
        Field("error_type", "string", ("error.type",)),
        Field("http_status", "int", ("http.response.status_code",)),
    ),
    finish=_http_request,
    signature=texts("http.route", "url.path", "http.request.method"),
)
