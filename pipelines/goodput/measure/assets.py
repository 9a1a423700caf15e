"""Stage 4 as assets: windows of goodput, and the database in which all of it is asked."""

from collections.abc import Sequence
from datetime import UTC, datetime

import dagster as dg

from goodput.join.staleness import JoinInputs
from goodput.join.whole import CELL
from goodput.measure.charges import ChargeInputs, charge_hours
from goodput.measure.compute import measure_cells
from goodput.measure.coverage import TABLE as COVERAGE
from goodput.measure.coverage import CoverageInputs, cover_hours
from goodput.measure.disruptions import BY_DAY, BY_KIND, DisruptionInputs, cost_kinds, disrupt_days
from goodput.measure.frontier import frontier_inputs, write_frontier
from goodput.measure.gates import gate_rows
from goodput.measure.ledger import TABLE as LEDGER
from goodput.measure.replicas import TABLES as REPLICA_TABLES
from goodput.measure.replicas import ReplicaInputs, measure_replicas
from goodput.measure.staleness import Cell, CellInputs, MeasureInputs, stale_cells
from goodput.measure.waste import TABLE as WASTE
from goodput.measure.waste import WasteInputs, write_waste
from goodput.plumbing.asset_tags import OWNERS, Redo, Results, due_hours, hourly_asset, in_batches, whole_asset
from goodput.plumbing.checked import checked, publishable
from goodput.plumbing.lake import inputs_of
from goodput.plumbing.ledger import read_ledger
from goodput.plumbing.warehouse import publish
from goodput.plumbing.workspace import Workspace

CHECKED = ("goodput", "gate_failures")
_COVERAGE, _LEDGER, _WASTE = (COVERAGE,), (LEDGER,), (WASTE,)


def _join(workspace: Workspace) -> JoinInputs:
    return JoinInputs(workspace.lake, workspace.settings, read_ledger(workspace.lake))


def _due_cells(
    inputs: CellInputs, context: dg.AssetExecutionContext, tables: Sequence[str], redo: Redo
) -> tuple[list[Cell], dict[str, str]]:
    """Cells of the hours asked for that are stale, or all of them; and what each is made from, by its name."""
    asked = set(context.partition_keys)
    found = inputs.cells() if redo.force else stale_cells(inputs)
    due = {cell.name: cell for cell in found if asked.intersection(cell.hours)}
    names = publishable(inputs.lake, {name: cell.inputs for name, cell in due.items()}, tables)
    return [due[name] for name in names], names


@hourly_asset(
    "cover",
    "measure",
    _COVERAGE,
    ["attempts", "replica_samples"],
    "Requests seen beside requests that the engines counted.",
)
def covered(context: dg.AssetExecutionContext, config: Redo, workspace: dg.ResourceParam[Workspace]) -> Results:
    """Compare the hours of this run that are stale."""
    inputs = CoverageInputs(_join(workspace))
    cells = due_hours(inputs, context, _COVERAGE, config)
    rows = sum(cover_hours(inputs, batch) for batch in in_batches(cells))
    yield from checked(workspace.lake, _COVERAGE, cells, layer="measured", rows={COVERAGE: rows})


@hourly_asset(
    "charge",
    "measure",
    _LEDGER,
    ["attempts", "requests", "replica_samples", "cost_records", "token_prices"],
    "Every dollar in one bucket, attempt by window.",
)
def charged(context: dg.AssetExecutionContext, config: Redo, workspace: dg.ResourceParam[Workspace]) -> Results:
    """Charge the hours of this run that are stale."""
    inputs = ChargeInputs(_join(workspace))
    cells = due_hours(inputs, context, _LEDGER, config)
    groups = in_batches(cells)
    rows = sum(charge_hours(inputs, batch) for batch in workspace.progress.track(groups, "charging", len(groups)))
    yield from checked(workspace.lake, _LEDGER, cells, layer="measured", rows={LEDGER: rows})


@hourly_asset(
    "waste", "measure", _WASTE, [LEDGER], "Where dollars, GPU time and tokens went, by window, slice and bucket."
)
def wasted(context: dg.AssetExecutionContext, config: Redo, workspace: dg.ResourceParam[Workspace]) -> Results:
    """Add up the windows of this run's hours that are stale."""
    inputs = WasteInputs(_join(workspace))
    due, cells = _due_cells(inputs, context, _WASTE, config)
    rows = write_waste(inputs, due)
    yield from checked(workspace.lake, _WASTE, cells, layer="measured", rows={WASTE: rows})


@hourly_asset("measure", "measure", CHECKED, ["requests", COVERAGE, WASTE], "Windowed goodput.")
def measured(context: dg.AssetExecutionContext, config: Redo, workspace: dg.ResourceParam[Workspace]) -> Results:
    """Measure the windows of this run's hours that are stale."""
    inputs = MeasureInputs(_join(workspace))
    due, cells = _due_cells(inputs, context, CHECKED, config)
    rows = dict.fromkeys(CHECKED, 0)
    measuring = measure_cells(inputs, due, datetime.now(UTC))
    for part in workspace.progress.track(measuring, "measuring", len(cells)):
        for table, count in part.items():
            rows[table] += count
    yield from checked(workspace.lake, CHECKED, cells, layer="measured", rows=rows, beside=("load_windows",))


@whole_asset(
    "frontier",
    "measure",
    {"frontier": ["goodput"]},
    "Goodput by offered load, from the load windows of all hours; left alone while none of them changes.",
)
def found_frontier(workspace: dg.ResourceParam[Workspace]) -> Results:
    """Compute the frontier where a load window has changed."""
    inputs = MeasureInputs(_join(workspace))
    wanted = frontier_inputs(inputs)
    is_stale = inputs_of(workspace.lake.part("measured", "frontier", CELL)) != wanted
    cells = publishable(workspace.lake, {CELL: wanted} if is_stale else {}, ["frontier"])
    rows = sum(write_frontier(inputs, made_from) for made_from in cells.values())
    yield from checked(workspace.lake, ["frontier"], cells, layer="measured", rows={"frontier": rows})


@hourly_asset(
    "watch", "measure", REPLICA_TABLES, ["attempts", "replica_samples"], "Caches, queues and gauges of each replica."
)
def watched(context: dg.AssetExecutionContext, config: Redo, workspace: dg.ResourceParam[Workspace]) -> Results:
    """Measure the replicas in the windows of this run's hours that are stale."""
    inputs = ReplicaInputs(_join(workspace))
    due, cells = _due_cells(inputs, context, REPLICA_TABLES, config)
    rows = dict.fromkeys(REPLICA_TABLES, 0)
    for counts in measure_replicas(inputs, due):
        rows = {table: rows[table] + counts[table] for table in REPLICA_TABLES}
    yield from checked(workspace.lake, REPLICA_TABLES, cells, layer="measured", rows=rows)


@whole_asset(
    "disrupt",
    "measure",
    {BY_DAY: ["ops_events", "goodput", "cache_by_replica"], **{table: [BY_DAY, "goodput"] for table in BY_KIND}},
    "What operations did to their pools, and what they cost; days whose windows have not changed are left.",
)
def disrupted(workspace: dg.ResourceParam[Workspace]) -> Results:
    """Measure the disruptions of the days that are stale, then what their kinds cost."""
    lake, inputs = workspace.lake, _join(workspace)
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
        *("alarms", "alarm_events", "alarm_series", "alarm_power"),
        *(*REPLICA_TABLES, BY_DAY, *BY_KIND),
    ],
    description="goodput.duckdb: every public relation with its comments, replaced whole.",
)
def goodput_database(workspace: dg.ResourceParam[Workspace]) -> dg.MaterializeResult[None]:
    """Publish what the lake holds."""
    ledger = read_ledger(workspace.lake)
    rows = publish(workspace.lake, ledger, gate_rows(workspace.settings))
    return dg.MaterializeResult(metadata={"dagster/row_count": rows["goodput"], **rows})
