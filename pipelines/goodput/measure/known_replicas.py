"""Replicas that telemetry shows, hour by hour, and those that bills name in hours in which it does not show them.

A replica or pool that telemetry knows within a day is itself in an hour without telemetry of it: what is billed for it
then is its idle time (docs/semantics.md#what-a-replica-costs). A bill may call it by any of its names.
"""

from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import duckdb
import pyarrow as pa

from goodput.contracts import arrow_schema
from goodput.measure.bills import only_file
from goodput.plumbing.catalog import Table
from goodput.plumbing.gathered import gathered
from goodput.plumbing.hours import epoch_hour
from goodput.plumbing.lake import Lake
from goodput.plumbing.node import OWN_HOURS, Batch, Context, Lookaround
from goodput.plumbing.parameters import as_rows
from goodput.plumbing.sql_files import compute, connect, read_parts

Absent = Mapping[int, list[dict[str, Any]]]


def lookaround(context: Context) -> Mapping[str, Lookaround]:
    """Attempts that were in flight in an hour, its readings, and what it and the hours beside it call replicas."""
    reach = context.request_reach_h
    return {
        "attempts": Lookaround(1, reach, calls=(reach, 0)),
        "replica_samples": OWN_HOURS,
        "replica_names": Lookaround(1, 1, calls=(0, 0)),
    }


def absent_replicas(context: Context, batch: Batch) -> pa.Table:
    """Replicas that bills name in the hours of a batch, that telemetry knows within a day of them and not in them."""
    found = _absent_of(context)
    rows = [row for hour in batch.hours for row in found.get(epoch_hour(hour), ())]
    return as_rows("absent_replicas", *rows)


def absent_in(context: Context, hour: str) -> object:
    """The same of one hour."""
    return _absent_of(context).get(epoch_hour(hour))


def _absent_of(context: Context) -> Absent:
    file = only_file(context, "cost_records")
    known = context.lake.catalog["known_replicas"]
    return _absent(file, context.lake, known, known.version) if file else {}


@lru_cache(maxsize=2)
def _absent(bills: str, lake: Lake, _known: Table, _version: int) -> Absent:
    """By hour, of one version of the table: it is asked for each hour."""
    with connect() as connection:
        read_parts(connection, "cost_records", [bills], arrow_schema("cost_records"))
        connection.register("known_replicas", gathered(lake, "known_replicas"))  # it has a part for each hour
        rows = absent(connection)
    found = defaultdict(list)
    for row in rows:
        found[row["epoch_hour"]].append(row)
    return found


def absent(connection: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    """Rows of `absent_replicas` for the `cost_records` and `known_replicas` of a connection."""
    compute(connection, "absent_hours")
    rows: list[dict[str, Any]] = connection.sql("FROM absent_hours ORDER BY ALL").to_arrow_table().to_pylist()
    return rows
