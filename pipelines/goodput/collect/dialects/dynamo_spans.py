"""The root span of NVIDIA Dynamo's frontend: one per HTTP request, whatever its workers do for it.

Workers write two spans of one name below it, for prefill and for decode; neither is a request.
"""

import polars as pl

from goodput.collect.dialect import Dialect, Field, texts
from goodput.collect.dialects.http_routes import asks_to_generate


def _finish(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(
        layer=pl.lit("gateway"),
        covers_tries=pl.lit(value=True),
        ended_ns=pl.col("end_ns"),
        outcome=pl.when(pl.col("status_code") == 2).then(pl.lit("error")),
    )


DYNAMO = Dialect(
    name="dynamo",
    table="serving_records",
    matches=(pl.col("name") == "http-request") & asks_to_generate(pl.col("uri"), pl.col("method")),
    fields=(
        Field("call_id", "string", ("x_request_id",)),
        Field("model", "string", ("model",)),
    ),
    finish=_finish,
    signature=texts("uri", "method"),
)
