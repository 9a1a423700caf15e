"""Computes the windows of `goodput` for stretches of event time, and what a restatement changes.

The arithmetic is sql/goodput.sql; which stretch has to be computed again is `staleness`'s work.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import duckdb
import polars as pl
import pyarrow as pa

from goodput.join.workloads import workload_rows
from goodput.plumbing.contracts import arrow_schema, contract
from goodput.plumbing.sql_files import compute, connect, read_parts, sql_file
from goodput.settings.model import Settings

SLICES = (
    # slice, by_workload, by_model, by_pool, by_route
    ("overall", False, False, False, False),
    ("pool", False, False, True, False),
    ("workload", True, False, False, False),
    ("workload_model", True, True, False, False),
    ("workload_pool", True, False, True, False),
    ("workload_route", True, False, False, True),
    ("finest", True, True, True, True),
)
RELATIONS = ("request_words", "measured_requests", "window_counts", "goodput")
_WORDS = ("workload", "model", "pool", "route")
RESTATED = ("computed_at", "revision")
_KEY = contract("goodput").primary_key


@dataclass(frozen=True)
class Stretch:
    """Event time [from_s, until_s) in Unix seconds, and what telemetry was observed at all."""

    from_s: int
    until_s: int
    observed_ns: tuple[int, int]


def measure(
    settings: Settings,
    files: Sequence[str],
    grains: Sequence[int],
    stretch: Stretch,
    coverage: Sequence[str] = (),
) -> pl.DataFrame:
    """Rows of `goodput` for a stretch at the given grains (seconds), without computed_at and revision (semantics 4).

    `files` are the parts of `requests` that hold every request which completed or arrived in the stretch, `coverage`
    those of the coverage of its hours.
    """
    with connect() as connection:
        read_parts(connection, "requests", files, arrow_schema("requests"))
        read_parts(connection, "coverage", coverage, arrow_schema("coverage"))
        connection.register("grains", pa.table({"window_s": pa.array(grains, pa.int32())}))
        connection.register("span", _span(stretch, math.gcd(*grains)))
        connection.register("workloads", workload_rows(settings))
        compute(connection, "request_words")
        for column in _WORDS:
            words = f"SELECT unnest({column}) FROM request_words"  # noqa: S608  (a column of its own)
            connection.execute(f"CREATE TYPE {column}_word AS ENUM ({words})")
        compute(connection, "measured_requests")
        compute(connection, "window_counts")
        slices = [_slice(connection, row) for row in SLICES]
    return pl.concat(slices).sort(_KEY, nulls_last=False)


def _slice(connection: duckdb.DuckDBPyConnection, row: tuple[str, bool, bool, bool, bool]) -> pl.DataFrame:
    names = ("slice", "by_workload", "by_model", "by_pool", "by_route")
    connection.register("slice", pa.table({name: [value] for name, value in zip(names, row, strict=True)}))
    wanted = [field for field in arrow_schema("goodput") if field.name not in RESTATED]
    columns = ", ".join(f'"{field.name}"' for field in wanted)
    rows = connection.sql(f"SELECT {columns} FROM ({sql_file('goodput').text})").to_arrow_table()  # noqa: S608
    return pl.DataFrame(rows.cast(pa.schema(wanted)))


def _span(stretch: Stretch, step_s: int) -> pa.Table:
    first_ns, last_ns = stretch.observed_ns
    return pa.table(
        {
            "from_s": [stretch.from_s],
            "until_s": [stretch.until_s],
            "step_s": [step_s],
            "observed_from_s": [first_ns / 1e9],
            "observed_until_s": [last_ns / 1e9],
        }
    )


def restate(now: pl.DataFrame, before: pl.DataFrame, computed_at: datetime) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows with computed_at and revision, and the restatements: what changed in published rows (semantics 9).

    A row that did not change keeps its revision and computed_at; a changed one gets revision + 1.
    """
    values = [name for name in now.columns if name not in _KEY]
    old = before.select(*_KEY, *RESTATED, pl.struct(values).alias("was"))
    both = now.with_columns(pl.struct(values).alias("is")).join(old, on=_KEY, how="left", nulls_equal=True)
    same = pl.col("was").eq_missing(pl.col("is"))
    known = pl.col("revision").is_not_null()
    published = pl.DataFrame(arrow_schema("goodput").empty_table()).schema
    rows = both.with_columns(
        computed_at=pl.when(known & same).then("computed_at").otherwise(pl.lit(computed_at)),
        revision=pl.when(~known).then(0).otherwise(pl.col("revision") + (~same).cast(pl.Int32)),
    ).select(pl.col(name).cast(dtype) for name, dtype in published.items())
    return rows, _restatements(rows, before, computed_at)


def _restatements(rows: pl.DataFrame, before: pl.DataFrame, restated_at: datetime) -> pl.DataFrame:
    told = ("offered", "accepted", "goodput_rps")
    after = rows.select(*_KEY, "revision", *(pl.col(name).alias(f"{name}_after") for name in told))
    past = before.select(
        *_KEY,
        pl.col("revision").alias("revision_before"),
        *(pl.col(name).alias(f"{name}_before") for name in told),
    )
    both = past.join(after, on=_KEY, how="left", nulls_equal=True)
    gone = pl.col("revision").is_null()
    changed = both.filter(gone | (pl.col("revision") > pl.col("revision_before"))).with_columns(
        revision=pl.coalesce("revision", pl.col("revision_before") + 1), restated_at=pl.lit(restated_at)
    )
    shape = pl.DataFrame(arrow_schema("restatements").empty_table()).schema
    return changed.select(pl.col(name).cast(dtype) for name, dtype in shape.items())
