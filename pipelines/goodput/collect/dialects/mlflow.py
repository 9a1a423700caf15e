"""MLflow assessments, alone or within their trace (mlflow/entities/assessment.py).

What overrides another leaves it behind as invalid. Expectations and issues say nothing of an answer, an evaluation
that failed neither; the cost of a judge is no cost of serving.
"""

from dataclasses import replace

import polars as pl

from goodput.collect.dialect import Dialect, Field, Ignore
from goodput.collect.dialects.instants import epoch_ms_ns, iso_ns
from goodput.collect.otlp.attributes import Wanted
from goodput.collect.row_id import row_ids

FIELDS = (
    Field("label_id", "string", ("$.assessment_id",)),
    Field("evaluator", "string", ("$.assessment_name", "$.name")),
    Field("given", "string", ("$.feedback.value",)),
    Field("trace", "string", ("$.trace_id",)),
    Field("span", "string", ("$.span_id",)),
    Field("plan_id", "string", ("$.metadata.plan_id",)),
    Field("created", "string", ("$.create_time",)),
    Field("created_ms", "string", ("$.create_time_ms",)),
    Field("updated", "string", ("$.last_update_time",)),
    Field("updated_ms", "string", ("$.last_update_time_ms",)),
    Field("valid", "string", ("$.valid",)),
)
_TRUTH = {"true": True, "false": False}
_IDENTITY = ("label_id", "given", "valid", "revised_ns", "evaluator", "subject_id")


def _finish(frame: pl.DataFrame) -> pl.DataFrame:
    trace = pl.col("trace").str.strip_prefix("tr-").str.to_lowercase()
    number, truth = pl.col("given").cast(pl.Float64, strict=False), pl.col("given").str.to_lowercase()
    passed = truth.replace_strict(_TRUTH, default=None, return_dtype=pl.Boolean)
    judged = frame.with_columns(
        subject_kind=pl.when(pl.col("span").is_not_null()).then(pl.lit("span")).otherwise(pl.lit("trace")),
        subject_id=pl.coalesce(pl.concat_str(trace, pl.col("span").str.to_lowercase(), separator=":"), trace),
        score=number,
        passed=passed,
        label=pl.when(number.is_null() & passed.is_null()).then("given"),
        labelled_ns=pl.coalesce(iso_ns("created"), epoch_ms_ns("created_ms")),
        revised_ns=pl.coalesce(iso_ns("updated"), epoch_ms_ns("updated_ms")),
        withdrawn=(pl.col("valid").str.to_lowercase() == "false").fill_null(value=False),
    )
    return judged.with_columns(record_id=row_ids(judged.select(_IDENTITY)))


_VALUE = pl.col("$.feedback.value")
_JUDGES = pl.any_horizontal(pl.col("$.feedback", "$.expectation", "$.issue").is_not_null())
MLFLOW = Dialect(
    name="mlflow",
    table="label_records",
    matches=pl.col("$.assessment_id").is_not_null() & _JUDGES,
    fields=FIELDS,
    finish=_finish,
    also_wanted=(Wanted("$.feedback.error", "string"),),
    signature=tuple(Wanted(name, "string") for name in ("$.assessment_id", "$.feedback", "$.expectation", "$.issue")),
    ignored=(
        Ignore("assessment_is_no_judgement", pl.col("$.feedback").is_null()),
        Ignore("evaluation_failed", _VALUE.is_null()),
        Ignore("assessment_has_no_single_value", _VALUE.str.contains(r"^[\[{]")),
    ),
)
MLFLOW_TRACE = replace(MLFLOW, rows="$.info.assessments")
