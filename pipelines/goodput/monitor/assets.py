"""Stage 5 as an asset: what the published series, the settings and the operators' words make of every alarm."""

from collections.abc import Iterator, Sequence, Set
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from goodput.monitor.evaluate import Evaluation, Evidence
from goodput.monitor.lookback import lookback
from goodput.monitor.rows import SILENT
from goodput.monitor.series_definitions import SERIES_DEFINITIONS
from goodput.plumbing.alarm_actions import read_actions
from goodput.plumbing.asset_tags import table_spec
from goodput.plumbing.contracts import arrow_schema, contract_names
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.hours import epoch_hour
from goodput.plumbing.lake import Lake, inputs_of, write_parquet
from goodput.plumbing.workspace import Workspace

Row = dict[str, Any]
TABLES = ("alarms", "alarm_events", "alarm_series", "alarm_power")
CELL = "history=all"
_HOUR = "hour="
_KEYS = ("slice", "window_s", "partial")


@dg.multi_asset(
    name="monitor",
    specs=[
        table_spec(table, "monitor", kinds={"parquet", "duckdb"}, deps=["goodput", "ops_events"]) for table in TABLES
    ],
    description="Alarms over all published history. Events are only ever added; nothing is told twice.",
)
def monitored(workspace: dg.ResourceParam[Workspace]) -> Iterator[dg.MaterializeResult[None]]:
    """Judge every alarm, add what is new to alarm_events, and replay what the alarms could see."""
    counts = evaluate(workspace, datetime.now(UTC)) if workspace.settings.alarms.enabled else {}
    for table in TABLES:
        yield dg.MaterializeResult(
            asset_key=table, metadata={"dagster/row_count": counts.get(table, 0), **_told(counts)}
        )


def _told(counts: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if name not in TABLES}


def evaluate(workspace: Workspace, now: datetime) -> dict[str, int]:
    """Evaluate at `now` and write what came of it; rows by table, `new_events`, `firing`."""
    lake = workspace.lake
    before = read_rows(lake, "alarm_events")
    evaluation = Evaluation(evidence(workspace, now, before), now)
    news = evaluation.news(before)
    alarms = evaluation.alarms()
    _write(lake, "alarm_events", before + news)
    _write(lake, "alarms", alarms)
    series = evaluation.series()
    write_parquet(lake.part("monitored", "alarm_series", CELL), series.to_arrow().cast(arrow_schema("alarm_series")))
    counts = {"alarm_events": len(before) + len(news), "alarms": len(alarms), "alarm_series": series.height}
    counts["new_events"] = len(news)
    counts["firing"] = sum(row["state"] == "firing" for row in alarms)
    due = power_inputs(workspace, now)
    if inputs_of(lake.part("monitored", "alarm_power", CELL)) != due:
        _write(lake, "alarm_power", evaluation.power(), inputs=due)
    counts["alarm_power"] = pq.read_metadata(lake.part("monitored", "alarm_power", CELL)).num_rows
    return counts


def power_inputs(workspace: Workspace, now: datetime) -> str:
    """What a replay depends on: the settings of alarms, what operators said, and the day."""
    settings = workspace.settings
    said = [vars(action) for action in read_actions(workspace.lake.root)]
    slos = {name: slo.model_dump() for name, slo in settings.slo.items()}
    return fingerprint(settings.alarms.model_dump(), slos, said, now.date(), str(arrow_schema("alarm_power")))


def evidence(workspace: Workspace, now: datetime, recorded: Sequence[Row] = ()) -> Evidence:
    """What the lake holds for alarms: the rows that their series are made of, as far back as verdicts need them.

    Hours that have not begun are left out: one wrong clock must not put all history out of reach.
    """
    lake, settings = workspace.lake, workspace.settings
    names = sorted({source.relation for source in SERIES_DEFINITIONS}.intersection(contract_names()))
    hours = {name: _hours(lake, name, now) for name in names}
    newest = max((hour for found in hours.values() for hour in found), default=None)
    looks = None if newest is None else lookback(newest, recorded)
    grains = {settings.alarms.window_s, *([min(settings.windows_s)] if settings.slo else [])}
    known = {}
    for name, found in hours.items():
        files = [path for hour, path in found.items() if looks and hour >= looks.since and path.exists()]
        if files:
            known[name] = _rows(name, files, grains if name == "goodput" else {settings.alarms.window_s})
    live = any(row["rule"] == SILENT and row["state"] != "learning" for row in read_rows(lake, "alarms"))
    operations = _relation_rows(lake, "ops_events")
    return Evidence(
        known, settings, read_actions(lake.root), operations, live, None if looks is None else looks.settled
    )


def _hours(lake: Lake, name: str, now: datetime) -> dict[datetime, Path]:
    """Files of a relation until now by the start of their hour; windows longer than an hour are in none of them."""
    cells = [cell for cell in lake.cells("measured", name) if cell.startswith(_HOUR)]
    starts = {datetime.fromtimestamp(3600 * epoch_hour(cell.removeprefix(_HOUR)), UTC): cell for cell in cells}
    return {start: lake.part("measured", name, cell) for start, cell in starts.items() if start <= now}


def _rows(name: str, files: list[Path], grains: Set[int]) -> pl.DataFrame:
    """Rows of a measured relation, of the one slice and the windows that alarms are of, and no other columns."""
    wanted = {column for source in SERIES_DEFINITIONS if source.relation == name for column in source.columns}
    present = set(arrow_schema(name).names) & {*wanted, "goodput_rps", *_KEYS}
    of_alarms = pl.col("window_s").is_in(sorted(grains))
    if "slice" in present:
        of_alarms &= pl.col("slice") == "workload_pool"
    return pl.scan_parquet(files).filter(of_alarms).select(sorted(present)).collect()


def _relation_rows(lake: Lake, name: str) -> list[dict[str, Any]]:
    files = [path for paths in lake.parts("joined", name).values() for path in paths]
    return pl.read_parquet(files).to_dicts() if files else []


def read_rows(lake: Lake, table: str) -> list[dict[str, Any]]:
    """Rows of one table of this stage as they were written last; none before the first time."""
    path = lake.part("monitored", table, CELL)
    rows: list[dict[str, Any]] = pl.read_parquet(path).to_dicts() if path.exists() else []
    return rows


def _write(lake: Lake, table: str, rows: list[dict[str, Any]], *, inputs: str = "") -> None:
    schema = arrow_schema(table)
    write_parquet(lake.part("monitored", table, CELL), pa.Table.from_pylist(rows, schema=schema), inputs=inputs)
