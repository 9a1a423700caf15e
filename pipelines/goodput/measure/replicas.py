"""Computes the relations of replicas by window; the arithmetic is sql/measure/replica_windows/ and its neighbours."""

from collections.abc import Mapping

import pyarrow as pa

from goodput.measure.part_hours import with_part_hour
from goodput.plumbing.compute import load, write_table
from goodput.plumbing.node import Batch, Context, Lookaround, Parts, SettingsTable
from goodput.plumbing.parameters import as_rows
from goodput.plumbing.sql_files import compute, connect
from goodput.settings.model import Settings


def lookaround(context: Context) -> Mapping[str, Lookaround]:
    """Attempts in flight, and readings up to staleness_s away, which is at most an hour."""
    reach = context.request_reach_h
    return {"attempts": Lookaround(reach, reach, calls=(reach, 0)), "replica_samples": Lookaround(1, 1, calls=(0, 0))}


def cache_options(settings: Settings) -> pa.Table:
    """How much of a prompt must come from the cache for a hit."""
    return as_rows("cache_options", {"hit_min_ratio": settings.cache_hit_min_ratio})


def context_options(settings: Settings) -> pa.Table:
    """How many tokens of input make a long context."""
    return as_rows("context_options", {"long_context_tokens": settings.long_context_tokens})


def compute_windows(batch: Batch) -> Parts:
    """Measure the windows of replicas of a batch."""
    with connect() as connection:
        load(connection, batch)
        with_part_hour(connection, batch.files("attempts"))
        for name in batch.node.relations:
            compute(connection, name)
        return {table: write_table(connection, batch, table) for table in batch.node.tables}


SETTINGS_TABLES: Mapping[str, SettingsTable] = {
    "cache_options": cache_options,
    "context_options": context_options,
}
