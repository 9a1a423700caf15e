"""What a new computation of published windows restates: revisions, and the rows of `restatements`.

See docs/semantics.md#time-and-restatement.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pyarrow as pa

from goodput.contracts import arrow_schema, contract, polars_schema
from goodput.measure.restating_sources import RestatingSources
from goodput.plumbing.catalog import Part
from goodput.plumbing.compute import split_windows
from goodput.plumbing.node import Batch, Parts
from goodput.plumbing.part_rows import read_as_written

RESTATED = ("computed_at", "revision")
_KEY = contract("goodput").primary_key


def write_restated(batch: Batch, goodput: pl.DataFrame) -> Parts:
    """Write the windows of a batch, and what they change in those that were published."""
    parts: Parts = {"goodput": {}, "restatements": {}}
    computed_at = datetime.now(UTC)
    windows = dict(split_windows(batch.partitions, goodput.to_arrow()))
    for published in _by_columns(batch).values():
        now, before = pa.concat_tables(windows[p] for p in published), pa.concat_tables(published.values())
        rows, changes = restate(pl.DataFrame(now), pl.DataFrame(before), computed_at)
        shaped = rows.to_arrow().cast(arrow_schema("goodput"))
        for partition, part in split_windows(published, shaped):
            parts["goodput"][partition] = batch.write("goodput", partition, part)
        if changes.height:
            parts["restatements"] |= _write_changes(batch, changes, published)
    return parts


def _write_changes(batch: Batch, changes: pl.DataFrame, published: Mapping[str, pa.Table]) -> dict[str, Part]:
    sources, parts = RestatingSources(batch), {}
    for partition, part in split_windows(published, changes.to_arrow()):
        if part.num_rows:
            since = pl.DataFrame(published[partition])["computed_at"].max()
            by = pl.lit(list(sources.of(partition, since)), pl.List(pl.String))  # type: ignore[arg-type]
            rows = pl.DataFrame(part).with_columns(sources=by).to_arrow().cast(arrow_schema("restatements"))
            parts[partition] = batch.write("restatements", partition, rows)
    return parts


def _by_columns(batch: Batch) -> dict[str, dict[str, pa.Table]]:
    """What is published of each partition of a batch, by the columns that it has: an older version had fewer."""
    found: dict[str, dict[str, pa.Table]] = {}
    nothing = arrow_schema("goodput").empty_table()
    for partition in batch.partitions:
        files = batch.files("goodput", [partition])
        rows = read_as_written(Path(files[0])) if files else nothing
        columns = rows.schema.to_string(show_field_metadata=False, show_schema_metadata=False) if files else ""
        found.setdefault(columns, {})[partition] = rows
    return found


def restate(now: pl.DataFrame, before: pl.DataFrame, computed_at: datetime) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows with computed_at and revision, and the restatements: what changed in published rows.

    See docs/semantics.md#time-and-restatement.

    A row that did not change keeps its revision and computed_at; a changed one gets revision + 1.
    """
    if before.is_empty():
        rows = now.with_columns(computed_at=pl.lit(computed_at), revision=pl.lit(0))
        return _shaped(rows, "goodput"), pl.DataFrame(schema=polars_schema("restatements"))
    # a column that an older version did not have says nothing new of what was published
    values = [name for name in now.columns if name not in _KEY and name in before.columns]
    old = before.select(*_KEY, *RESTATED, pl.struct(values).alias("was"))
    now = now.with_columns(pl.struct(values).alias("is"))
    both = now.join(old, on=_KEY, how="left", nulls_equal=True, maintain_order="left")
    same = pl.col("was").eq_missing(pl.col("is"))
    known = pl.col("revision").is_not_null()
    both = both.with_columns(
        computed_at=pl.when(known & same).then("computed_at").otherwise(pl.lit(computed_at)),
        revision=pl.when(~known).then(0).otherwise(pl.col("revision") + (~same).cast(pl.Int32)),
    )
    rows = _shaped(both, "goodput")
    return rows, _restatements(rows, before, computed_at)


def _shaped(rows: pl.DataFrame, table: str) -> pl.DataFrame:
    """The columns of a table's contract, and no others."""
    return rows.select(pl.col(name).cast(dtype) for name, dtype in polars_schema(table).items())


def _restatements(rows: pl.DataFrame, before: pl.DataFrame, restated_at: datetime) -> pl.DataFrame:
    restated = ("offered", "accepted", "goodput_rps", "cost_usd")
    after = rows.select(*_KEY, "revision", *(pl.col(name).alias(f"{name}_after") for name in restated))
    past = before.select(
        *_KEY,
        pl.col("revision").alias("revision_before"),
        *(pl.col(name).alias(f"{name}_before") for name in restated),
    )
    both = past.join(after, on=_KEY, how="left", nulls_equal=True)
    gone = pl.col("revision").is_null()
    changed = both.filter(gone | (pl.col("revision") > pl.col("revision_before"))).with_columns(
        revision=pl.coalesce("revision", pl.col("revision_before") + 1),
        restated_at=pl.lit(restated_at),
        sources=pl.lit([], pl.List(pl.String)),
    )
    return contract("restatements").in_order(_shaped(changed, "restatements"))
