"""The span of a request at SGLang's model gateway (`smg`, formerly sgl-router), as its HTTP middleware writes it.

`latency` is how long the handler took, in microseconds: whole answers, and of streams only what came before the first
byte. Up to 0.3 (attribute `uri`) the span itself may stay open for longer than the request, and a handler whose client
left is dropped before there is a status; from 1.13 (`path`) the span ends with the answer. Streams that broke off or
that their client left look like whole ones, so a 2xx does not report success.
"""

import polars as pl

from goodput.collect.dialect import Dialect, Field, Ignore, texts
from goodput.collect.dialects.http_routes import asks_to_generate
from goodput.collect.otlp.events import EventValue

_TRIES = EventValue("event.sent", "Sending request")
_HOST = EventValue("event.sent_to", "Sending request", "url")  # of the last try
_PATH = pl.coalesce("uri", "path")
_HEADERS_SENT = pl.col("http_status").is_between(200, 299)


def _finish(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(
        layer=pl.lit("gateway"),
        covers_tries=pl.lit(value=True),
        reported_attempts=pl.col(_TRIES.column),
        address=pl.col(_HOST.column).str.extract("://([^/?#]+)"),
        e2e_s=pl.when(~_HEADERS_SENT).then(pl.col("e2e_s") / 1e6),
        ended_ns=pl.when(_HEADERS_SENT & pl.col("path").is_not_null()).then(pl.col("end_ns")),
        outcome=pl.when(_HEADERS_SENT)
        .then(pl.lit("unknown"))
        .when(pl.col("http_status").is_null())
        .then(pl.lit("cancelled")),
    )


SMG = Dialect(
    name="smg",
    table="serving_records",
    matches=(pl.col("scope_name") == "smg") & (pl.col("name") == "http_request") & _PATH.is_not_null(),
    fields=(
        Field("call_id", "string", ("request_id",)),
        Field("http_status", "int", ("attribute.status_code",)),
        Field("e2e_s", "float", ("latency",)),
    ),
    finish=_finish,
    signature=texts("uri", "path", "method"),
    event_values=(_TRIES, _HOST),
    ignored=(Ignore("http_not_generating", ~asks_to_generate(_PATH, pl.col("method"))),),
)
