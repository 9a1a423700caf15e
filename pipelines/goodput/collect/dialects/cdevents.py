"""CDEvents, bare or as the data of a CloudEvent (cdevents/spec continuous-deployment.md, cloudevents-binding.md).

The type carries its own version. `service.published` says that users reach what `service.deployed` brought, so it is
no operation of its own; nor is the end of an incident.
"""

import polars as pl

from goodput.collect.dialect import Dialect, Field, Ignore
from goodput.collect.dialects.instants import iso_ns
from goodput.collect.otlp.attributes import Wanted
from goodput.collect.row_id import row_ids

_KINDS = {
    "service.deployed": "deployment",
    "service.upgraded": "deployment",
    "service.rolledback": "deployment",
    "service.removed": "scale_in",
    "environment.modified": "config_change",
    "incident.detected": "incident",
    "incident.reported": "incident",
}


def _both(path: str) -> tuple[str, str]:
    return f"$.{path}", f"$.data.{path}"


FIELDS = (
    Field("detail", "string", (*_both("context.type"), "$.type")),
    Field("id", "string", (*_both("context.id"), "$.id")),
    Field("emitter", "string", (*_both("context.source"), "$.source")),
    Field("occurred", "string", (*_both("context.timestamp"), "$.time")),
    Field("subject", "string", (*_both("subject.content.service.id"), *_both("subject.id"))),
    Field("revision", "string", _both("subject.content.artifactId")),
)
_TYPE = pl.coalesce(*_both("context.type"), "$.type")
_OPERATION = _TYPE.str.extract(r"^dev\.cdevents\.(\w+\.\w+)\.")
_UUID = r"^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$"
_IDENTITY = ("event_id", "detail", "occurred", "subject", "revision")


def _finish(frame: pl.DataFrame) -> pl.DataFrame:
    within = pl.concat_str(pl.col("emitter").fill_null(""), "id", separator="#")  # ids need only differ within a source
    records = frame.with_columns(
        event_id=pl.when(pl.col("id").str.contains(_UUID)).then("id").otherwise(within),
        kind=_OPERATION.replace_strict(_KINDS, default=None, return_dtype=pl.String),
        occurred_ns=iso_ns("occurred"),
        pool=pl.when(~_OPERATION.str.starts_with("environment")).then("subject"),
    )
    return records.with_columns(record_id=row_ids(records.select(_IDENTITY)))


CDEVENTS = Dialect(
    name="cdevents",
    table="event_records",
    matches=_TYPE.str.starts_with("dev.cdevents."),
    fields=FIELDS,
    finish=_finish,
    signature=tuple(Wanted(name, "string") for name in (*_both("context.type"), "$.type")),
    ignored=(Ignore("event_is_no_operation", ~_OPERATION.is_in(list(_KINDS)).fill_null(value=False)),),
)
