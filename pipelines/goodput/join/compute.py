"""Joins a batch of hours: runs the join's SQL over the conformed parts of the hours and their neighbours."""

from collections.abc import Iterable, Sequence

import duckdb
import pyarrow as pa

from goodput.join.staleness import RELATIONS, TABLES, JoinInputs, files_of
from goodput.join.workloads import workload_rows
from goodput.plumbing.candidates import write_candidates
from goodput.plumbing.contracts import arrow_schema, contract
from goodput.plumbing.hours import epoch_hour, neighbours
from goodput.plumbing.parameters import register
from goodput.plumbing.sql_files import compute, connect, read_parts

_HOUR_OF = {
    "attempts": "epoch_us(request_at) // 3600000000",
    "requests": "epoch_us(coalesce(ended_at, arrived_at)) // 3600000000",
    "session_hours": "epoch_hour",
    "quality_labels": "epoch_us(request_at) // 3600000000",
    "source_rows": "epoch_hour",
}
_ORDER_OF = {
    "attempts": "request_at, attempt_id",
    "requests": "ended_at, request_key",
    "session_hours": "session_id, workload",
    "quality_labels": "label_id",
    "source_rows": "source_id",
}


def join_hours(inputs: JoinInputs, hours: Sequence[str]) -> dict[str, int]:
    """Write candidate parts of each of TABLES for `hours`; rows by table.

    The parts are pure functions of the conformed parts of the hours and their neighbours (semantics 9).
    """
    with connect() as connection:
        _load(connection, inputs, hours)
        for relation in RELATIONS:
            compute(connection, relation)
        return {table: _write(connection, inputs, table, hours) for table in TABLES}


def _load(connection: duckdb.DuckDBPyConnection, inputs: JoinInputs, hours: Iterable[str]) -> None:
    targets = sorted(hours)
    around = neighbours(targets, inputs.reach, inputs.reach)
    lateness = int(inputs.settings.label_lateness_s // 3600)
    first, last = epoch_hour(targets[0]) - inputs.reach, epoch_hour(targets[-1]) + lateness
    labelled = [hour for hour in inputs.parts["label_records"] if first <= epoch_hour(hour) <= last]
    wanted = {"serving_records": around, "span_links": around, "label_records": labelled}
    for table, near in wanted.items():
        read_parts(connection, table, files_of(inputs.parts[table], near), arrow_schema(table))
    options = {
        "latency_origin": [inputs.settings.latency_origin],
        "max_request_lifetime_ns": [round(inputs.settings.max_request_lifetime_s * 1e9)],
        "label_lateness_ns": [round(inputs.settings.label_lateness_s * 1e9)],
        "observed_until_ns": [inputs.observed[1]],
    }
    register(connection, "options", pa.table(options))
    register(connection, "workload_rules", workload_rows(inputs.settings))


def _write(connection: duckdb.DuckDBPyConnection, inputs: JoinInputs, table: str, hours: Sequence[str]) -> int:
    rows = _rows_of(connection, table, [epoch_hour(hour) for hour in hours])
    return write_candidates(inputs.lake, table, rows, {hour: inputs.of_hour(hour) for hour in hours})


def _rows_of(connection: duckdb.DuckDBPyConnection, table: str, hours: Sequence[int]) -> pa.Table:
    """Rows of a table hour by hour; hours are counted from the Unix epoch."""
    register(connection, "target_hours", pa.table({"epoch_hour": list(hours)}))
    columns = "*" if table == "source_rows" else ", ".join(f'"{column.name}"' for column in contract(table).columns)
    rows = connection.sql(
        f'SELECT {columns}, {_HOUR_OF[table]} AS hour FROM "{table}" '  # noqa: S608  (identifiers of the contract)
        f"WHERE {_HOUR_OF[table]} IN (SELECT epoch_hour FROM target_hours) ORDER BY hour, {_ORDER_OF[table]}"
    ).to_arrow_table()
    return rows if table == "source_rows" else rows.cast(arrow_schema(table).append(rows.schema.field("hour")))
