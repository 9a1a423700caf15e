"""Which files may have changed a published window: those read since that hold rows of it or near it."""

from collections.abc import Sequence
from datetime import datetime

import polars as pl

from goodput.plumbing import row_table, source_ledger
from goodput.plumbing.catalog import ALL
from goodput.plumbing.hours import HOUR_S, shifted
from goodput.plumbing.node import Batch, hours_in, request_reach_h

_MOST = 20  # of one window: who reads more asks relation `sources`
_PARTITION = rf'"(\d{{4}}-\d\d-\d\dT\d\d|{ALL})"'  # an hour in a source's partitions, or the whole of a table


class RestatingSources:
    """Files by when they were read and which hours their rows are of."""

    def __init__(self, batch: Batch) -> None:
        lateness_h, reach_h = int(batch.settings.label_lateness_s // HOUR_S) + 1, request_reach_h(batch.settings)
        self._before_h, self._after_h = reach_h, reach_h + lateness_h
        ledger = batch.files(source_ledger.TABLE)
        sources = row_table.read_files(ledger, source_ledger.TABLE, ["path", "ingested_ns", "partitions"])
        hours = pl.col("partitions").str.extract_all(_PARTITION).list.eval(pl.element().str.strip_chars('"'))
        self._hours = (
            sources.sort("ingested_ns", "path").select("path", "ingested_ns", hour=hours).explode("hour").drop_nulls()
        )

    def of(self, partition: str, since: datetime) -> Sequence[str]:
        """Paths of at most 20 files read after `since` that may have changed a partition, in the order of reading."""
        hours = hours_in(partition)
        first, last = shifted(hours[0], -self._before_h), shifted(hours[-1], self._after_h)
        read = pl.col("ingested_ns") > round(since.timestamp() * 1e9)
        near = pl.col("hour").is_between(pl.lit(first), pl.lit(last)) | (pl.col("hour") == ALL)
        found: list[str] = self._hours.filter(read & near)["path"].unique(maintain_order=True).head(_MOST).to_list()
        return found
