"""Stage 3 as assets: attempts, requests and labels of each hour, and what is made whole: events, costs, prices.

All of it is checked against its contracts before it counts.
"""

from collections.abc import Iterator

import dagster as dg

from goodput.join.compute import join_hours
from goodput.join.labels import note_label_hours
from goodput.join.samples import SampleInputs, sample_hours
from goodput.join.staleness import TABLES, JoinInputs
from goodput.join.whole import CELL, WholeInputs
from goodput.join.whole import TABLES as WHOLE
from goodput.plumbing.asset_tags import HOURS, IN_ONE_RUN, table_spec
from goodput.plumbing.checked import check_spec, checked, publishable
from goodput.plumbing.hours import batches
from goodput.plumbing.ledger import read_ledger
from goodput.plumbing.workspace import Workspace

PUBLIC = ("attempts", "requests", "quality_labels")
FROM = ["serving_records", "span_links", "label_records"]
_HOURS_AT_ONCE = 24


class Redo(dg.Config):
    """Whether hours whose inputs have not changed are computed again too."""

    force: bool = False


@dg.multi_asset(
    name="join",
    specs=[table_spec(table, "join", kinds={"parquet", "duckdb"}, deps=FROM, partitioned=True) for table in PUBLIC],
    check_specs=[check_spec(table) for table in PUBLIC],
    partitions_def=HOURS,
    backfill_policy=IN_ONE_RUN,
    description="Attempts become requests, labels find theirs. Hours whose inputs did not change are left alone.",
)
def joined(
    context: dg.AssetExecutionContext, config: Redo, workspace: dg.ResourceParam[Workspace]
) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    """Join the hours of this run that are stale."""
    inputs = JoinInputs(workspace.lake, workspace.settings, read_ledger(workspace.lake))
    note_label_hours(inputs)
    asked = set(context.partition_keys)
    due = sorted(asked) if config.force else [hour for hour in inputs.stale_hours() if hour in asked]
    cells = publishable(workspace.lake, {f"hour={hour}": inputs.of_hour(hour) for hour in due}, PUBLIC)
    hours = [cell.removeprefix("hour=") for cell in cells]
    rows, groups = dict.fromkeys(TABLES, 0), list(batches(hours, _HOURS_AT_ONCE))
    for batch in workspace.progress.track(groups, "joining", len(groups)):
        for table, count in join_hours(inputs, batch).items():
            rows[table] += count
    yield from checked(
        workspace.lake, PUBLIC, cells, layer="joined", rows=rows, beside=("session_hours",), unchecked=("source_rows",)
    )


@dg.multi_asset(
    name="sample",
    specs=[
        table_spec("replica_samples", "join", kinds={"parquet", "duckdb"}, deps=["sample_records"], partitioned=True)
    ],
    check_specs=[check_spec("replica_samples")],
    partitions_def=HOURS,
    backfill_policy=IN_ONE_RUN,
    description="Readings become samples and counters increases. Hours whose inputs did not change are left alone.",
)
def sampled(
    context: dg.AssetExecutionContext, config: Redo, workspace: dg.ResourceParam[Workspace]
) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    """Make the samples of this run's hours that are stale."""
    lake = workspace.lake
    inputs = SampleInputs(JoinInputs(lake, workspace.settings, read_ledger(lake)))
    asked = set(context.partition_keys)
    due = sorted(asked) if config.force else [hour for hour in inputs.stale_hours() if hour in asked]
    cells = publishable(lake, {f"hour={hour}": inputs.of_hour(hour) for hour in due}, ["replica_samples"])
    groups = list(batches([cell.removeprefix("hour=") for cell in cells], _HOURS_AT_ONCE))
    rows = sum(sample_hours(inputs, batch) for batch in workspace.progress.track(groups, "sampling", len(groups)))
    counted = {"replica_samples": rows}
    yield from checked(lake, ["replica_samples"], cells, layer="joined", rows=counted, unchecked=("sample_rows",))


@dg.multi_asset(
    name="make_whole",
    specs=[
        table_spec(table, "join", kinds={"parquet", "duckdb"}, deps=[whole.records]) for table, whole in WHOLE.items()
    ],
    check_specs=[check_spec(table) for table in WHOLE],
    description="Ops events, costs, prices and labels of sessions: each made whole where its sources changed.",
)
def made_whole(
    workspace: dg.ResourceParam[Workspace],
) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    """Make what is stale of the tables that have no hours."""
    inputs = WholeInputs(workspace.lake, workspace.settings, read_ledger(workspace.lake))
    stale = inputs.stale()
    due = {t: made_from for t, made_from in stale.items() if publishable(workspace.lake, {CELL: made_from}, [t])}
    rows = inputs.make(due)
    for table in WHOLE:
        cells = {CELL: due[table]} if table in due else {}
        yield from checked(workspace.lake, [table], cells, layer="joined", rows={table: rows.get(table, 0)})
