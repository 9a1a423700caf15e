"""The root span of NVIDIA Dynamo's frontend: one per HTTP request, whatever its workers do for it.

Its router and its workers write spans below it, two of one name where prefill and decode are apart; none of them is a
request. A client that leaves is written as a success with every token that it did not wait for.
"""

import polars as pl

from goodput.collect.dialect import Dialect, Field, texts
from goodput.collect.dialects.dynamo import answer_id
from goodput.collect.dialects.http_routes import asks_to_generate
from goodput.collect.otlp.events import EventValue

_UNKNOWN_MODEL = "unknown_model"
_ASKED = EventValue("event.request_type", "request received", "request_type")
_OUTCOMES = {"success": "ok", "error": "error", "cancelled": "cancelled", "canceled": "cancelled", "timeout": "timeout"}


def _finish(frame: pl.DataFrame) -> pl.DataFrame:
    failed = pl.when(pl.col("status_code") == 2).then(pl.lit("error"))
    stated = pl.col("request.outcome").replace_strict(_OUTCOMES, default=None, return_dtype=pl.String)
    return frame.with_columns(
        layer=pl.lit("gateway"),
        covers_tries=pl.lit(value=True),
        ended_ns=pl.col("end_ns"),
        response_id=answer_id(pl.col("request_id")),
        model=pl.when(pl.col("model") != _UNKNOWN_MODEL).then("model"),
        ttft_s=pl.col("ttft_s") / 1000,
        streamed=pl.col(_ASKED.column).replace_strict({"stream": True, "unary": False}, default=None),
        outcome=pl.coalesce(stated, failed),
    )


DYNAMO = Dialect(
    name="dynamo",
    table="serving_records",
    matches=(pl.col("name") == "http-request") & asks_to_generate(pl.col("uri"), pl.col("method")),
    fields=(
        Field("call_id", "string", ("x_request_id",)),
        Field("model", "string", ("model",)),
        Field("replica", "string", ("decode_worker_id",)),
        Field("input_tokens", "int", ("input_tokens",)),
        Field("cached_input_tokens", "int", ("cached_tokens",)),
        Field("output_tokens", "int", ("output_tokens",)),
        Field("ttft_s", "float", ("ttft_ms",)),
        Field("error_type", "string", ("error.type",)),
    ),
    finish=_finish,
    also_wanted=texts("request_id", "request.outcome"),
    event_values=(_ASKED,),
    signature=texts("uri", "method"),
)
