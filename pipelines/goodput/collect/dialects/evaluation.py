"""`gen_ai.evaluation.result` log events of OpenTelemetry's GenAI conventions: one quality label each.

The event names neither scale nor threshold; whether a label passed is for the workload's quality policy to say.
"""

import polars as pl

from goodput.collect.dialect import Dialect, Field
from goodput.collect.row_id import row_ids

FIELDS = (
    Field("evaluator", "string", ("gen_ai.evaluation.name",)),
    Field("score", "float", ("gen_ai.evaluation.score.value",)),
    Field("label", "string", ("gen_ai.evaluation.score.label",)),
    Field("response_id", "string", ("gen_ai.response.id",)),
    Field("plan_id", "string", ("goodput.plan_id",)),
)
_IDENTITY = ("trace_id", "span_id", "response_id", "evaluator", "score", "label", "time_ns")


def _finish(frame: pl.DataFrame) -> pl.DataFrame:
    span = pl.concat_str("trace_id", "span_id", separator=":")
    judged = frame.with_columns(
        subject_kind=pl.when(span.is_not_null())
        .then(pl.lit("span"))
        .when(pl.col("response_id").is_not_null())
        .then(pl.lit("response"))
        .when(pl.col("trace_id").is_not_null())
        .then(pl.lit("trace")),
        subject_id=pl.coalesce(span, "response_id", "trace_id"),
        labelled_ns=pl.col("time_ns"),
        withdrawn=pl.lit(value=False),
        record_id=row_ids(frame.select(_IDENTITY)),  # a log record has no id of its own
    )
    return judged.with_columns(label_id="record_id")


EVALUATION = Dialect(
    name="gen_ai.evaluation.result",
    table="label_records",
    matches=pl.col("event_name") == "gen_ai.evaluation.result",
    fields=FIELDS,
    finish=_finish,
)
