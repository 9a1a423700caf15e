"""Access logs of Envoy, Envoy Gateway and Envoy AI Gateway in files: typed JSON, JSON of texts, and the default format.

The keys are the operator's; those of the documentation's examples are known here, other logs are mapped in the
settings. One row stands for all tries of a request, and names the last host. All durations are in milliseconds.
"""

import polars as pl

from goodput.collect.dialect import Dialect, Field, Ignore, texts
from goodput.collect.dialects import envoy_flags
from goodput.collect.dialects.http_routes import asks_to_generate
from goodput.collect.row_id import row_ids
from goodput.collect.tabular.units import time_ns

_DEFAULT = (  # Envoy's default format string; no key of JSON is called as the protocol is here
    r'^\[(?P<start_time>[^\]]+)\] "(?P<method>\S+) (?P<path>\S+) (?P<text_protocol>[^"]+)" (?P<response_code>\d+)'
    r" (?P<response_flags>\S+) (?P<bytes_received>\d+) (?P<bytes_sent>\d+) (?P<duration>\S+)"
    r' (?P<upstream_service_time>\S+) "(?P<x_forwarded_for>[^"]*)" "(?P<user_agent>.*)" "(?P<request_id>[^"]*)"'
    r' "(?P<authority>[^"]*)" "(?P<upstream_host>[^"]*)"$'
)
PATH = ("$.path", '$."x-envoy-origin-path"', '$."x-envoy-original-path"', '$.":path"')
METHOD = ("$.method", '$.":method"')
CONTENT_TYPE = ('$."content-type"', "$.response_content_type", "$.content_type")
TRACE = ("$.trace_id", "$.traceID", "$.traceId")  # of Envoy's own trace; a traceparent names it too
SIGNATURE = ("$.start_time", "$.response_code", "$.duration")
OF_ENVOY = ("$.response_flags", "$.upstream_host", "$.upstream_cluster", "$.bytes_sent")
FIELDS = (
    Field("call_id", "string", ('$."x-request-id"', "$.request_id", "$.x_request_id")),
    Field("session_id", "string", ('$."session.id"', '$."x-session-id"')),
    Field(
        "model",
        "string",
        (
            '$."gen_ai.response.model"',
            '$."gen_ai.request.model_override"',
            '$."gen_ai.request.model"',
            '$."x-ai-eg-model"',
        ),
    ),
    Field("route", "string", ("$.route_name",)),
    Field("pool", "string", ("$.upstream_cluster",)),
    Field("address", "string", ("$.upstream_host",)),
    Field("input_tokens", "int", ('$."gen_ai.usage.input_tokens"',)),
    Field(
        "cached_input_tokens",
        "int",
        ('$."gen_ai.usage.cache_read.input_tokens"', '$."gen_ai.usage.cached_input_tokens"'),
    ),
    Field(
        "cache_write_tokens",
        "int",
        ('$."gen_ai.usage.cache_creation.input_tokens"', '$."gen_ai.usage.cache_creation_input_tokens"'),
    ),
    Field("output_tokens", "int", ('$."gen_ai.usage.output_tokens"',)),
    Field("reasoning_tokens", "int", ('$."gen_ai.usage.reasoning_tokens"',)),
    Field("http_status", "int", ("$.response_code",)),
    Field("error_type", "string", ("$.response_flags",)),
    Field("e2e_s", "float", ("$.duration",)),
    Field("ttft_s", "float", ("$.response_duration",)),
    Field("reported_attempts", "int", ("$.upstream_request_attempt_count", "$.attempt_count")),
)


def canonical(frame: pl.DataFrame, *, content_type: pl.Expr, trace_id: pl.Expr, started: pl.Expr) -> pl.DataFrame:
    """The rows of a log, in files or in OTLP, whose values stand in the canonical columns as they were written."""
    streamed = content_type.str.starts_with("text/event-stream")
    return frame.with_columns(
        layer=pl.lit("gateway"),
        covers_tries=pl.lit(value=True),
        trace_id=trace_id,
        started_ns=started,
        e2e_s=pl.col("e2e_s") / 1000,
        ttft_s=pl.when(streamed).then(pl.col("ttft_s") / 1000),  # first byte: of what does not stream, no token's
        streamed=streamed,
        error_type=envoy_flags.failed(pl.col("error_type")),
        outcome=envoy_flags.outcome(pl.col("error_type"), pl.col("http_status")),
    )


def _finish(frame: pl.DataFrame) -> pl.DataFrame:
    rows = canonical(
        frame,
        content_type=pl.coalesce(CONTENT_TYPE),
        trace_id=pl.coalesce(pl.col("$.traceparent").str.extract("^[0-9a-f]{2}-([0-9a-f]{32})-", 1), *TRACE),
        started=time_ns(pl.col("$.start_time"), "iso8601", "UTC"),
    )
    return rows.with_columns(record_id=row_ids(frame.select("text")))  # a caller that tries again may send the same id


_IS_ENVOY = pl.all_horizontal(pl.col(SIGNATURE).is_not_null()) & pl.any_horizontal(pl.col(OF_ENVOY).is_not_null())
_NOT_GENERATING = Ignore("http_not_generating", ~asks_to_generate(pl.coalesce(PATH), pl.coalesce(METHOD)))
_ALSO_WANTED = texts(*PATH, *METHOD, *CONTENT_TYPE, *TRACE, "$.traceparent")

ENVOY_TEXT = Dialect(
    name="envoy.text",
    table="serving_records",
    matches=_IS_ENVOY & pl.col("$.text_protocol").is_not_null(),
    fields=FIELDS,
    finish=_finish,
    also_wanted=_ALSO_WANTED,
    signature=texts(*SIGNATURE, *OF_ENVOY, "$.text_protocol"),
    ignored=(_NOT_GENERATING,),
    pattern=_DEFAULT,
    unset=("", "-"),
)
ENVOY = Dialect(
    name="envoy",
    table="serving_records",
    matches=_IS_ENVOY,
    fields=FIELDS,
    finish=_finish,
    also_wanted=_ALSO_WANTED,
    signature=texts(*SIGNATURE, *OF_ENVOY),
    ignored=(_NOT_GENERATING,),
    unset=("", "-"),
)
