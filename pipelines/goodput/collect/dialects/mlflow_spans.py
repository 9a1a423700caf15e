"""Spans of MLflow's tracing, version 3, as it exports them by OTLP: everything in `mlflow.*`, as JSON inside text.

A call that was streamed has an event for each chunk. The answer's id and finish reason stand nowhere but in the answer
itself; a stream that its caller left has no span. Spans of other types (chains, agents, tools, embeddings) are no
requests.
"""

import polars as pl

from goodput.collect.dialect import Dialect, Field, documents
from goodput.collect.dialects import genai

_TYPE = "mlflow.spanType"
_MODEL = "mlflow.llm.model"
_USAGE = "mlflow.chat.tokenUsage"
_ASKED = "mlflow.spanInputs"
_ANSWER = "mlflow.spanOutputs"


def _finish(frame: pl.DataFrame) -> pl.DataFrame:
    failed = pl.col("status_code") == genai.ERROR
    ended_well = (pl.col("status_code") == genai.OK) & pl.col("error_type").is_null()
    answer = frame.with_columns(
        model=pl.coalesce(pl.col(_MODEL).str.strip_chars('"'), _in_json(_ASKED, "model")),
        response_id=_in_json(_ANSWER, "id"),
        finish_reason=pl.coalesce(_in_json(_ANSWER, "choices[0].finish_reason"), _in_json(_ANSWER, "stop_reason")),
        cached_input_tokens=_count("cache_read_input_tokens"),
        cache_write_tokens=_count("cache_creation_input_tokens"),
        input_tokens=_count("input_tokens"),
        output_tokens=_count("output_tokens"),
    )
    return answer.with_columns(
        layer=pl.lit("client"),
        ended_ns=pl.col("end_ns"),
        first_token_ns=pl.col("event_ns"),
        streamed=pl.when(pl.col("event_ns").is_not_null())
        .then(pl.lit(value=True))
        .otherwise(_in_json(_ASKED, "stream") == "true"),
        input_tokens=genai.whole_input(genai.of_anthropic(pl.lit(None, pl.String))),
        error_type=genai.error_type(failed),
        outcome=pl.when(ended_well).then(pl.lit("ok")).otherwise(genai.gave_up(failed)),
    )


def _in_json(column: str, path: str) -> pl.Expr:
    return pl.col(column).str.json_path_match(f"$.{path}")


def _count(name: str) -> pl.Expr:
    return _in_json(_USAGE, name).cast(pl.Int64, strict=False)


MLFLOW_CALL = Dialect(
    name="mlflow.call",
    table="serving_records",
    matches=pl.col(_TYPE).str.strip_chars('"').is_in(["CHAT_MODEL", "LLM"]),
    fields=(Field("error_type", "string", ("error.type",)),),
    finish=_finish,
    also_wanted=documents(_MODEL, _USAGE, _ASKED, _ANSWER),
    signature=documents(_TYPE),
    first_token_events=("mlflow.chunk.item.0",),
)
