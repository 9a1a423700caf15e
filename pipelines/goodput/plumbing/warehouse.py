"""goodput.duckdb, what users open: measured tables inside, views over the larger Parquet, a comment on everything.

Only how it is built belongs here; built beside and renamed over, so that readers and the pipeline never wait.
"""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import duckdb
import pyarrow as pa

from goodput.errors import LakeUnwritable
from goodput.plumbing.contracts import Column, arrow_schema, contract
from goodput.plumbing.lake import Lake, write_atomically, write_parquet
from goodput.plumbing.ledger import LEDGER_SCHEMA
from goodput.plumbing.sql_files import connect, parquet, quoted, read_parts, sql_file
from goodput.settings.gates import GATES

VIEWS = {
    "attempts": "joined",
    "requests": "joined",
    "quality_labels": "joined",
    "replica_samples": "joined",
    "cost_ledger": "measured",
    "serving_records": "conformed",
    "deliveries": "notified",
}
TABLES = {
    "ops_events": "joined",
    "cost_records": "joined",
    "token_prices": "joined",
    "coverage": "measured",
    "waste": "measured",
    "goodput": "measured",
    "gate_failures": "measured",
    "frontier": "measured",
    "cache_by_replica": "measured",
    "replica_windows": "measured",
    "disruptions": "measured",
    "disruption_cost": "measured",
    "disruption_frequency": "measured",
    "restatements": "measured",
    "quarantine": "conformed",
    "alarms": "monitored",
    "alarm_events": "monitored",
    "alarm_series": "monitored",
    "alarm_power": "monitored",
}
_ALSO = {"quality_labels": "session_labels"}  # rows of a view that another table of its layer holds
_COUNTED = ("label_records", "event_records", "cost_lines", "price_lines")  # of the ledger, beside source_rows
# Views whose arithmetic is sql/: with the joined table that each reads besides what is in the database.
DERIVED = {"sessions": "session_hours", "binding_gate": None, "accepted_units": None}
MACROS = {"replicas_for": "peak_rps, headroom := 1.2"}
SOURCE_ROWS = pa.schema(
    [
        ("source_id", pa.string()),
        ("epoch_hour", pa.int64()),
        ("records", pa.int64()),
        ("duplicates", pa.int64()),
    ]
)
_WORKLOADS = "The gates of each workload as the settings give them: one row per gate, or one without a gate"
_WORKLOAD_COLUMNS = {
    "workload": "Name of the workload",
    "gate": f"A gate that is set: {', '.join(GATES[1:-1])} or {GATES[-1]}",
    "bound": "Largest value that passes, seconds or retries; of quality the least score, NULL where none is set",
    "unit": "What goodput counts of the workload: request or session",
    "unit_label": "What an accepted one is called",
}
_ORDER = {
    "coverage": "window_start, replica",
    "waste": "window_s, window_start, slice, workload, model, pool, route, bucket",
    "cache_by_replica": "window_s, window_start, replica",
    "replica_windows": "window_s, window_start, replica",
    "disruptions": "occurred_at, event_id",
    "disruption_cost": "kind, pool",
    "disruption_frequency": "kind, pool, events_per_day",
    "goodput": "window_s, window_start, slice, workload, model, pool, route",
    "gate_failures": "window_s, window_start, slice, workload, model, pool, route, gate",
    "frontier": "slice, pool, route, load_bin",
    "restatements": "restated_at, window_s, window_start, slice, workload, model, pool, route",
    "quarantine": "path, line, position",
    "ops_events": "occurred_at, event_id",
    "cost_records": "period_start, cost_id",
    "token_prices": "model, valid_from",
    "alarms": "rule, workload, pool, replica",
    "alarm_events": "occurred_at, alarm_id, transition, event_id",
    "alarm_series": "alarm_id, window_start",
    "alarm_power": "rule, workload, pool, replica",
}
_OWN_TIME = ("deliveries",)  # written between runs too: the view reads the file that is there when it is asked


def publish(lake: Lake, known_sources: Iterable[str], workloads: pa.Table) -> dict[str, int]:
    """Build goodput.duckdb from the lake and put it in the place of the old one; rows by table.

    `workloads` has a row per workload and gate (workload, gate, bound); parts of sources not in `known_sources`
    are left out. Raises LakeUnwritable.
    """
    known = set(known_sources)
    rows: dict[str, int] = {}

    def build(temporary: Path) -> None:
        log = temporary.with_name(f"{temporary.name}.wal")
        temporary.unlink(missing_ok=True)
        log.unlink(missing_ok=True)  # of a run that was killed; DuckDB would replay it
        try:
            with connect(str(temporary)) as connection:
                connection.begin()  # hundreds of comments would else be as many writes
                rows.update(_fill(connection, lake, known, workloads))
                _write_out(connection, lake.database)
        except duckdb.IOException as error:
            raise LakeUnwritable(lake.database, OSError(str(error))) from error
        finally:
            log.unlink(missing_ok=True)

    write_atomically(lake.database, build)
    return rows


def _write_out(connection: duckdb.DuckDBPyConnection, database: Path) -> None:
    try:
        connection.commit()
        connection.execute("CHECKPOINT")  # closing would do it too, but not say that the disk is full
    except duckdb.Error as error:
        raise LakeUnwritable(database, OSError(str(error))) from error


def _fill(connection: duckdb.DuckDBPyConnection, lake: Lake, known: set[str], workloads: pa.Table) -> dict[str, int]:
    rows = {"sources": _add_sources(connection, lake, known)}
    for table, layer in TABLES.items():
        files = _files(lake, layer, table, known if layer == "conformed" else None)
        read_parts(connection, f"{table}_parts", files, arrow_schema(table))
        rows[table] = _add_table(connection, table, f'SELECT * FROM "{table}_parts" ORDER BY {_ORDER[table]}')  # noqa: S608
    for table in _OWN_TIME:
        _ensure(lake, VIEWS[table], table)
    for view, layer in VIEWS.items():
        _add_view(connection, view, _files(lake, layer, view, known if layer == "conformed" else None))
    if connection.sql("SELECT 1 FROM waste WHERE usd IS NOT NULL LIMIT 1").fetchall():
        _add_request_costs(connection, _files(lake, "joined", "requests", None))
    connection.register("workload_gates", workloads)
    connection.execute("CREATE TABLE workloads AS SELECT * FROM workload_gates")
    connection.execute(f"COMMENT ON TABLE workloads IS {quoted(_WORKLOADS)}")
    for column, comment in _WORKLOAD_COLUMNS.items():
        connection.execute(f'COMMENT ON COLUMN workloads."{column}" IS {quoted(comment)}')
    for view, joined in DERIVED.items():
        _add_derived(connection, view, joined, _files(lake, "joined", joined, None) if joined else [])
    for macro, parameters in MACROS.items():
        connection.execute(f"CREATE MACRO {macro}({parameters}) AS TABLE {sql_file(macro).text}")
    return rows


def _files(lake: Lake, layer: str, table: str, known: set[str] | None) -> list[str]:
    tables = [table, _ALSO[table]] if table in _ALSO else [table]
    found = [path for name in tables for paths in lake.parts(layer, name).values() for path in paths]
    return [str(path.absolute()) for path in found if known is None or path.stem in known]


def _ensure(lake: Lake, layer: str, table: str) -> None:
    if lake.parts(layer, table):
        return
    with suppress(LakeUnwritable):  # whoever else is writing it at this moment does as well
        write_parquet(lake.part(layer, table, "all"), arrow_schema(table).empty_table())


def _add_sources(connection: duckdb.DuckDBPyConnection, lake: Lake, known: set[str]) -> int:
    ledger = [str(lake.ledger)] if lake.ledger.exists() else []
    read_parts(connection, "source_ledger", ledger, LEDGER_SCHEMA)
    read_parts(connection, "source_rows", _files(lake, "joined", "source_rows", None), SOURCE_ROWS)
    read_parts(connection, "sample_rows", _files(lake, "joined", "sample_rows", None), SOURCE_ROWS)
    for table in _COUNTED:
        read_parts(connection, table, _files(lake, "conformed", table, known), arrow_schema(table))
    return _add_table(connection, "sources", f"SELECT * FROM ({sql_file('sources').text})")  # noqa: S608


def _add_table(connection: duckdb.DuckDBPyConnection, table: str, select: str) -> int:
    columns = ", ".join(f'"{column.name}" {column.duckdb_type}' for column in contract(table).columns)
    connection.execute(f'CREATE TABLE "{table}" ({columns})')
    connection.execute(f'INSERT INTO "{table}" BY NAME {select}')
    _comment(connection, "TABLE", table)
    (count,) = connection.sql(f'SELECT count(*) FROM "{table}"').fetchall()[0]  # noqa: S608
    return int(count)


def _add_view(connection: duckdb.DuckDBPyConnection, view: str, files: list[str]) -> None:
    connection.execute(f'CREATE VIEW "{view}" AS {_as_agreed(view, files)}')
    _comment(connection, "VIEW", view)


def _add_derived(connection: duckdb.DuckDBPyConnection, view: str, joined: str | None, files: list[str]) -> None:
    reads = f'WITH "{joined}" AS ({_as_agreed(joined, files)})' if joined else ""
    named = ", ".join(f'"{column.name}"' for column in contract(view).columns)
    connection.execute(f'CREATE VIEW "{view}" AS {reads} SELECT {named} FROM ({sql_file(view).text})')  # noqa: S608
    _comment(connection, "VIEW", view)


def _as_agreed(table: str, files: list[str]) -> str:
    """A query of the table's rows in Parquet files; of none without files."""
    columns = contract(table).columns
    if not files:
        nothing = ", ".join(f'NULL::{column.duckdb_type} AS "{column.name}"' for column in columns)
        return f"SELECT {nothing} WHERE false"
    named = ", ".join(f'"{column.name}"' for column in columns)
    return f"SELECT {named} FROM {parquet(files)}"  # noqa: S608


def _add_request_costs(connection: duckdb.DuckDBPyConnection, files: list[str]) -> None:
    """Requests with what they cost: the ledger is measured of requests, so that their parts cannot hold it."""
    named = ", ".join(
        "costs.cost_usd" if column.name == "cost_usd" else f'requests."{column.name}"'
        for column in contract("requests").columns
    )
    connection.execute(
        f"CREATE OR REPLACE VIEW requests AS SELECT {named} FROM {parquet(files)} AS requests "  # noqa: S608
        f"LEFT JOIN ({sql_file('request_costs').text}) AS costs ON costs.request_key = requests.request_key"
    )
    _comment(connection, "VIEW", "requests")


def _comment(connection: duckdb.DuckDBPyConnection, kind: str, relation: str) -> None:
    agreed = contract(relation)
    connection.execute(f'COMMENT ON {kind} "{relation}" IS {quoted(agreed.description)}')
    for column in agreed.columns:
        connection.execute(f'COMMENT ON COLUMN "{relation}"."{column.name}" IS {quoted(_described(column))}')


def _described(column: Column) -> str:
    return column.description if column.unit is None else f"{column.description} [{column.unit}]"
