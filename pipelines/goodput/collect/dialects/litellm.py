"""Logs of the LiteLLM proxy: its StandardLoggingPayload, one per try, and its table of spend (LiteLLM_SpendLogs).

An answer that its client did not wait for is a success with an error beside it, as far as LiteLLM saw the client
leave. A payload names the deployment that the router meant, not one that was asked: where the error comes from no
provider, no replica failed.
"""

import polars as pl

from goodput.collect.dialect import Dialect, Field, Ignore, below, texts
from goodput.collect.dialects import genai
from goodput.collect.dialects.litellm_spans import GENERATING_CALL, HEALTH_CHECK, from_cache
from goodput.collect.tabular.units import time_ns

_WRAPPERS = ("$", "$.standard_logging_object")  # a payload alone, or as callbacks that add their own fields write it
_TRACE = r"^[0-9a-f]{32}$"
_INVENTED = r"^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$"  # an id that LiteLLM made up for want of a session
_HOST = "://([^/?#]+)"
_STARTED, _ENDED, _FIRST = "$.startTime", "$.endTime", "$.completionStartTime"
_CACHE_HIT = "$.cache_hit"
_PROVIDER, _SENT, _GROUP = "$.custom_llm_provider", "$.model", "$.model_group"

_USAGE = ("metadata.usage_object", "response.usage")
_DETAILS = (
    ("cached_input_tokens", ("prompt_tokens_details.cached_tokens", "cache_read_input_tokens")),
    ("cache_write_tokens", ("prompt_tokens_details.cache_creation_tokens", "cache_creation_input_tokens")),
    ("reasoning_tokens", ("completion_tokens_details.reasoning_tokens",)),
)


def _payload(root: str) -> Dialect:
    """The dialect of payloads that stand at `root`."""

    def at(*names: str) -> tuple[str, ...]:
        return tuple(f"{root}.{name}" for name in names)

    alias = pl.col(f"{root}.metadata.user_api_key_alias")
    return Dialect(
        name="litellm.payload",
        table="serving_records",
        matches=pl.all_horizontal(pl.col(at("startTime", "response_cost", "status", "id")).is_not_null()),
        fields=(
            *(Field(name, "int", at(*(f"{u}.{n}" for u in _USAGE for n in names))) for name, names in _DETAILS),
            Field("call_id", "string", at("litellm_call_id")),
            Field("route", "string", at("model_group")),
            Field("tenant", "string", at("end_user", "metadata.user_api_key_end_user_id")),
            Field("input_tokens", "int", at("prompt_tokens")),
            Field("output_tokens", "int", at("completion_tokens")),
            Field("streamed", "bool", at("stream", "model_parameters.stream")),  # a failed row has only the second
            Field("finish_reason", "string", at("response.choices[0].finish_reason")),
            Field("error_type", "string", at("error_information.error_class")),
            Field("reported_cost_usd", "float", at("response_cost")),
        ),
        finish=below(root, _finish_payload),
        also_wanted=texts(
            *at("id", "trace_id", "session_id", "metadata.requester_metadata.session_id", "call_type"),
            *at("startTime", "endTime", "completionStartTime", "custom_llm_provider", "model", "api_base", "model_id"),
            *at("error_information.error_code", "error_information.llm_provider", "metadata.user_api_key_alias"),
            *at("cache_hit"),
        ),
        signature=texts(*at("startTime", "response_cost", "status", "id")),
        ignored=(
            Ignore("litellm_health_check", alias == HEALTH_CHECK),
            Ignore("litellm_not_generating", ~pl.col(f"{root}.call_type").str.contains(GENERATING_CALL)),
        ),
    )


def _finish_payload(frame: pl.DataFrame) -> pl.DataFrame:
    failed = pl.col("$.status") == "failure"
    refused = failed & pl.col("$.error_information.llm_provider").is_null()
    started = time_ns(pl.col(_STARTED), "epoch_s", "UTC")
    return frame.with_columns(
        record_id=pl.concat_str(pl.lit("litellm"), "$.id", started, separator=":"),
        layer=pl.lit("gateway"),
        covers_tries=pl.lit(value=False),
        trace_id=_trace("$.trace_id"),
        response_id=pl.when(~failed).then("$.id"),
        session_id=pl.coalesce(
            "$.session_id",
            "$.metadata.requester_metadata.session_id",
            _session("$.trace_id"),
        ),
        started_ns=started,
        # of what did not stream, and of failures, it is the end
        first_token_ns=pl.when(pl.col("streamed") & (pl.col(_FIRST) != pl.col(_ENDED))).then(
            time_ns(pl.col(_FIRST), "epoch_s", "UTC")
        ),
        ended_ns=time_ns(pl.col(_ENDED), "epoch_s", "UTC"),
        model=_model(refused),
        address=pl.when(~refused & ~from_cache(_CACHE_HIT)).then(_deployment()),
        answered_from_cache=from_cache(_CACHE_HIT),
        **genai.counted(~failed, "reported_cost_usd"),
        http_status=pl.col("$.error_information.error_code").cast(pl.Int64, strict=False),
        outcome=pl.when((pl.col("$.status") == "success") & pl.col("error_type").is_null()).then(pl.lit("ok")),
        error_type=pl.coalesce("error_type", pl.when(failed).then(pl.lit("_OTHER"))),
    )


def _trace(name: str) -> pl.Expr:
    """OpenTelemetry's trace id, which stands for the session that a call has not."""
    return pl.when(pl.col(name).str.contains(_TRACE)).then(name)


def _session(name: str) -> pl.Expr:
    return pl.when(~pl.col(name).str.contains(_INVENTED)).then(name)


def _model(refused: pl.Expr) -> pl.Expr:
    """The provider's model without the provider; of a refusal the model asked for, where it is of no group."""
    sent = pl.col(_SENT).str.strip_prefix(pl.concat_str(pl.col(_PROVIDER), pl.lit("/")))
    asked = pl.when(pl.col("route").is_null()).then(_SENT)
    return pl.when(refused).then(asked).otherwise(pl.coalesce(sent, _SENT))


def _deployment() -> pl.Expr:
    """host:port that was called, as LiteLLM's spans tell it."""
    return pl.coalesce(pl.col("$.api_base").str.extract(_HOST, 1), "$.model_id")


def _finish_spend(frame: pl.DataFrame) -> pl.DataFrame:
    failed = _status() == "failure"
    started, ended = (time_ns(pl.col(name), "iso8601", "UTC") for name in (_STARTED, _ENDED))
    named = pl.col("$.request_id")
    billed = _billed_attempt()
    answered = ~failed & ~billed & ~named.str.contains("_cache_hit") & (named != pl.col("call_id"))
    first = time_ns(pl.col(_FIRST), "iso8601", "UTC")
    streamed = first < ended
    tries = _in_metadata("attempted_retries").cast(pl.Int64, strict=False).fill_null(0)
    fallbacks = _in_metadata("attempted_fallbacks").cast(pl.Int64, strict=False).fill_null(0)
    error = _in_metadata("error_information.error_class").replace("", None)
    return frame.with_columns(
        record_id=pl.concat_str(pl.lit("litellm.spend"), "$.request_id", separator=":"),
        layer=pl.lit("gateway"),
        covers_tries=pl.lit(value=False),
        response_id=pl.when(answered).then(named),
        trace_id=_trace("$.session_id"),
        session_id=_session("$.session_id"),  # never empty: LiteLLM makes one up for each call that has none
        started_ns=started,
        first_token_ns=pl.when(streamed).then(first),
        ended_ns=ended,
        model=pl.coalesce(pl.col(_SENT).str.strip_prefix(pl.concat_str(pl.col(_PROVIDER), pl.lit("/"))), _SENT),
        address=pl.when(~from_cache(_CACHE_HIT) & ~failed).then(_deployment()),
        answered_from_cache=from_cache(_CACHE_HIT),
        **genai.counted(~failed & ~billed, "reported_cost_usd"),
        streamed=pl.when(streamed).then(statement=True),
        cached_input_tokens=_additional("cache_read_input_tokens"),
        cache_write_tokens=_additional("cache_creation_input_tokens"),
        reported_attempts=pl.when(~billed).then(1 + tries + fallbacks),
        outcome=pl.when(billed)
        .then(pl.lit("error"))
        .when((_status() == "success") & error.is_null())
        .then(pl.lit("ok")),
        error_type=pl.coalesce(error, pl.when(failed).then(pl.lit("_OTHER"))),
        http_status=_in_metadata("error_information.error_code").cast(pl.Int64, strict=False),
    )


def _billed_attempt() -> pl.Expr:
    """Whether the row is of a try that failed and was billed all the same: an attempt of its call, with its spend."""
    return (_in_metadata("billed_retry_attempt") == "true").fill_null(value=False)


def _in_metadata(path: str) -> pl.Expr:
    """What stands in the metadata, which exports write as an object or as a text that holds one."""
    return pl.col("$.metadata").str.json_path_match(f"$.{path}")


def _additional(name: str) -> pl.Expr:
    """Tokens from the metadata, NULL where the object of usage is not there."""
    return _in_metadata(f"additional_usage_values.{name}").cast(pl.Int64, strict=False)


def _status() -> pl.Expr:
    return pl.coalesce("$.status", _in_metadata("status"))


LITELLM_PAYLOADS = tuple(_payload(root) for root in _WRAPPERS)
LITELLM_SPEND = Dialect(
    name="litellm.spend",
    table="serving_records",
    matches=pl.all_horizontal(pl.col("$.request_id", "$.spend", "$.startTime", "$.call_type").is_not_null()),
    fields=(
        Field("call_id", "string", ("$.litellm_call_id",)),
        Field("route", "string", ("$.model_group",)),
        Field("tenant", "string", ("$.end_user",)),
        Field("input_tokens", "int", ("$.prompt_tokens",)),
        Field("output_tokens", "int", ("$.completion_tokens",)),
        Field("reported_cost_usd", "float", ("$.spend",)),
    ),
    finish=_finish_spend,
    also_wanted=texts(
        *("$.endTime", "$.completionStartTime", "$.custom_llm_provider", "$.model", "$.api_base", "$.model_id"),
        *("$.metadata", "$.status", _CACHE_HIT, "$.session_id"),
    ),
    signature=texts("$.request_id", "$.spend", "$.startTime", "$.call_type"),
    ignored=(
        # without the call that it was a try of it would be a request that nobody made
        Ignore("billed_attempt_of_no_call", _billed_attempt() & pl.col("$.litellm_call_id").is_null()),
        Ignore("litellm_health_check", _in_metadata("user_api_key_alias") == HEALTH_CHECK),
        Ignore("litellm_not_generating", ~pl.col("$.call_type").str.contains(GENERATING_CALL)),
    ),
)
