"""vLLM's `llm_request` span, V0 and V1 (vllm/tracing, vllm/v1/engine/output_processor.py).

vLLM never sets a status and writes no span for a request that its client aborted; the parts of its latency do not
add up to the whole, so each is taken as it stands. What V0 says of scheduler, forward and execute time is no part
that others know: neither queue nor prefill nor decode.

A request with n > 1 makes n spans with one id and start and the whole prompt in each; one of several prompts makes
a span for each of them, numbered at the end of the id.
"""

import polars as pl

from goodput.collect.dialect import Dialect, Field, Ignore
from goodput.collect.dialects import engine_spans

FIELDS = (
    *engine_spans.TOKENS,
    engine_spans.TTFT,
    engine_spans.E2E,
    engine_spans.QUEUE,
    Field("response_id", "string", (engine_spans.REQUEST_ID,)),
    Field("model", "string", ("gen_ai.response.model",)),  # V0 only
    Field("prefill_s", "float", ("gen_ai.latency.time_in_model_prefill",)),
    Field("decode_s", "float", ("gen_ai.latency.time_in_model_decode",)),
)
_NUMBERED = r"^(cmpl-.+)-[0-9]+$"  # every prompt of /v1/completions, the only one too
_CALL = r"^(?:chatcmpl|cmpl|resp)[-_](.+)$"  # around the caller's x-request-id


def _finish(frame: pl.DataFrame) -> pl.DataFrame:
    answered = pl.coalesce(pl.col("response_id").str.extract(_NUMBERED), "response_id")
    return engine_spans.engine_record(frame).with_columns(response_id=answered, call_id=answered.str.extract(_CALL))


VLLM = Dialect(
    name="vllm",
    table="serving_records",
    matches=pl.col("name") == "llm_request",
    fields=FIELDS,
    finish=_finish,
    ignored=(
        Ignore(
            "vllm_not_generating", pl.col(engine_spans.REQUEST_ID).str.contains("^(embd|score|rerank|classify|pool)-")
        ),
    ),
    from_engine=True,
)
