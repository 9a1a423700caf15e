"""TensorRT-LLM's `llm_request` span (tensorrt_llm/executor/result.py, tensorrt_llm/llmapi/otel_tracing.py).

It names neither the model nor the answer: its request id is a number of the engine's own. Its times come from a
steady clock that it moves to wall-clock time itself.
"""

import polars as pl

from goodput.collect.dialect import Dialect, texts
from goodput.collect.dialects import engine_spans


def _finish(frame: pl.DataFrame) -> pl.DataFrame:
    return engine_spans.engine_record(frame).with_columns(engine_spans.finish_reason())


TRTLLM = Dialect(
    name="trtllm",
    table="serving_records",
    # vLLM calls its span the same, but neither names why the answer ended nor moves a cache to it.
    matches=(pl.col("name") == "llm_request")
    & (
        (pl.col("scope_name") == "trt.llm")
        | pl.col("gen_ai.latency.kv_cache_transfer_time").is_not_null()
        | pl.col(engine_spans.FINISH_REASONS.key).is_not_null()
    ),
    fields=(*engine_spans.TOKENS, engine_spans.TTFT, engine_spans.E2E, engine_spans.QUEUE),
    finish=_finish,
    signature=(engine_spans.FINISH_REASONS, *texts("gen_ai.latency.kv_cache_transfer_time")),
    from_engine=True,
)
