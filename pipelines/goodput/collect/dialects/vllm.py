"""vLLM's `llm_request` span, V0 and V1 (vllm/tracing, vllm/v1/engine/output_processor.py).

vLLM never sets a status and writes no span for a request that its client aborted; the parts of its latency do not
add up to the whole, so each is taken as it stands.
"""

import polars as pl

from goodput.collect.dialect import Dialect, Field

FIELDS = (
    Field("response_id", "string", ("gen_ai.request.id",)),  # the id that the answer carried: chatcmpl-...
    Field("model", "string", ("gen_ai.response.model",)),  # V0 only
    Field("input_tokens", "int", ("gen_ai.usage.prompt_tokens",)),
    Field("output_tokens", "int", ("gen_ai.usage.completion_tokens",)),
    Field("ttft_s", "float", ("gen_ai.latency.time_to_first_token",)),
    Field("e2e_s", "float", ("gen_ai.latency.e2e",)),
    Field("queue_s", "float", ("gen_ai.latency.time_in_queue",)),
    Field("prefill_s", "float", ("gen_ai.latency.time_in_model_prefill",)),
    Field("decode_s", "float", ("gen_ai.latency.time_in_model_decode",)),
)


def _finish(frame: pl.DataFrame) -> pl.DataFrame:
    # The span ends when it is flushed; the answer ended at start + e2e.
    ended = pl.when(pl.col("e2e_s").is_null()).then(pl.col("end_ns"))
    failed = pl.when(pl.col("status_code") == 2).then(pl.lit("error"))
    return frame.with_columns(layer=pl.lit("engine"), ended_ns=ended, outcome=failed)


VLLM = Dialect(
    name="vllm",
    table="serving_records",
    matches=pl.col("name") == "llm_request",
    fields=FIELDS,
    finish=_finish,
    from_engine=True,
)
