"""Stage 4 as assets: windows of goodput, and the database in which all of it is asked."""

from collections.abc import Iterator
from datetime import UTC, datetime

import dagster as dg

from goodput.join.assets import Redo
from goodput.join.staleness import JoinInputs
from goodput.measure.compute import measure_cells
from goodput.measure.gates import gate_rows
from goodput.measure.staleness import MeasureInputs
from goodput.plumbing.asset_tags import HOURS, IN_ONE_RUN, OWNERS, table_spec
from goodput.plumbing.checked import check_spec, checked, publishable
from goodput.plumbing.ledger import read_ledger
from goodput.plumbing.warehouse import publish
from goodput.plumbing.workspace import Workspace


def _inputs(workspace: Workspace) -> MeasureInputs:
    return MeasureInputs(JoinInputs(workspace.lake, workspace.settings, read_ledger(workspace.lake)))


@dg.multi_asset(
    name="measure",
    specs=[table_spec("goodput", "measure", kinds={"parquet", "duckdb"}, deps=["requests"], partitioned=True)],
    check_specs=[check_spec("goodput")],
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
    cells = publishable(workspace.lake, {name: cell.inputs for name, cell in due.items()}, ["goodput"])
    now = datetime.now(UTC)
    measuring = measure_cells(inputs, [due[name] for name in cells], now)
    rows = sum(part.height for part in workspace.progress.track(measuring, "measuring", len(cells)))
    yield from checked(workspace.lake, ["goodput"], cells, layer="measured", rows={"goodput": rows})


@dg.asset(
    group_name="measure",
    owners=OWNERS,
    kinds={"duckdb"},
    deps=[
        *("attempts", "requests", "quality_labels", "session_labels", "ops_events", "cost_records", "token_prices"),
        *("goodput", "quarantine"),
    ],
    description="goodput.duckdb: every public relation with its comments, replaced whole.",
)
def goodput_database(workspace: dg.ResourceParam[Workspace]) -> dg.MaterializeResult[None]:
    """Publish what the lake holds."""
    ledger = read_ledger(workspace.lake)
    rows = publish(workspace.lake, ledger, gate_rows(workspace.settings))
    return dg.MaterializeResult(metadata={"dagster/row_count": rows["goodput"], **rows})
