"""Spans of Strands Agents 1.62: one `chat` for each call of a model, below the cycles of its agent.

Its time to first token is in milliseconds, under a name that the conventions give seconds.
"""

import polars as pl

from goodput.collect.dialect import Dialect
from goodput.collect.dialects import genai
from goodput.collect.otlp.attributes import Wanted

SCOPE = "strands.telemetry.tracer"
_TTFT_MS = "gen_ai.server.time_to_first_token"


def _finish(frame: pl.DataFrame) -> pl.DataFrame:
    timed = genai.finish(frame.with_columns(ttft_s=pl.coalesce("ttft_s", pl.col(_TTFT_MS) / 1000)))
    ended_well = (pl.col("status_code") == genai.OK) & pl.col("error_type").is_null()
    return timed.with_columns(outcome=pl.coalesce("outcome", pl.when(ended_well).then(pl.lit("ok"))))


STRANDS = Dialect(
    name="strands",
    table="serving_records",
    matches=(pl.col("scope_name") == SCOPE) & genai.OPERATION.is_in(genai.GENERATING),
    fields=genai.FIELDS,
    finish=_finish,
    also_wanted=(*genai.ALSO, Wanted(_TTFT_MS, "float")),
)
