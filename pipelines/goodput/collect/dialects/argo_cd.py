"""Argo CD applications, as the API gives them or as a webhook's body holds them (pkg/apis/application/v1alpha1).

A sync that succeeded is a deployment. Webhooks are sent again on errors, and every look at an application repeats its
last sync: application, revision, phase and start identify it.
"""

from dataclasses import replace

import polars as pl

from goodput.collect.dialect import Dialect, Field, Ignore
from goodput.collect.dialects.instants import iso_ns
from goodput.collect.otlp.attributes import Wanted
from goodput.collect.row_id import row_ids


def _both(path: str) -> tuple[str, str]:
    return f"$.{path}", f"$.app.{path}"


_STATE = "status.operationState"
FIELDS = (
    Field("subject", "string", _both("metadata.name")),
    Field("phase", "string", _both(f"{_STATE}.phase")),
    Field("begun", "string", _both(f"{_STATE}.startedAt")),
    Field("over", "string", _both(f"{_STATE}.finishedAt")),
    Field("revision", "string", _both(f"{_STATE}.syncResult.revision")),
    Field("detail", "string", _both(f"{_STATE}.message")),
)
_PHASE = pl.coalesce(*_both(f"{_STATE}.phase"))


def _finish(frame: pl.DataFrame) -> pl.DataFrame:
    parts = [pl.col(name).fill_null("") for name in ("subject", "revision", "phase", "begun")]
    records = frame.with_columns(
        event_id=pl.concat_str(pl.lit("argocd"), *parts, separator="/"),
        kind=pl.lit("deployment"),
        occurred_ns=iso_ns("over", "begun"),
        pool=pl.col("subject"),
    )
    return records.with_columns(record_id=row_ids(records.select("event_id", "over", "detail")))


ARGO_CD = Dialect(
    name="argo_cd",
    table="event_records",
    matches=_PHASE.is_not_null() & pl.coalesce(*_both("metadata.name")).is_not_null(),
    fields=FIELDS,
    finish=_finish,
    signature=tuple(Wanted(name, "string") for name in (*_both(f"{_STATE}.phase"), *_both("metadata.name"))),
    ignored=(Ignore("event_is_no_operation", _PHASE != "Succeeded"),),
)
ARGO_CD_LIST = replace(ARGO_CD, rows="$.items")
