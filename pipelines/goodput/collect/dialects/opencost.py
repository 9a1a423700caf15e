"""OpenCost allocations (core/pkg/opencost/allocation_json.go): answers of its API, or allocations one by one.

`__idle__` is a row like any other: money that no pod asked for. Costs come without a currency; NaN comes as null.
"""

from dataclasses import replace

import polars as pl

from goodput.collect.dialect import Dialect, Field
from goodput.collect.dialects.instants import iso_ns
from goodput.collect.otlp.attributes import Wanted
from goodput.collect.row_id import row_ids

_PLACEHOLDER_USD_PER_GPU_HOUR = 0.95  # configs/default.json: nobody's price

FIELDS = (
    Field("name", "string", ("$.name",)),
    Field("sub_account", "string", ("$.properties.cluster",)),
    Field("pod", "string", ("$.properties.pod",)),
    Field("controller", "string", ("$.properties.controller",)),
    Field("tags", "string", ("$.properties.labels",)),
    Field("asked_from", "string", ("$.window.start",)),
    Field("asked_until", "string", ("$.window.end",)),
    Field("used_from", "string", ("$.start",)),
    Field("used_until", "string", ("$.end",)),
    Field("amount_usd", "float", ("$.totalCost",)),
    Field("gpu_hours", "float", ("$.gpuHours",)),
    Field("gpu_usd", "float", ("$.gpuCost",)),
)


def _finish(frame: pl.DataFrame) -> pl.DataFrame:
    special = pl.col("name").str.extract(r"__(idle|unallocated|unmounted)__", 1)
    rate = pl.col("gpu_usd") / pl.col("gpu_hours")
    allocated = frame.with_columns(
        basis=pl.lit("allocation"),
        resource_id=pl.col("name"),
        charge_category=special,
        pool=pl.when(special.is_null()).then(_property("controller")),
        replica=pl.when(special.is_null()).then(_property("pod")),
        window_start_ns=iso_ns("asked_from", "used_from"),
        window_end_ns=iso_ns("asked_until", "used_until"),
        period_start_ns=iso_ns("used_from", "asked_from"),
        period_end_ns=iso_ns("used_until", "asked_until"),
        gpu_s=pl.col("gpu_hours") * 3600,
        placeholder_rate=pl.when(pl.col("gpu_hours") > 0).then((rate - _PLACEHOLDER_USD_PER_GPU_HOUR).abs() < 1e-9),
    )
    identity = (
        "sub_account",
        "name",
        "asked_from",
        "asked_until",
        "used_from",
        "used_until",
        "amount_usd",
        "gpu_hours",
    )
    return allocated.with_columns(record_id=row_ids(allocated.select(identity))).with_columns(cost_id="record_id")


def _property(column: str) -> pl.Expr:
    """A property, NULL where it stands for none."""
    return pl.when(~pl.col(column).str.starts_with("__")).then(column)


_SHOWN = ("$.cpuCost", "$.window.start", "$.name")
OPENCOST = Dialect(
    name="opencost",
    table="cost_lines",
    matches=pl.all_horizontal(pl.col(_SHOWN).is_not_null()),
    fields=FIELDS,
    finish=_finish,
    signature=tuple(Wanted(path, "string") for path in _SHOWN),
)
OPENCOST_ANSWER = replace(OPENCOST, rows="$.data[*].*")
