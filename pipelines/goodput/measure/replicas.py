"""Computes the relations of replicas by window; the arithmetic is sql/measure/replica_windows/ and its neighbours."""

from collections.abc import Mapping

from goodput.measure.part_hours import with_part_hour
from goodput.plumbing.compute import load, write_table
from goodput.plumbing.node import Batch, Context, Lookaround, Parts
from goodput.plumbing.sql_files import compute, connect


def lookaround(context: Context) -> Mapping[str, Lookaround]:
    """Attempts in flight, and readings up to staleness_s away, which is at most an hour."""
    reach = context.request_reach_h
    return {"attempts": Lookaround(reach, reach, calls=(reach, 0)), "replica_samples": Lookaround(1, 1, calls=(0, 0))}


def compute_windows(batch: Batch) -> Parts:
    """Measure the windows of replicas of a batch."""
    with connect() as connection:
        load(connection, batch)
        with_part_hour(connection, batch.files("attempts"))
        for name in batch.node.relations:
            compute(connection, name)
        return {table: write_table(connection, batch, table) for table in batch.node.tables}
