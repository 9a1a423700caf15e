"""Reconciles bills with the ledger day by day: which days there are, what makes one stale, and their parts.

The arithmetic is sql/measure/reconciliation.sql.
"""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from functools import lru_cache

import pyarrow as pa

from goodput.contracts import arrow_schema, contract
from goodput.measure.bills import billed_range, only_file
from goodput.plumbing.compute import compute_each, load
from goodput.plumbing.hours import HOUR_S, epoch_hour, hours_of_day
from goodput.plumbing.node import Batch, Context, Parts
from goodput.plumbing.sql_files import connect, read_parts

TABLE = "reconciliation"


def reconcile_days(batch: Batch) -> Parts:
    """Write the part of each day of the batch."""
    with connect() as connection:
        compute_each(connection, batch.node.name, [TABLE], load(connection, batch))
        found = connection.sql(f"FROM {TABLE} ORDER BY {contract(TABLE).order}").to_arrow_table()
    days_us = found.column("day_start").cast(pa.int64()).to_numpy()
    parts = {}
    for day in batch.partitions:
        mine = found.filter(pa.array(days_us == epoch_hour(hours_of_day(day)[0]) * HOUR_S * 10**6))
        parts[day] = batch.write(TABLE, day, mine.cast(arrow_schema(TABLE)))
    return {TABLE: parts}


def billed_days_of_all_time(context: Context) -> Collection[str]:
    """Days that a cost record overlaps, with or without telemetry."""
    return _hashes(only_file(context, "cost_records")).keys()


def bills_of_day(context: Context, day: str) -> object:
    """The cost records of a day, and whether the ledger has them."""
    first, until = billed_range(context)
    is_covered = first <= epoch_hour(hours_of_day(day)[0]) < until
    return _hashes(only_file(context, "cost_records")).get(day), is_covered


@lru_cache(maxsize=4)
def _hashes(file: str | None) -> Mapping[str, int]:
    """A hash of the cost records that overlap each day."""
    with connect() as connection:
        read_parts(connection, "cost_records", [file] if file else [], arrow_schema("cost_records"))
        rows = connection.execute(
            """
            SELECT day, bit_xor(record) FROM (
                SELECT
                    hash(dialect, text_hash(cost_id), basis, period_start, period_end, amount_usd) AS record,
                    unnest(range(
                        epoch_us(period_start) // 86400000000,
                        greatest(epoch_us(period_end) - 1, epoch_us(period_start)) // 86400000000 + 1
                    )) AS day
                FROM cost_records
            ) GROUP BY day
            """
        ).fetchall()
    return {datetime.fromtimestamp(day * 86400, UTC).strftime("%Y-%m-%d"): record for day, record in rows}
