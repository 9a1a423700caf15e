"""Finds the hours that newly arrived labels judge, so that only those are joined again.

See docs/semantics.md#labels, #time-and-restatement.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from goodput.contracts import arrow_schema
from goodput.plumbing.catalog import ALL
from goodput.plumbing.hours import HOUR_S, epoch_hour, hour_label
from goodput.plumbing.node import Batch, Context, Parts, request_reach_h
from goodput.plumbing.part_rows import read_part
from goodput.plumbing.sql_files import connect, read_parts, sql_file
from goodput.settings.model import Settings

TABLE = "judged_hours"
LABEL_HOURS = "label_hours"


def judge_hours(batch: Batch) -> Parts:
    """Look up what the labels of each hour judge that has gained labels since; the other hours stay as they were."""
    known = _rows(batch.files(TABLE))
    contents = dict(zip(*batch.relations[LABEL_HOURS].to_pydict().values(), strict=True))
    pairs = zip(known["label_hour"].to_pylist(), known["label_content"].to_pylist(), strict=True)
    is_current = [contents.get(hour) == content for hour, content in pairs]
    kept = known.filter(pa.array(is_current, pa.bool_()))
    looked_up = set(kept["label_hour"].to_pylist())
    found = _judged(batch, {hour: contents[hour] for hour in sorted(contents) if hour not in looked_up})
    rows = pa.concat_tables([kept, found]).sort_by(
        [("label_hour", "ascending"), ("source_id", "ascending"), ("epoch_hour", "ascending")]
    )
    return {TABLE: {ALL: batch.write(TABLE, ALL, rows)}}


def label_hours(context: Context, _batch: Batch) -> pa.Table:
    """The hours that have labels, and what these are."""
    contents = context.lake.catalog["label_records"].contents
    columns = [pa.array(values, pa.string()) for values in (list(contents), list(contents.values()))]
    return pa.table(columns, names=["label_hour", "label_content"])


def _judged(batch: Batch, label_contents: Mapping[str, str]) -> pa.Table:
    """What the labels of some hours judge, by one look at the records that may be meant."""
    schema, hours = arrow_schema(TABLE), list(label_contents)
    if not hours:
        return schema.empty_table()
    first = epoch_hour(hours[0]) - _lateness_h(batch.settings)
    last = epoch_hour(hours[-1]) + request_reach_h(batch.settings)
    near = _within(batch.inputs["serving_records"], first, last)
    with connect() as connection:
        for name, partitions in (("label_records", hours), ("serving_records", near)):
            files = batch.files(name, partitions)
            read_parts(connection, name, files, arrow_schema(name), alike=name in batch.alike)
        found = connection.sql(sql_file(TABLE).text).to_arrow_table()
    judging = [hour_label(number) for number in found["label_epoch_hour"].to_pylist()]
    contents = [label_contents[hour] for hour in judging]
    columns = [pa.array(judging), pa.array(contents), found["source_id"], found["epoch_hour"]]
    return pa.table(columns, names=schema.names).cast(schema)


def label_partitions(context: Context, hour: str) -> Collection[str]:
    """Partitions of label records that may judge requests of an hour."""
    first = epoch_hour(hour) - context.request_reach_h
    last = epoch_hour(hour) + _lateness_h(context.settings)
    return _within(context.lake.catalog["label_records"].parts, first, last)


def _lateness_h(settings: Settings) -> int:
    """How many hours after the hour of a request a label of it may lie."""
    return math.ceil(settings.label_lateness_s / HOUR_S)


def judging_sources(context: Context) -> Mapping[str, list[str]]:
    """Label sources that may judge requests of each hour: those with a label of a record that may end in it."""
    table = context.lake.catalog[TABLE]
    path = next(iter(table.all_files()), None)
    return {} if path is None else _judging(path, context.request_reach_h)


@lru_cache(maxsize=4)
def _judging(path: str, reach_h: int) -> Mapping[str, list[str]]:
    rows = read_part(Path(path), TABLE, ["source_id", "epoch_hour"])
    rows = rows.filter(pc.is_valid(rows["epoch_hour"]))
    found: dict[str, set[str]] = {}
    for source_id, hour in zip(rows["source_id"].to_pylist(), rows["epoch_hour"].to_pylist(), strict=True):
        for later in range(reach_h + 1):
            found.setdefault(hour_label(hour + later), set()).add(source_id)
    return {hour: sorted(sources) for hour, sources in found.items()}


def _within(partitions: Iterable[str], first: int, last: int) -> list[str]:
    return [hour for hour in partitions if first <= epoch_hour(hour) <= last]


def _rows(files: Iterable[str]) -> pa.Table:
    found = [read_part(Path(file), TABLE) for file in files]
    return pa.concat_tables([arrow_schema(TABLE).empty_table(), *found])
