"""GitHub's webhooks `deployment_status` and `deployment`: a deployment is an operation once a status says success.

Statuses of one deployment follow each other; the first success is when it came to be.
"""

import polars as pl

from goodput.collect.dialect import Dialect, Field, Ignore
from goodput.collect.dialects.instants import iso_ns
from goodput.collect.otlp.attributes import Wanted
from goodput.collect.row_id import row_ids

FIELDS = (
    Field("id", "string", ("$.deployment.id",)),
    Field("revision", "string", ("$.deployment.sha",)),
    Field("subject", "string", ("$.repository.name", "$.deployment.environment")),
    Field("detail", "string", ("$.deployment_status.environment", "$.deployment.environment")),
    Field("occurred", "string", ("$.deployment_status.created_at",)),
)


def _finish(frame: pl.DataFrame) -> pl.DataFrame:
    records = frame.with_columns(
        event_id=pl.concat_str(pl.lit("github"), "id", separator="/"),
        kind=pl.lit("deployment"),
        occurred_ns=iso_ns("occurred"),
        pool=pl.col("subject"),
    )
    return records.with_columns(record_id=row_ids(records.select("event_id", "occurred", "revision", "detail")))


GITHUB = Dialect(
    name="github",
    table="event_records",
    matches=pl.all_horizontal(pl.col("$.deployment.id", "$.deployment.sha").is_not_null()),
    fields=FIELDS,
    finish=_finish,
    also_wanted=(Wanted("$.deployment_status.state", "string"),),
    signature=(Wanted("$.deployment.id", "string"), Wanted("$.deployment.sha", "string")),
    ignored=(
        Ignore("event_is_no_operation", (pl.col("$.deployment_status.state") != "success").fill_null(value=True)),
    ),
)
