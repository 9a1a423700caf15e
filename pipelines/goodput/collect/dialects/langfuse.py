"""Langfuse scores: pages of API v1 to v3, and rows of its exports (fern/apis/server/definition/scores*.yml).

A score is updated in place, and deleted softly where storage is exported. Of a categorical score in v1 and v2 the
number means nothing, of a correction and a text neither is a judgement.
"""

from dataclasses import replace

import polars as pl

from goodput.collect.dialect import Dialect, Field, Ignore
from goodput.collect.dialects.instants import iso_ns
from goodput.collect.otlp.attributes import Wanted
from goodput.collect.row_id import row_ids

FIELDS = (
    Field("label_id", "string", ("$.id",)),
    Field("evaluator", "string", ("$.name",)),
    Field("given", "string", ("$.value",)),
    Field("given_text", "string", ("$.stringValue", "$.string_value")),
    Field("data_type", "string", ("$.dataType", "$.data_type")),
    Field("subject", "string", ("$.subject.kind",)),  # v3
    Field("subject_name", "string", ("$.subject.id",)),
    Field("trace", "string", ("$.traceId", "$.trace_id", "$.subject.traceId")),
    Field("observation", "string", ("$.observationId", "$.observation_id")),
    Field("session", "string", ("$.sessionId", "$.session_id")),
    Field("beside", "float", ("$.metadata.score", "$.details.metadata.score")),  # a number beside a verdict
    Field("plan_id", "string", ("$.metadata.plan_id", "$.details.metadata.plan_id")),
    Field("judged", "string", ("$.timestamp", "$.createdAt", "$.created_at")),
    Field("updated", "string", ("$.updatedAt", "$.updated_at", "$.event_ts")),
    Field("deleted", "string", ("$.is_deleted", "$.isDeleted")),
)
_TYPE = pl.coalesce("$.dataType", "$.data_type")
_IDENTITY = ("label_id", "updated", "given", "given_text", "beside", "deleted", "evaluator", "subject_id")


def _finish(frame: pl.DataFrame) -> pl.DataFrame:
    subject = pl.coalesce(
        "subject",
        pl.when(pl.all_horizontal(pl.col("trace", "observation").is_not_null())).then(pl.lit("observation")),
        pl.when(pl.col("trace").is_not_null()).then(pl.lit("trace")),
        pl.when(pl.col("session").is_not_null()).then(pl.lit("session")),
    )
    trace = pl.coalesce("trace", "subject_name").str.to_lowercase()
    observation = pl.coalesce("observation", "subject_name").str.to_lowercase()
    number, truth = pl.col("given").cast(pl.Float64, strict=False), pl.col("data_type") == "BOOLEAN"
    numeric, in_words = pl.col("data_type") == "NUMERIC", pl.col("subject").is_not_null()
    judged = frame.with_columns(
        subject_kind=subject.replace({"observation": "span"}),
        subject_id=pl.when(subject == "observation")
        .then(pl.concat_str(trace, observation, separator=":"))
        .when(subject == "trace")
        .then(trace)
        .when(subject == "session")
        .then(pl.coalesce("session", "subject_name")),
        score=pl.when(numeric).then(number).otherwise("beside"),
        label=pl.when(~numeric).then(pl.coalesce("given_text", pl.when(in_words).then("given"))),
        passed=pl.when(truth).then(pl.coalesce(number == 1, pl.col("given").str.to_lowercase() == "true")),
        labelled_ns=iso_ns("judged"),
        revised_ns=iso_ns("updated"),
        withdrawn=pl.col("deleted").str.to_lowercase().is_in(["1", "true"]).fill_null(value=False),
    )
    return judged.with_columns(record_id=row_ids(judged.select(_IDENTITY)))


_RUN = ("$.datasetRunId", "$.dataset_run_id")
LANGFUSE = Dialect(
    name="langfuse",
    table="label_records",
    matches=_TYPE.is_in(["NUMERIC", "CATEGORICAL", "BOOLEAN", "TEXT", "CORRECTION"])
    & pl.col("$.source").is_in(["API", "EVAL", "ANNOTATION"])
    & pl.col("$.name").is_not_null(),
    fields=FIELDS,
    finish=_finish,
    also_wanted=tuple(Wanted(name, "string") for name in _RUN),
    signature=tuple(Wanted(name, "string") for name in ("$.dataType", "$.data_type", "$.source", "$.name")),
    ignored=(
        Ignore("score_is_no_judgement", _TYPE.is_in(["TEXT", "CORRECTION"])),
        Ignore(
            "score_of_an_experiment",
            (pl.col("$.subject.kind") == "experiment").fill_null(value=False)
            | (
                pl.any_horizontal(pl.col(_RUN).is_not_null())
                & pl.all_horizontal(pl.col("$.traceId", "$.trace_id", "$.sessionId", "$.session_id").is_null())
            ),
        ),
    ),
)
LANGFUSE_PAGE = replace(LANGFUSE, rows="$.data")
