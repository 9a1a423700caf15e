"""Spans of Pydantic Logfire's instrumentations of model SDKs (`logfire.openai` and its sisters, 5.2).

A call that is not streamed is one span. One that is streamed is two: a client span until the answer's headers, and
when the stream ends a log, a span of no length, which says how long the stream took and what it held. Outside any
other span the two are in two traces. The log alone has tokens and whether the answer ended; the span alone when
the call began, so both are records, and `join` makes one of them by the instant of the headers.
"""

import polars as pl

from goodput.collect.dialect import Dialect, Ignore, documents, texts
from goodput.collect.dialects import genai

_SPAN_TYPE = "logfire.span_type"
_DURATION_S = "duration"
_RAW = "gen_ai.usage.raw"
_MESSAGES = "gen_ai.output.messages"
_ENDED = r'[^\\]"finish_reason": ?"([^"\\]+)"\}\]$'  # of the last message
_OF_A_MODEL = pl.col("scope_name").str.contains(r"^logfire\.(openai|anthropic|google_genai|litellm)$")
_IS_LOG = pl.col(_SPAN_TYPE) == "log"

_ALSO = (*genai.ALSO, *documents(_RAW))


def _counted(frame: pl.DataFrame) -> pl.DataFrame:
    usage = pl.col(_RAW)
    cached = pl.coalesce(
        usage.str.json_path_match(f"$.{path}").cast(pl.Int64, strict=False)
        for path in (
            "prompt_tokens_details.cached_tokens",
            "input_tokens_details.cached_tokens",
            "cache_read_input_tokens",
        )
    )
    return genai.finish(frame.with_columns(cached_input_tokens=pl.coalesce("cached_input_tokens", cached)))


def _call(frame: pl.DataFrame) -> pl.DataFrame:
    # Only a stream's span ends well and says nothing of the answer.
    until_headers = (pl.col("status_code") != genai.ERROR) & pl.all_horizontal(
        pl.col("response_id", "finish_reason", "output_tokens", "error_type").is_null()
    )
    failed = pl.col("status_code") == genai.ERROR  # of these nothing shows whether they would have been streamed
    return _counted(frame).with_columns(
        ended_ns=pl.when(~until_headers).then("end_ns"),
        headers_ns=pl.when(until_headers).then("end_ns"),
        streamed=pl.when(~failed).then(until_headers).otherwise("streamed"),
    )


def _stream(frame: pl.DataFrame) -> pl.DataFrame:
    took_s = pl.col(_DURATION_S).cast(pl.Float64, strict=False)
    began = pl.col("end_ns") - (took_s * 1e9).round().cast(pl.Int64, strict=False)
    reason = pl.coalesce("finish_reason", pl.col(_MESSAGES).str.extract(_ENDED))
    return _counted(frame).with_columns(
        started_ns=began,
        headers_ns=began,
        streamed=pl.lit(value=True),
        finish_reason=reason,
        outcome=pl.coalesce("outcome", genai.no_end(reason.is_null(), pl.col(genai.ANTHROPIC))),
    )


LOGFIRE_STREAM = Dialect(
    name="logfire.stream",
    table="serving_records",
    matches=_OF_A_MODEL & _IS_LOG & pl.col(_DURATION_S).is_not_null() & genai.OPERATION.is_in(genai.GENERATING),
    fields=genai.FIELDS,
    finish=_stream,
    also_wanted=(*_ALSO, *documents(_MESSAGES)),
    signature=documents(_SPAN_TYPE, _DURATION_S),
)
LOGFIRE = Dialect(
    name="logfire",
    table="serving_records",
    matches=_OF_A_MODEL & ~_IS_LOG & genai.OPERATION.is_in(genai.GENERATING),
    fields=genai.FIELDS,
    finish=_call,
    also_wanted=_ALSO,
    signature=texts(_SPAN_TYPE),
    ignored=(Ignore("logfire_pending_span", pl.col(_SPAN_TYPE) == "pending_span"),),
)
