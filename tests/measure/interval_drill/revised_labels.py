"""Labels that came in two revisions, joined by the product: the last one is what the request is worth."""

import numpy as np
import polars as pl
import pyarrow as pa

from goodput.join.options import options
from goodput.join.workloads import workload_rows
from goodput.plumbing.sql_files import compute, connect
from goodput.settings.model import Settings
from measure.interval_drill.populations import shaped

_S = 10**9


def after_revision(requests: pa.Table, settings: Settings, share: float, seed: int) -> pa.Table:
    """Requests judged by their labels, of which this share said the opposite at first, in any order of arrival."""
    rows = pl.DataFrame(requests)
    random = np.random.default_rng(seed)
    judged = rows.filter(pl.col("pass_quality").is_not_null()).select(
        subject_id="request_key",
        label_id=pl.concat_str("request_key", pl.lit("/label")),
        labelled_ns=pl.col("ended_at").dt.epoch("us") * 1000 + 60 * _S,
        passed="pass_quality",
    )
    first = judged.filter(pl.Series(random.random(judged.height) < share)).with_columns(~pl.col("passed"))
    last = judged.with_columns(revised_ns=pl.col("labelled_ns") + 3600 * _S)
    labels = (
        pl.concat([first, last], how="diagonal").with_row_index("line").sample(fraction=1.0, shuffle=True, seed=seed)
    )
    labels = labels.with_columns(
        record_id=pl.concat_str("label_id", pl.lit("/"), "line"),
        source_id=pl.lit("labels"),
        subject_kind=pl.lit("request"),
        evaluator=pl.lit("judge"),
        withdrawn=pl.lit(False),
    )
    ended_ns = pl.col("ended_at").dt.epoch("us") * 1000
    attempts = rows.select(
        record_ids=pl.concat_list("request_key"),
        trace_id="request_key",
        request_id="request_key",
        request_key="request_key",
        request_arrived_ns=ended_ns,
        request_ended_ns=ended_ns,
        workload="workload",
        delivered=pl.lit(True),
    )
    with connect() as connection:
        connection.register("label_records", shaped("label_records", labels))
        connection.register("request_attempts", attempts.to_arrow())
        connection.register("unique_records", shaped("serving_records", pl.DataFrame()))
        connection.register("options", options(settings))
        connection.register("workload_rules", workload_rows(settings))
        compute(connection, "quality_labels")
        current = connection.sql("SELECT request_key, passed FROM quality_labels WHERE current").pl()
    found = rows.select("request_key").join(current, on="request_key", how="left", maintain_order="left")
    passed = found["passed"]
    verdict = pl.when(passed.is_null()).then(pl.lit("unlabelled")).when(passed).then(pl.lit("accepted"))
    return shaped("requests", rows.with_columns(pass_quality=passed, verdict=verdict.otherwise(pl.lit("rejected"))))
