"""Which hours of the cost ledger cost records touch: those that they call for, and what makes one stale.

The arithmetic is sql/measure/cost_ledger/.
"""

import math
from bisect import bisect_right
from collections.abc import Collection, Mapping
from functools import lru_cache

import pyarrow as pa

from goodput.contracts import arrow_schema
from goodput.plumbing.catalog import ALL
from goodput.plumbing.hours import HOUR_NS, HOUR_S, epoch_hour, hour_label
from goodput.plumbing.node import Batch, Context, hours_in
from goodput.plumbing.parameters import as_rows
from goodput.plumbing.sql_files import connect, read_parts

_DAY_H = 24


def billed_range(context: Context) -> tuple[int, int]:
    """The hours since the Unix epoch, from and until, of the UTC days from the first to the last with telemetry.

    Their bills are in the ledger; those of other days are outside (docs/semantics.md#reconciliation). A reading that is
    dated ahead makes no last day.
    """
    last_ns = max(context.observed_ns[1], context.now_ns)
    sampled = context.lake.catalog["replica_samples"].filled
    # this is asked for each hour: of those that are not ahead the first and the last tell
    ahead = bisect_right(sampled, last_ns // HOUR_NS, key=epoch_hour)
    hours = [epoch_hour(sampled[place]) for place in (0, ahead - 1) if ahead]
    if context.observed_ns[1]:
        hours += [instant // HOUR_NS for instant in context.observed_ns]
    if not hours:
        return 0, 0
    return min(hours) // _DAY_H * _DAY_H, (max(hours) // _DAY_H + 1) * _DAY_H


def billed_days(context: Context, _batch: Batch) -> pa.Table:
    """The same in Unix seconds, as SQL reads it."""
    first, until = billed_range(context)
    return as_rows("billed_days", {"from_s": first * HOUR_S, "until_s": until * HOUR_S})


def closed_time(context: Context, _batch: Batch) -> pa.Table:
    """Until when hours are closed: what bills say of them later is in no bucket."""
    return as_rows("closed_time", {"until_s": context.pruned.closed_until_s})


def billed_hours(context: Context) -> Collection[str]:
    """Hours of these days that a cost record overlaps."""
    return bills_of(context).keys()


def bills_of(context: Context) -> Mapping[str, int]:
    """A hash of the cost records that overlap each hour of these days."""
    return _hashes(only_file(context, "cost_records"), *billed_range(context))


@lru_cache(maxsize=4)
def _hashes(file: str | None, first: int, until: int) -> Mapping[str, int]:
    with connect() as connection:
        read_parts(connection, "cost_records", [file] if file else [], arrow_schema("cost_records"))
        rows = connection.execute(
            """
            SELECT hour, bit_xor(record) FROM (
                SELECT
                    hash(
                        dialect, basis, period_start, period_end, amount_usd, gpu_s,
                        list_transform(
                            [
                                cost_id, charge_category,
                                replica, pool, model, workload, route, tenant, request_key, session_id
                            ],
                            lambda name: text_hash(name)
                        )
                    ) AS record,
                    unnest(range(
                        greatest(epoch_us(period_start) // 3600000000, $first),
                        least(greatest(epoch_us(period_end) - 1, epoch_us(period_start)) // 3600000000 + 1, $until)
                    )) AS hour
                FROM cost_records
            ) GROUP BY hour
            """,
            {"first": first, "until": until},
        ).fetchall()
    return {hour_label(hour): record for hour, record in rows}


def request_partitions(context: Context, hour: str) -> Collection[str]:
    """Hours of requests that an hour of the ledger reads: those that its records name may have ended long before."""
    number, reach = epoch_hour(hour), context.request_reach_h
    lateness_h = math.ceil(context.settings.label_lateness_s / 3600)
    ends = _named_ends(only_file(context, "cost_records")).get(number)
    first, last = (min(number, ends[0] - lateness_h), max(number, ends[1])) if ends else (number, number)
    return [hour_label(one) for one in range(first, last + reach + 1)]


def wasted_request_partitions(context: Context, partition: str) -> Collection[str]:
    """Hours of requests that waste reads: its own; with slices by tenant or attribute, those that the ledger reads."""
    hours = hours_in(partition)
    if not context.settings.slices.by:
        return hours
    return set().union(*(request_partitions(context, hour) for hour in hours))


@lru_cache(maxsize=4)
def _named_ends(file: str | None) -> Mapping[int, tuple[int, int]]:
    """The hours of the first and the last ends of records that overlap an hour and name a request or session."""
    with connect() as connection:
        read_parts(connection, "cost_records", [file] if file else [], arrow_schema("cost_records"))
        rows = connection.execute(
            """
            SELECT hour, min(last), max(last) FROM (
                SELECT greatest(epoch_us(period_end) - 1, epoch_us(period_start)) // 3600000000 AS last,
                    unnest(range(epoch_us(period_start) // 3600000000, last + 1)) AS hour
                FROM cost_records
                WHERE coalesce(request_key, session_id) IS NOT NULL
            ) GROUP BY hour
            """
        ).fetchall()
    return {hour: (first, last) for hour, first, last in rows}


def only_file(context: Context, table: str) -> str | None:
    """The file of a table without partitions."""
    return next(iter(context.lake.catalog[table].files([ALL])), None)
