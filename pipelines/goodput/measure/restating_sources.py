"""Which files may have changed a published window: those read since that hold rows of it or near it."""

import json
from collections.abc import Sequence
from datetime import datetime

import polars as pl

from goodput.plumbing import source_ledger
from goodput.plumbing.catalog import ALL
from goodput.plumbing.hours import HOUR_S, epoch_hour
from goodput.plumbing.node import Context, hours_in

_MOST = 20  # of one window: who reads more asks relation `sources`


class RestatingSources:
    """Files by when they were read and which hours their rows are of."""

    def __init__(self, context: Context) -> None:
        lateness_h = int(context.settings.label_lateness_s // HOUR_S) + 1
        self._before_h, self._after_h = context.request_reach_h, context.request_reach_h + lateness_h
        columns = ["path", "ingested_ns", "partitions"]
        self._sources = source_ledger.read_frame(context.lake, columns).sort("ingested_ns", "path")

    def of(self, partition: str, since: datetime) -> Sequence[str]:
        """Paths of at most 20 files read after `since` that may have changed a partition, in the order of reading."""
        read = self._sources.filter(pl.col("ingested_ns") > round(since.timestamp() * 1e9))
        hours = hours_in(partition)
        first, last = epoch_hour(hours[0]) - self._before_h, epoch_hour(hours[-1]) + self._after_h
        found = [path for path, _, partitions in read.iter_rows() if _touches(json.loads(partitions), first, last)]
        return found[:_MOST]


def _touches(partitions: dict[str, list[str]], first: int, last: int) -> bool:
    return any(hour == ALL or first <= epoch_hour(hour) <= last for hours in partitions.values() for hour in hours)
