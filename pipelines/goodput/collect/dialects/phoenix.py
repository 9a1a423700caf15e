"""Phoenix annotations of spans, traces and sessions (src/phoenix/server/api/routers/v1/annotations.py).

Name, subject and identifier identify one: judging again overwrites it. A span is named without its trace. Tables that
its client exports name nested values with a dot.
"""

from dataclasses import replace

import polars as pl

from goodput.collect.dialect import Dialect, Field
from goodput.collect.dialects.instants import iso_ns
from goodput.collect.otlp.attributes import Wanted
from goodput.collect.row_id import row_ids

FIELDS = (
    Field("evaluator", "string", ("$.name",)),
    Field("score", "float", ("$.result.score", '$."result.score"')),
    Field("label", "string", ("$.result.label", '$."result.label"')),
    Field("span", "string", ("$.span_id",)),
    Field("trace", "string", ("$.trace_id",)),
    Field("session", "string", ("$.session_id",)),
    Field("identifier", "string", ("$.identifier",)),
    Field("plan_id", "string", ("$.metadata.plan_id", '$."metadata.plan_id"')),
    Field("created", "string", ("$.created_at",)),
    Field("updated", "string", ("$.updated_at",)),
)
_KINDS = ("span", "trace", "session")
_IDENTITY = ("label_id", "score", "label", "updated")


def _finish(frame: pl.DataFrame) -> pl.DataFrame:
    named = [pl.col("span").str.to_lowercase(), pl.col("trace").str.to_lowercase(), pl.col("session")]
    kinds = [pl.when(name.is_not_null()).then(pl.lit(kind)) for kind, name in zip(_KINDS, named, strict=True)]
    judged = frame.with_columns(
        subject_kind=pl.coalesce(kinds),
        subject_id=pl.coalesce(named),
        labelled_ns=iso_ns("created", "updated"),
        revised_ns=iso_ns("updated"),
        withdrawn=pl.lit(value=False),
    )
    upserted = pl.concat_str(
        "subject_kind", "subject_id", "evaluator", pl.col("identifier").fill_null(""), separator="/"
    )
    judged = judged.with_columns(label_id=pl.concat_str(pl.lit("phoenix"), upserted, separator="/"))
    return judged.with_columns(record_id=row_ids(judged.select(_IDENTITY)))


PHOENIX = Dialect(
    name="phoenix",
    table="label_records",
    matches=pl.col("$.annotator_kind").is_in(["LLM", "CODE", "HUMAN"]) & pl.col("$.name").is_not_null(),
    fields=FIELDS,
    finish=_finish,
    signature=(Wanted("$.annotator_kind", "string"), Wanted("$.name", "string")),
)
PHOENIX_PAGE = replace(PHOENIX, rows="$.data")
