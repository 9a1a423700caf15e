"""Spans of Envoy's tracers (OpenTelemetry, and any other that carries the same tags to OTLP): every value is a text.

One span for each request, with Envoy's x-request-id in `guid:x-request-id`, and where the operator asks for it
(`spawn_upstream_span`, the default of routers) one for each try below it. A try says neither path nor method nor id:
whether it asked a model anything only the span above it knows.
"""

import polars as pl

from goodput.collect.dialect import Dialect, Field, Ignore, texts
from goodput.collect.dialects import envoy_flags
from goodput.collect.dialects.http_routes import asks_to_generate

_REQUEST_ID = "guid:x-request-id"
_FLAGS = "response_flags"
_OF_ENVOY = pl.col("component") == "proxy"
_STATUS = Field("http_status", "int", ("http.status_code",))
_POOL = Field("pool", "string", ("upstream_cluster.name", "upstream_cluster"))  # the first one is as operators name it
_HOST = Field("address", "string", ("upstream_address",))


def _request(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(
        layer=pl.lit("gateway"),
        covers_tries=pl.lit(value=True),
        ended_ns=pl.col("end_ns"),
        error_type=envoy_flags.failed(pl.col(_FLAGS)),
        outcome=envoy_flags.outcome(pl.col(_FLAGS), pl.col("http_status")),
    )


def _try(frame: pl.DataFrame) -> pl.DataFrame:
    # A try is called off when its caller leaves, and also when what it answered makes Envoy try again.
    left = (pl.col("canceled") == "true") & (pl.col("http_status") < 400)
    return _request(frame).with_columns(
        covers_tries=pl.lit(value=False),
        needs_parent=pl.lit(value=True),
        error_type=pl.coalesce("error.reason", "error_type"),
        outcome=pl.when(left).then(pl.lit("cancelled")).otherwise("outcome"),
    )


ENVOY_REQUEST = Dialect(
    name="envoy.request",
    table="serving_records",
    matches=_OF_ENVOY & pl.col(_REQUEST_ID).is_not_null(),
    fields=(Field("call_id", "string", (_REQUEST_ID,)), _STATUS, _POOL, _HOST),
    finish=_request,
    also_wanted=texts(_FLAGS),
    signature=texts("component", _REQUEST_ID, "http.url", "http.method"),
    ignored=(Ignore("http_not_generating", ~asks_to_generate(pl.col("http.url"), pl.col("http.method"))),),
)
ENVOY_TRY = Dialect(
    name="envoy.try",
    table="serving_records",
    matches=_OF_ENVOY & pl.col(_REQUEST_ID).is_null() & pl.col("upstream_address").is_not_null(),
    fields=(_STATUS, _POOL, _HOST),
    finish=_try,
    also_wanted=texts(_FLAGS, "canceled", "error.reason"),
    signature=texts("component", _REQUEST_ID, "upstream_address"),
)
