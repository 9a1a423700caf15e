"""SGLang's root span of a request (sglang/srt/observability/trace.py and managers/tokenizer_manager.py).

Its name holds the request's id, and below it stand the stages of each process, which are no requests. SGLang counts
prefill from the dispatch, queue included, which is not what others call prefill; it never records queue, decode or e2e.
With prefill and decode on different replicas each has a root span, and the decoding one is the request.
"""

import polars as pl

from goodput.collect.dialect import Dialect, Field, Ignore, texts
from goodput.collect.dialects import engine_spans

_ROOT = r"^(prefill|decode|unified)? ?Req [^ ]"
_IDS = (engine_spans.REQUEST_ID, "rid")
_PROBE = "HEALTH_CHECK"


def _finish(frame: pl.DataFrame) -> pl.DataFrame:
    return engine_spans.engine_record(frame).with_columns(engine_spans.finish_reason(), call_id=pl.col("response_id"))


SGLANG = Dialect(
    name="sglang",
    table="serving_records",
    matches=pl.col("name").str.contains(_ROOT) & pl.col("rid").is_not_null(),
    fields=(
        *engine_spans.TOKENS,
        engine_spans.TTFT,
        engine_spans.E2E,  # written by no version so far
        Field("cached_input_tokens", "int", ("gen_ai.usage.cached_tokens",)),
        Field("response_id", "string", _IDS),  # the caller may have given it
        Field("model", "string", ("gen_ai.response.model",)),
    ),
    finish=_finish,
    also_wanted=(engine_spans.FINISH_REASONS,),
    signature=texts("rid"),
    ignored=(
        Ignore("sglang_health_check", pl.any_horizontal(pl.col(name).str.starts_with(_PROBE) for name in _IDS)),
        Ignore("sglang_prefill_half", pl.col("name").str.starts_with("prefill ")),
    ),
    from_engine=True,
)
