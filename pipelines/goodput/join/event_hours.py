"""The hours around operations whose events name a replica, or what may be a name of one."""

from collections.abc import Collection
from functools import lru_cache

import polars as pl

from goodput.plumbing.hours import HOUR_NS, hour_label
from goodput.plumbing.node import Context
from goodput.plumbing.row_table import read_files


def event_hours(context: Context, _partition: str) -> Collection[str]:
    """Hours whose names of replicas events are read with: their own and those beside them."""
    return _hours(tuple(context.lake.catalog["event_records"].all_files()))


@lru_cache(maxsize=2)
def _hours(files: tuple[str, ...]) -> frozenset[str]:
    events = read_files(files, "event_records", ["occurred_ns", "replica", "pool", "subject"])
    naming = events.filter(pl.col("replica").is_not_null() | (pl.col("pool") == pl.col("subject")))
    hours = naming.select(pl.col("occurred_ns") // HOUR_NS).to_series().unique()
    return frozenset(hour_label(hour + beside) for hour in hours for beside in (-1, 0, 1))
