"""Flattens decoded OTLP metrics to one row per reading: a number, or the count or the sum of a histogram.

What a metric's name means is for the dialects to say; only the points of names that one of them knows are given.
"""

from collections.abc import Collection, Iterator, Sequence

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from goodput.collect.label_sets import label_texts
from goodput.collect.otlp.attributes import Wanted
from goodput.collect.otlp.fields import COUNTED, METRIC, METRICS
from goodput.collect.otlp.leaves import codes, nanoseconds, text
from goodput.collect.otlp.nested import Index, child, children, ordinals
from goodput.collect.otlp.records import Mask, Rows, flatten
from goodput.collect.otlp.values import MEMBERS, coalesce, integers

POINT_COLUMNS = (
    *("line", "position", "emitted", "description", "type", "temporality", "start_ns", "time_ns", "value", "labels"),
    "unreadable",
)
HISTOGRAM_READINGS = ("count", "sum")  # each a row of its own, named as Prometheus names them
_NO_RECORDED_VALUE = 1  # flag of a point that says only that its series has ended
_Shared = tuple[dict[str, pa.Array], dict[str, Mask], Mask]


def points_table(
    batches: pa.ListArray, lines: Index, names: Collection[str], resource_keys: Sequence[Wanted]
) -> tuple[pa.Table | None, int]:
    """Readings of the metrics called by `names`, and how many readings there are of any name.

    Columns POINT_COLUMNS and one per resource key; None where no metric has one of the names. `value` is null where
    none was recorded. A histogram `x` gives readings `x_count` and `x_sum`; of other types points are only counted.
    """
    metrics = flatten(batches, lines, METRICS)
    starts, total = _positions(metrics)
    of_histograms = {name.rpartition("_")[0] for name in names if name.endswith(("_count", "_sum"))}
    wanted = {"gauge": names, "sum": names, "histogram": of_histograms}
    called = child(metrics.records, "name")
    parts = [
        part
        for kind, known in wanted.items()
        for part in _readings(metrics, kind, pc.is_in(called, value_set=pa.array(sorted(known), pa.string())), starts)
    ]
    if not parts:
        return None, total
    metrics_of = np.concatenate([owner for owner, _ in parts])
    table = pa.concat_tables([part for _, part in parts], promote_options="permissive")
    metrics.columns = {}
    metrics.unreadable = {}
    metrics.add_resource_attributes(resource_keys)
    indices = pa.array(metrics_of)
    for name, column in metrics.columns.items():
        table = table.append_column(name, column.take(indices))
    return table.sort_by([("line", "ascending"), ("position", "ascending")]), total


def metric_names(batches: pa.ListArray, lines: Index) -> frozenset[str]:
    """The names of all metrics; of a histogram those of its readings."""
    metrics = flatten(batches, lines, METRICS).records
    histograms = child(metrics, "histogram").is_valid()
    plain, of_histograms = (
        pc.unique(child(metrics, "name").filter(chosen)).drop_null().to_pylist()
        for chosen in (pc.invert(histograms), histograms)
    )
    return frozenset(plain) | {f"{name}_{reading}" for name in of_histograms for reading in HISTOGRAM_READINGS}


def _lists(metrics: Rows, kind: str) -> pa.ListArray:
    return child(child(metrics.records, kind), "dataPoints")


def _positions(metrics: Rows) -> tuple[Index, int]:
    """Of each metric the position of its first reading within its line, and the number of all readings."""
    counts = np.zeros(len(metrics.records), dtype=np.int64)
    for item in METRIC.fields:
        if item.name in ("gauge", "sum", "histogram") or item.type is COUNTED:
            lengths = pc.list_value_length(_lists(metrics, item.name)).fill_null(0).to_numpy(zero_copy_only=False)
            counts += lengths * (len(HISTOGRAM_READINGS) if item.name == "histogram" else 1)
    starts = np.cumsum(counts) - counts
    first_of_line = np.searchsorted(metrics.line_of, metrics.line_of)
    return starts - starts[first_of_line] if len(starts) else starts, int(counts.sum())


def _readings(metrics: Rows, kind: str, wanted: pa.Array, starts: Index) -> Iterator[tuple[Index, pa.Table]]:
    """The readings of one type of metric, and for each the index of its metric."""
    chosen = np.flatnonzero(wanted.fill_null(False).to_numpy(zero_copy_only=False))
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


def _number(points: pa.StructArray) -> tuple[pa.Array, Mask]:
    whole = child(points, "asInt")
    of_whole = integers(whole)
    bad = pc.and_(whole.is_valid(), of_whole.is_null()).to_numpy(zero_copy_only=False)
    return pc.coalesce(child(points, "asDouble"), of_whole.cast(pa.float64(), safe=False)), bad


def _shared(metrics: Rows, kind: str, records: pa.StructArray, owner: Index, points: pa.StructArray) -> _Shared:
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
    said = codes(child(child(records, kind), "aggregationTemporality"))
    return pc.if_else(pc.equal(said, 1), "delta", pc.if_else(pc.equal(said, 2), "cumulative", None))


def _labels(attributes: pa.ListArray) -> pa.Array:
    entries, parents = children(attributes)
    values = child(entries, "value")
    read = coalesce({name: child(values, name) for name in MEMBERS}, "string", len(entries))
    labels = pl.DataFrame({"row": parents.astype(np.uint32), "name": child(entries, "key"), "value": read})
    return label_texts(labels.drop_nulls(), len(attributes)).to_arrow().cast(pa.string())


def _table(shared: _Shared, name: pa.Array, position: Index, value: pa.Array, bad: Mask) -> pa.Table:
    columns, masks, not_recorded = shared
    unreadable = pa.nulls(len(value), pa.string())
    for said, mask in {"value": bad, **masks}.items():
        unreadable = pc.if_else(pa.array(mask), said, unreadable)
    given = {
        **columns,
        "emitted": name,
        "position": pa.array(position, pa.int32()),
        "value": pc.if_else(pa.array(not_recorded), None, value),
        "unreadable": unreadable,
    }
    return pa.table({column: given[column] for column in POINT_COLUMNS})
