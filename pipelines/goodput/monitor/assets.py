"""Stage 5 as an asset: alarms over the lake's measured parts, and the tables that they leave."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import dagster as dg
import duckdb
import polars as pl

from goodput.monitor.alarm_tables import RELATIONS, TABLES, alarm_tables, read_evidence
from goodput.monitor.evaluate import Evidence
from goodput.plumbing.alarm_actions import read_actions
from goodput.plumbing.asset_tags import table_spec
from goodput.plumbing.contracts import arrow_schema
from goodput.plumbing.hours import epoch_hour
from goodput.plumbing.lake import Lake, inputs_of, write_parquet
from goodput.plumbing.sql_files import connect, read_parts
from goodput.plumbing.workspace import Workspace

CELL = "history=all"
_HOUR = "hour="


@dg.multi_asset(
    name="monitor",
    specs=[
        table_spec(table, "monitor", kinds={"parquet", "duckdb"}, deps=["goodput", "ops_events"]) for table in TABLES
    ],
    description="Alarms over all published history. Events are only ever added; none is reported twice.",
)
def monitored(workspace: dg.ResourceParam[Workspace]) -> Iterator[dg.MaterializeResult[None]]:
    """Judge every alarm, add what is new to alarm_events, and replay what the alarms could see."""
    counts = evaluate(workspace, datetime.now(UTC)) if workspace.settings.alarms.enabled else {}
    reported = {name: count for name, count in counts.items() if name not in TABLES}
    for table in TABLES:
        yield dg.MaterializeResult(asset_key=table, metadata={"dagster/row_count": counts.get(table, 0), **reported})


def evaluate(workspace: Workspace, now: datetime) -> dict[str, int]:
    """Evaluate at `now` and write what came of it; rows by table, `new_events`, `firing`."""
    lake = workspace.lake
    before = {table: frame for table in TABLES if (frame := _read(lake, table)) is not None}
    made_from = {table: inputs_of(lake.part("monitored", table, CELL)) or "" for table in ("alarms", "alarm_power")}
    found = alarm_tables(evidence(workspace, now, before), before, now, inputs=made_from)
    for table, rows in found.rows.items():
        if table not in before or not rows.equals(before[table]) or found.inputs.get(table) != made_from.get(table):
            part = lake.part("monitored", table, CELL)
            inputs = found.inputs.get(table, "")
            write_parquet(part, rows.to_arrow().cast(arrow_schema(table)), inputs=inputs)
    counts = {table: rows.height for table, rows in found.rows.items()}
    return counts | {"new_events": found.new_events, "firing": found.firing}


def evidence(workspace: Workspace, now: datetime, before: dict[str, pl.DataFrame] | None = None) -> Evidence:
    """The evidence of the lake's parts, as of `now`."""
    lake = workspace.lake
    with connect() as connection:
        for name in RELATIONS:
            _view(connection, name, _files(lake, name, now))
        _view(
            connection, "ops_events", [str(p) for paths in lake.parts("joined", "ops_events").values() for p in paths]
        )
        return read_evidence(connection, workspace.settings, now, actions=read_actions(lake.root), before=before)


def _view(connection: duckdb.DuckDBPyConnection, name: str, files: list[str]) -> None:
    if files:
        read_parts(connection, name, files, arrow_schema(name))


def _files(lake: Lake, name: str, now: datetime) -> list[str]:
    """Files of a relation by hour until now; windows longer than an hour are in none of them."""
    hours = [cell for cell in lake.cells("measured", name) if cell.startswith(_HOUR)]
    begun = [cell for cell in hours if 3600 * epoch_hour(cell.removeprefix(_HOUR)) <= now.timestamp()]
    return [str(path) for cell in begun if (path := lake.part("measured", name, cell)).exists()]


def _read(lake: Lake, table: str) -> pl.DataFrame | None:
    path = lake.part("monitored", table, CELL)
    return pl.read_parquet(path) if path.exists() else None


def read_rows(lake: Lake, table: str) -> list[dict[str, Any]]:
    """Rows of one table of this stage as they were written last; none before the first time."""
    frame = _read(lake, table)
    return [] if frame is None else frame.to_dicts()
