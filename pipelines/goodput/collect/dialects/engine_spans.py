"""What the request spans of vLLM, SGLang and TensorRT-LLM have in common: the attribute names that vLLM coined.

What a name measures differs between them, and so which of these each of them takes.
"""

import polars as pl

from goodput.collect.dialect import Field
from goodput.collect.otlp.attributes import Wanted

REQUEST_ID = "gen_ai.request.id"
FINISH_REASONS = Wanted("gen_ai.response.finish_reasons", "strings")  # a JSON list inside a string is read as a list
TOKENS = (
    Field("input_tokens", "int", ("gen_ai.usage.prompt_tokens", "gen_ai.usage.input_tokens")),
    Field("output_tokens", "int", ("gen_ai.usage.completion_tokens", "gen_ai.usage.output_tokens")),
)
TTFT = Field("ttft_s", "float", ("gen_ai.latency.time_to_first_token",))
E2E = Field("e2e_s", "float", ("gen_ai.latency.e2e",))
QUEUE = Field("queue_s", "float", ("gen_ai.latency.time_in_queue",))


def engine_record(frame: pl.DataFrame) -> pl.DataFrame:
    """An engine's record. The span ends when it is flushed; the answer ended at start + e2e, where that is recorded."""
    return frame.with_columns(
        layer=pl.lit("engine"),
        ended_ns=pl.when(pl.col("e2e_s").is_null()).then(pl.col("end_ns")),
        outcome=pl.when(pl.col("status_code") == 2).then(pl.lit("error")),
    )


def finish_reason() -> pl.Expr:
    """Why the first choice ended: its name, or the `type` of the object that stands in its place."""
    first = pl.col(FINISH_REASONS.key).list.first()
    of_object = first.str.extract(r'"type"\s*:\s*"([^"]+)"')
    return pl.coalesce(of_object, pl.when(first != "[null]").then(first)).alias("finish_reason")
