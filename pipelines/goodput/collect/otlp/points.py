"""Flattens decoded OTLP metrics to one row per reading: a number, a histogram, or the count or the sum of one.

What a metric's name means is for the dialects to say; only the points of names that one of them knows are given.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from goodput.collect.label_sets import label_texts
from goodput.collect.otlp.attributes import Wanted
from goodput.collect.otlp.fields import COUNTED, METRIC, METRICS
from goodput.collect.otlp.leaves import codes, nanoseconds, text
from goodput.collect.otlp.nested import Index, child, children, ordinals
from goodput.collect.otlp.records import Mask, RecordRows, flatten
from goodput.collect.otlp.values import MEMBERS, coalesce, integers

POINT_COLUMNS = (
    *("line", "position", "emitted", "description", "type", "temporality", "start_ns", "time_ns", "value", "labels"),
    *("total", "bucket_bounds", "bucket_counts", "unreadable"),
)
HISTOGRAM_READINGS = ("count", "sum")  # each a row of its own, named as Prometheus names them, or both one row
_OF_HISTOGRAMS = {
    "total": pa.float64(),
    "bucket_bounds": pa.list_(pa.float64()),
    "bucket_counts": pa.list_(pa.float64()),
}
_NO_RECORDED_VALUE = 1  # flag of a point that says only that its series has ended
_Shared = tuple[dict[str, pa.Array], dict[str, Mask], Mask]


@dataclass(frozen=True)
class Points:
    """Readings of known metrics, and an account of the others.

    `readings` has POINT_COLUMNS and one per resource key; None where no metric is known. `value` is null where none
    was recorded. `unread`: line, name, readings (of metrics that are not known). `counts`: line, points (readings of
    every name), folded (those that are part of another's row).
    """

    readings: pa.Table | None
    unread: pa.Table
    counts: pa.Table


def points_table(
    batches: pa.ListArray,
    lines: Index,
    names: Collection[str],
    histograms: Collection[str],
    resource_keys: Sequence[Wanted],
) -> Points:
    """Readings of the metrics called by `names`.

    A histogram `x` is one reading where `histograms` has it, with its buckets; else its parts that `names` has,
    `x_count` and `x_sum`, are readings. Points of other types are only counted.
    """
    metrics = flatten(batches, lines, METRICS)
    starts, counts = _positions(metrics)
    of_histograms = {name.rpartition("_")[0] for name in names if name.endswith(("_count", "_sum"))}
    called = child(metrics.records, "name")
    wanted = {"gauge": names, "sum": names, "histogram": {*of_histograms, *histograms}}
    parts = []
    for kind, known in wanted.items():
        mask = pc.is_in(called, value_set=pa.array(sorted(known), pa.string()))
        parts += list(_readings(metrics, kind, mask, starts, histograms))
    unread, by_line = _counted(metrics.line_of, lines, called, counts, [owner for owner, _ in parts])
    if not parts:
        return Points(None, unread, by_line)
    metrics_of = np.concatenate([owner for owner, _ in parts])
    table = pa.concat_tables([part for _, part in parts], promote_options="permissive")
    metrics.columns = {}
    metrics.unreadable = {}
    metrics.add_resource_attributes(resource_keys)
    indices = pa.array(metrics_of)
    for name, column in metrics.columns.items():
        table = table.append_column(name, column.take(indices))
    return Points(table.sort_by([("line", "ascending"), ("position", "ascending")]), unread, by_line)


def _counted(
    line_of: Index, lines: Index, called: pa.Array, counts: Index, owners: list[Index]
) -> tuple[pa.Table, pa.Table]:
    """Of each line the names of metrics without any row and how many readings they have; and all its readings."""
    rows = np.bincount(np.concatenate([*owners, np.zeros(0, np.int64)]), minlength=len(counts))
    metrics = pl.DataFrame({"line": lines[line_of], "name": called, "points": counts, "rows": rows})
    silent = pl.col("rows") == 0
    unread = (
        metrics.filter(silent, pl.col("points") > 0)
        .group_by("line", pl.col("name").fill_null(""), maintain_order=True)
        .agg(readings=pl.col("points").sum())
    )
    folded = pl.when(~silent).then(pl.col("points") - pl.col("rows")).otherwise(0)
    by_line = metrics.group_by("line", maintain_order=True).agg(pl.col("points").sum(), folded=folded.sum())
    return unread.to_arrow(), by_line.to_arrow()


def _lists(metrics: RecordRows, kind: str) -> pa.ListArray:
    return child(child(metrics.records, kind), "dataPoints")


def _positions(metrics: RecordRows) -> tuple[Index, Index]:
    """Of each metric the position of its first reading within its line, and the number of its readings."""
    counts = np.zeros(len(metrics.records), dtype=np.int64)
    for item in METRIC.fields:
        if item.name in ("gauge", "sum", "histogram") or item.type is COUNTED:
            lengths = pc.list_value_length(_lists(metrics, item.name)).fill_null(0).to_numpy(zero_copy_only=False)
            counts += lengths * (len(HISTOGRAM_READINGS) if item.name == "histogram" else 1)
    starts = np.cumsum(counts) - counts
    first_of_line = np.searchsorted(metrics.line_of, metrics.line_of)
    return starts - starts[first_of_line] if len(starts) else starts, counts


def _readings(
    metrics: RecordRows, kind: str, wanted: pa.Array, starts: Index, histograms: Collection[str]
) -> Iterator[tuple[Index, pa.Table]]:
    """The readings of one type of metric, and for each the index of its metric."""
    mask = wanted.fill_null(False).to_numpy(zero_copy_only=False)
    if kind == "histogram":
        names = child(metrics.records, "name")
        is_whole = pc.is_in(names, value_set=pa.array(sorted(histograms), pa.string())).to_numpy(zero_copy_only=False)
        yield from _histograms(metrics, mask & is_whole, starts)
        mask = mask & ~is_whole
    chosen = np.flatnonzero(mask)
    lists = _lists(metrics, kind).take(pa.array(chosen))
    points, parents = children(lists)
    if not len(points):
        return
    owner = chosen[parents]
    records = metrics.records.take(pa.array(owner))
    shared = _shared(metrics, kind, records, owner, points)
    place = ordinals(parents, len(chosen))
    if kind != "histogram":
        value, bad = _number(points)
        yield owner, _table(shared, text(child(records, "name")), starts[owner] + place, value, bad)
        return
    for nth, reading in enumerate(HISTOGRAM_READINGS):
        values = child(points, reading)
        number = values if reading == "sum" else integers(values).cast(pa.float64(), safe=False)
        bad = pc.and_(values.is_valid(), number.is_null()).to_numpy(zero_copy_only=False)
        called = pc.binary_join_element_wise(child(records, "name"), reading, "_")
        yield owner, _table(shared, called, starts[owner] + len(HISTOGRAM_READINGS) * place + nth, number, bad)


def _histograms(metrics: RecordRows, mask: Mask, starts: Index) -> Iterator[tuple[Index, pa.Table]]:
    """Each histogram as one reading: how many were observed, their sum, and how many up to each bound."""
    chosen = np.flatnonzero(mask)
    points, parents = children(_lists(metrics, "histogram").take(pa.array(chosen)))
    if not len(points):
        return
    owner = chosen[parents]
    records = metrics.records.take(pa.array(owner))
    shared = _shared(metrics, "histogram", records, owner, points)
    observed = child(points, "count")
    count = integers(observed).cast(pa.float64(), safe=False)
    bad = pc.and_(observed.is_valid(), count.is_null()).to_numpy(zero_copy_only=False)
    buckets = pl.DataFrame({"counts": child(points, "bucketCounts"), "bounds": child(points, "explicitBounds")}).select(
        bucket_bounds=pl.col("bounds").cast(pl.List(pl.Float64)),
        bucket_counts=pl.col("counts").cast(pl.List(pl.Float64)).list.eval(pl.element().cum_sum()),
    )
    buckets = buckets.with_columns(pl.col("bucket_counts").list.head(pl.col("bucket_bounds").list.len()))
    place = starts[owner] + len(HISTOGRAM_READINGS) * ordinals(parents, len(chosen))
    of_buckets = {name: column.to_arrow().cast(pa.list_(pa.float64())) for name, column in buckets.to_dict().items()}
    given = {"total": child(points, "sum"), **of_buckets}
    yield owner, _table(shared, text(child(records, "name")), place, count, bad, buckets=given)


def _number(points: pa.StructArray) -> tuple[pa.Array, Mask]:
    whole = child(points, "asInt")
    of_whole = integers(whole)
    bad = pc.and_(whole.is_valid(), of_whole.is_null()).to_numpy(zero_copy_only=False)
    return pc.coalesce(child(points, "asDouble"), of_whole.cast(pa.float64(), safe=False)), bad


def _shared(metrics: RecordRows, kind: str, records: pa.StructArray, owner: Index, points: pa.StructArray) -> _Shared:
    """What both readings of a histogram share: columns, what of them cannot be read, and where nothing was recorded."""
    unreadable: dict[str, Mask] = {}
    columns = {
        "line": metrics.columns["line"].take(pa.array(owner)),
        "description": text(child(records, "description")),
        "type": _types(kind, records),
        "temporality": _temporality(kind, records),
    }
    for name, emitted in (("start_ns", "startTimeUnixNano"), ("time_ns", "timeUnixNano")):
        columns[name], bad = nanoseconds(child(points, emitted))
        if bad is not None:
            unreadable[emitted] = bad
    columns["labels"] = _labels(child(points, "attributes"))
    flags = codes(child(points, "flags")).to_numpy(zero_copy_only=False)
    return columns, unreadable, (flags & _NO_RECORDED_VALUE) != 0


def _types(kind: str, records: pa.StructArray) -> pa.Array:
    """gauge, counter or histogram, as Prometheus calls them: a sum that may fall is a gauge."""
    if kind != "sum":
        return pa.array([kind] * len(records), pa.string())
    rises = child(child(records, "sum"), "isMonotonic").fill_null(False)
    return pc.if_else(rises, "counter", "gauge")


def _temporality(kind: str, records: pa.StructArray) -> pa.Array:
    if kind == "gauge":
        return pa.nulls(len(records), pa.string())
    temporality = codes(child(child(records, kind), "aggregationTemporality"))
    return pc.if_else(pc.equal(temporality, 1), "delta", pc.if_else(pc.equal(temporality, 2), "cumulative", None))


def _labels(attributes: pa.ListArray) -> pa.Array:
    entries, parents = children(attributes)
    values = child(entries, "value")
    read = coalesce({name: child(values, name) for name in MEMBERS}, "string", len(entries))
    labels = pl.DataFrame({"row": parents.astype(np.uint32), "name": child(entries, "key"), "value": read})
    return label_texts(labels.drop_nulls(), len(attributes)).to_arrow().cast(pa.string())


def _table(  # noqa: PLR0913
    shared: _Shared,
    name: pa.Array,
    position: Index,
    value: pa.Array,
    bad: Mask,
    *,
    buckets: Mapping[str, pa.Array] | None = None,
) -> pa.Table:
    columns, masks, not_recorded = shared
    unreadable = pa.nulls(len(value), pa.string())
    for field, mask in {"value": bad, **masks}.items():
        unreadable = pc.if_else(pa.array(mask), field, unreadable)
    given = {
        **columns,
        "emitted": name,
        "position": pa.array(position, pa.int32()),
        "value": pc.if_else(pa.array(not_recorded), None, value),
        "unreadable": unreadable,
        **(buckets or {name: pa.nulls(len(value), kind) for name, kind in _OF_HISTOGRAMS.items()}),
    }
    return pa.table({column: given[column] for column in POINT_COLUMNS})
