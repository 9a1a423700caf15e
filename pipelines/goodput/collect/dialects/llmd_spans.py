"""The router span of llm-d's endpoint picker, which grew out of the Gateway API Inference Extension.

One `gateway.request` for each request that the proxy asks about; how it scheduled, and what the proxies of prefill
and decode did, stands in spans below it that are no requests.
"""

import polars as pl

from goodput.collect.dialect import Dialect, Field
from goodput.collect.dialects.engine_spans import REQUEST_ID

_SCOPES = "^(llm-d|gateway-api-inference-extension)"
_BODY_ROUTERS = "bbr|payload"  # an earlier step of the same request calls its span the same


def _finish(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(
        layer=pl.lit("gateway"),
        covers_tries=pl.lit(value=True),
        ended_ns=pl.col("end_ns"),
        outcome=pl.when(pl.col("status_code") == 2).then(pl.lit("error")),
    )


LLMD = Dialect(
    name="llm-d",
    table="serving_records",
    matches=(pl.col("name") == "gateway.request")
    & pl.col("scope_name").str.contains(_SCOPES)
    & ~pl.col("scope_name").str.contains(_BODY_ROUTERS),
    fields=(
        Field("call_id", "string", (REQUEST_ID,)),
        Field("model", "string", ("gen_ai.response.model", "gen_ai.request.model")),
    ),
    finish=_finish,
)
