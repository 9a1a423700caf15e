"""Access logs of Envoy, Envoy Gateway and Envoy AI Gateway: typed JSON, JSON of texts, and Envoy's default text format.

The keys are the operator's; those of the documentation's examples are known here, other logs are mapped in the
settings. One row stands for all tries of a request, and names the last host. All durations are in milliseconds.
"""

import polars as pl

from goodput.collect.dialect import Dialect, Field, Left, texts
from goodput.collect.dialects.http_routes import asks_to_generate
from goodput.collect.row_id import row_ids
from goodput.collect.tabular.units import time_ns

_DEFAULT = (  # Envoy's default format string
    r'^\[(?P<start_time>[^\]]+)\] "(?P<method>\S+) (?P<path>\S+) (?P<protocol>[^"]+)" (?P<response_code>\d+)'
    r" (?P<response_flags>\S+) (?P<bytes_received>\d+) (?P<bytes_sent>\d+) (?P<duration>\S+)"
    r' (?P<upstream_service_time>\S+) "(?P<x_forwarded_for>[^"]*)" "(?P<user_agent>.*)" "(?P<request_id>[^"]*)"'
    r' "(?P<authority>[^"]*)" "(?P<upstream_host>[^"]*)"$'
)
_PATH = ("$.path", '$."x-envoy-origin-path"', '$."x-envoy-original-path"', '$.":path"')
_CONTENT_TYPE = ('$."content-type"', "$.response_content_type", "$.content_type")
_SIGNATURE = ("$.start_time", "$.response_code", "$.duration")
_OF_ENVOY = ("$.response_flags", "$.upstream_host", "$.upstream_cluster", "$.bytes_sent")
_GONE = ("DC", "DR")  # the downstream connection ended, or was reset, before the answer was over
_TIMED_OUT = ("UT", "SI", "DT", "UMSDR")
_HARMLESS = ("DI",)  # a delay that was injected


def _finish(frame: pl.DataFrame) -> pl.DataFrame:
    flags = pl.col("error_type").str.split(",")
    left = flags.list.set_intersection(list(_GONE)).list.len() > 0
    timed_out = flags.list.set_intersection(list(_TIMED_OUT)).list.len() > 0
    told = flags.list.set_difference([*_GONE, *_TIMED_OUT, *_HARMLESS]).list.len() > 0
    streamed = pl.coalesce(_CONTENT_TYPE).str.starts_with("text/event-stream")
    return frame.with_columns(
        record_id=row_ids(frame.select("text")),  # a caller that tries again may send the same id
        layer=pl.lit("gateway"),
        covers_tries=pl.lit(value=True),
        trace_id=pl.col("$.traceparent").str.extract("^[0-9a-f]{2}-([0-9a-f]{32})-", 1),
        started_ns=time_ns(pl.col("$.start_time"), "iso8601", "UTC"),
        e2e_s=pl.col("e2e_s") / 1000,
        ttft_s=pl.when(streamed).then(pl.col("ttft_s") / 1000),  # first byte: of what does not stream, no token's
        streamed=streamed,
        error_type=pl.when(left | timed_out | told).then("error_type"),
        outcome=pl.when(left | (pl.col("http_status") == 0))
        .then(pl.lit("cancelled"))
        .when(timed_out)
        .then(pl.lit("timeout"))
        .when(told)
        .then(pl.lit("error")),
    )


ENVOY = Dialect(
    name="envoy",
    table="serving_records",
    matches=pl.all_horizontal(pl.col(_SIGNATURE).is_not_null()) & pl.any_horizontal(pl.col(_OF_ENVOY).is_not_null()),
    fields=(
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
    ),
    finish=_finish,
    also_wanted=texts(*_PATH, *_CONTENT_TYPE, "$.method", '$.":method"', "$.traceparent"),
    signature=texts(*_SIGNATURE, *_OF_ENVOY),
    left_out=(
        Left("http_not_generating", ~asks_to_generate(pl.coalesce(_PATH), pl.coalesce("$.method", '$.":method"'))),
    ),
    pattern=_DEFAULT,
    unset=("", "-"),
)
