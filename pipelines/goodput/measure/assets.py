"""Stage 4 as assets: windows of goodput, and the database in which all of it is asked."""

from collections.abc import Iterator
from datetime import UTC, datetime

import dagster as dg

from goodput.join.assets import Redo
from goodput.join.staleness import JoinInputs
from goodput.join.whole import CELL
from goodput.measure.charges import ChargeInputs, charge_hours
from goodput.measure.compute import measure_cells
from goodput.measure.coverage import CoverageInputs, cover_hours
from goodput.measure.disruptions import BY_DAY, BY_KIND, DisruptionInputs, cost_kinds, disrupt_days
from goodput.measure.frontier import frontier_inputs, write_frontier
from goodput.measure.gates import gate_rows
from goodput.measure.replicas import TABLES as REPLICA_TABLES
from goodput.measure.replicas import ReplicaInputs, measure_replicas
from goodput.measure.staleness import MeasureInputs
from goodput.measure.waste import WasteInputs, write_waste
from goodput.plumbing.asset_tags import HOURS, IN_ONE_RUN, OWNERS, table_spec
from goodput.plumbing.checked import check_spec, checked, publishable
from goodput.plumbing.hours import batches
from goodput.plumbing.lake import inputs_of
from goodput.plumbing.ledger import read_ledger
from goodput.plumbing.warehouse import publish
from goodput.plumbing.workspace import Workspace

CHECKED = ("goodput", "gate_failures")
_HOURS_AT_ONCE = 24


def _inputs(workspace: Workspace) -> MeasureInputs:
    return MeasureInputs(JoinInputs(workspace.lake, workspace.settings, read_ledger(workspace.lake)))


@dg.multi_asset(
    name="cover",
    specs=[
        table_spec(
            "coverage",
            "measure",
            kinds={"parquet", "duckdb"},
            deps=["attempts", "replica_samples"],
            partitioned=True,
        )
    ],
    check_specs=[check_spec("coverage")],
    partitions_def=HOURS,
    backfill_policy=IN_ONE_RUN,
    description="Requests seen beside requests that the engines counted. Hours that have not changed are left alone.",
)
def covered(
    context: dg.AssetExecutionContext, config: Redo, workspace: dg.ResourceParam[Workspace]
) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    """Compare the hours of this run that are stale."""
    lake = workspace.lake
    inputs = CoverageInputs(JoinInputs(lake, workspace.settings, read_ledger(lake)))
    asked = set(context.partition_keys)
    due = sorted(asked) if config.force else [hour for hour in inputs.stale_hours() if hour in asked]
    cells = publishable(lake, {f"hour={hour}": inputs.of_hour(hour) for hour in due}, ["coverage"])
    hours = [cell.removeprefix("hour=") for cell in cells]
    rows = sum(cover_hours(inputs, batch) for batch in batches(hours, _HOURS_AT_ONCE))
    yield from checked(lake, ["coverage"], cells, layer="measured", rows={"coverage": rows})


@dg.multi_asset(
    name="charge",
    specs=[
        table_spec(
            "cost_ledger",
            "measure",
            kinds={"parquet", "duckdb"},
            deps=["attempts", "requests", "replica_samples", "cost_records", "token_prices"],
            partitioned=True,
        )
    ],
    check_specs=[check_spec("cost_ledger")],
    partitions_def=HOURS,
    backfill_policy=IN_ONE_RUN,
    description="Every dollar in one bucket, attempt by window. Hours that have not changed are left alone.",
)
def charged(
    context: dg.AssetExecutionContext, config: Redo, workspace: dg.ResourceParam[Workspace]
) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    """Charge the hours of this run that are stale."""
    lake = workspace.lake
    inputs = ChargeInputs(JoinInputs(lake, workspace.settings, read_ledger(lake)))
    asked = set(context.partition_keys)
    stale = inputs.hours() if config.force else inputs.stale_hours()
    due = {f"hour={hour}": inputs.of_hour(hour) for hour in stale if hour in asked}
    cells = publishable(lake, due, ["cost_ledger"])
    groups = list(batches([cell.removeprefix("hour=") for cell in cells], _HOURS_AT_ONCE))
    rows = sum(charge_hours(inputs, batch) for batch in workspace.progress.track(groups, "charging", len(groups)))
    yield from checked(lake, ["cost_ledger"], cells, layer="measured", rows={"cost_ledger": rows})


@dg.multi_asset(
    name="waste",
    specs=[table_spec("waste", "measure", kinds={"parquet", "duckdb"}, deps=["cost_ledger"], partitioned=True)],
    check_specs=[check_spec("waste")],
    partitions_def=HOURS,
    backfill_policy=IN_ONE_RUN,
    description="Where dollars, GPU time and tokens went, by window, slice and bucket.",
)
def wasted(
    context: dg.AssetExecutionContext, config: Redo, workspace: dg.ResourceParam[Workspace]
) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    """Add up the windows of this run's hours that are stale."""
    lake = workspace.lake
    inputs = WasteInputs(JoinInputs(lake, workspace.settings, read_ledger(lake)))
    asked = set(context.partition_keys)
    stale = list(inputs.cells()) if config.force else inputs.stale_cells()
    due = {cell.name: cell for cell in stale if asked.intersection(cell.hours)}
    cells = publishable(lake, {name: cell.inputs for name, cell in due.items()}, ["waste"])
    rows = sum(write_waste(inputs, due[name]) for name in cells)
    yield from checked(lake, ["waste"], cells, layer="measured", rows={"waste": rows})


@dg.multi_asset(
    name="measure",
    specs=[
        table_spec(
            table, "measure", kinds={"parquet", "duckdb"}, deps=["requests", "coverage", "waste"], partitioned=True
        )
        for table in CHECKED
    ],
    check_specs=[check_spec(table) for table in CHECKED],
    partitions_def=HOURS,
    backfill_policy=IN_ONE_RUN,
    description="Windowed goodput. Windows whose requests have not changed are left as they are.",
)
def measured(
    context: dg.AssetExecutionContext, config: Redo, workspace: dg.ResourceParam[Workspace]
) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    """Measure the windows of this run's hours that are stale."""
    inputs = _inputs(workspace)
    asked = set(context.partition_keys)
    stale = list(inputs.cells()) if config.force else inputs.stale_cells()
    due = {cell.name: cell for cell in stale if asked.intersection(cell.hours)}
    cells = publishable(workspace.lake, {name: cell.inputs for name, cell in due.items()}, CHECKED)
    now = datetime.now(UTC)
    measuring = measure_cells(inputs, [due[name] for name in cells], now)
    rows = dict.fromkeys(CHECKED, 0)
    for part in workspace.progress.track(measuring, "measuring", len(cells)):
        for table, count in part.items():
            rows[table] += count
    yield from checked(workspace.lake, CHECKED, cells, layer="measured", rows=rows, beside=("load_windows",))


@dg.multi_asset(
    name="frontier",
    specs=[table_spec("frontier", "measure", kinds={"parquet", "duckdb"}, deps=["goodput"])],
    check_specs=[check_spec("frontier")],
    description="Goodput by offered load, from the load windows of all hours; left alone while none of them changes.",
)
def found_frontier(
    workspace: dg.ResourceParam[Workspace],
) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    """Compute the frontier where a load window has changed."""
    inputs = _inputs(workspace)
    wanted = frontier_inputs(inputs)
    is_stale = inputs_of(workspace.lake.part("measured", "frontier", CELL)) != wanted
    cells = publishable(workspace.lake, {CELL: wanted} if is_stale else {}, ["frontier"])
    rows = sum(write_frontier(inputs, made_from) for made_from in cells.values())
    yield from checked(workspace.lake, ["frontier"], cells, layer="measured", rows={"frontier": rows})


@dg.multi_asset(
    name="watch",
    specs=[
        table_spec(
            table, "measure", kinds={"parquet", "duckdb"}, deps=["attempts", "replica_samples"], partitioned=True
        )
        for table in REPLICA_TABLES
    ],
    check_specs=[check_spec(table) for table in REPLICA_TABLES],
    partitions_def=HOURS,
    backfill_policy=IN_ONE_RUN,
    description="Caches, queues and gauges of each replica. Windows whose inputs have not changed are left alone.",
)
def watched(
    context: dg.AssetExecutionContext, config: Redo, workspace: dg.ResourceParam[Workspace]
) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    """Measure the replicas in the windows of this run's hours that are stale."""
    inputs = ReplicaInputs(JoinInputs(workspace.lake, workspace.settings, read_ledger(workspace.lake)))
    asked = set(context.partition_keys)
    stale = list(inputs.cells()) if config.force else inputs.stale_cells()
    due = {cell.name: cell for cell in stale if asked.intersection(cell.hours)}
    cells = publishable(workspace.lake, {name: cell.inputs for name, cell in due.items()}, REPLICA_TABLES)
    rows = dict.fromkeys(REPLICA_TABLES, 0)
    for counts in measure_replicas(inputs, [due[name] for name in cells]):
        rows = {table: rows[table] + counts[table] for table in REPLICA_TABLES}
    yield from checked(workspace.lake, REPLICA_TABLES, cells, layer="measured", rows=rows)


@dg.multi_asset(
    name="disrupt",
    specs=[
        table_spec(BY_DAY, "measure", kinds={"parquet", "duckdb"}, deps=["ops_events", "goodput", "cache_by_replica"]),
        *(table_spec(table, "measure", kinds={"parquet", "duckdb"}, deps=[BY_DAY, "goodput"]) for table in BY_KIND),
    ],
    check_specs=[check_spec(table) for table in (BY_DAY, *BY_KIND)],
    description="What operations did to their pools, and what they cost; days whose windows have not changed are left.",
)
def disrupted(
    workspace: dg.ResourceParam[Workspace],
) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    """Measure the disruptions of the days that are stale, then what their kinds cost."""
    lake = workspace.lake
    inputs = JoinInputs(lake, workspace.settings, read_ledger(lake))
    days = publishable(lake, DisruptionInputs(inputs).stale_days(), [BY_DAY])
    rows = disrupt_days(DisruptionInputs(inputs), days)
    yield from checked(lake, [BY_DAY], days, layer="measured", rows={BY_DAY: rows})
    now = DisruptionInputs(inputs)
    kinds = publishable(lake, now.stale_kinds(), BY_KIND)
    counts = [cost_kinds(now, made_from) for made_from in kinds.values()]
    told = counts[0] if counts else dict.fromkeys(BY_KIND, 0)
    yield from checked(lake, BY_KIND, kinds, layer="measured", rows=told)


@dg.asset(
    group_name="measure",
    owners=OWNERS,
    kinds={"duckdb"},
    deps=[
        *("attempts", "requests", "quality_labels", "session_labels", "ops_events", "cost_records", "token_prices"),
        *("replica_samples", "coverage", "cost_ledger", "waste", "goodput", "gate_failures", "frontier", "quarantine"),
        *("alarms", "alarm_events", "alarm_power"),
        *(*REPLICA_TABLES, BY_DAY, *BY_KIND),
    ],
    description="goodput.duckdb: every public relation with its comments, replaced whole.",
)
def goodput_database(workspace: dg.ResourceParam[Workspace]) -> dg.MaterializeResult[None]:
    """Publish what the lake holds."""
    ledger = read_ledger(workspace.lake)
    rows = publish(workspace.lake, ledger, gate_rows(workspace.settings))
    return dg.MaterializeResult(metadata={"dagster/row_count": rows["goodput"], **rows})
