"""Stage 3 as assets: attempts, requests and labels of each hour, and what is made whole: events, costs, prices.

All of it is checked against its contracts before it counts.
"""

import dagster as dg

from goodput.join.compute import join_hours
from goodput.join.labels import note_label_hours
from goodput.join.samples import SampleInputs, sample_hours
from goodput.join.staleness import TABLES, JoinInputs
from goodput.join.whole import CELL, WholeInputs
from goodput.join.whole import TABLES as WHOLE
from goodput.plumbing.asset_tags import Redo, Results, due_hours, hourly_asset, in_batches, whole_asset
from goodput.plumbing.checked import checked, publishable
from goodput.plumbing.ledger import read_ledger
from goodput.plumbing.workspace import Workspace

PUBLIC = ("attempts", "requests", "quality_labels")
SAMPLES = ("replica_samples",)
FROM = ["serving_records", "span_links", "label_records"]


@hourly_asset("join", "join", PUBLIC, FROM, "Attempts become requests, labels find theirs.")
def joined(context: dg.AssetExecutionContext, config: Redo, workspace: dg.ResourceParam[Workspace]) -> Results:
    """Join the hours of this run that are stale."""
    inputs = JoinInputs(workspace.lake, workspace.settings, read_ledger(workspace.lake))
    note_label_hours(inputs)
    cells = due_hours(inputs, context, PUBLIC, config)
    rows, groups = dict.fromkeys(TABLES, 0), in_batches(cells)
    for batch in workspace.progress.track(groups, "joining", len(groups)):
        for table, count in join_hours(inputs, batch).items():
            rows[table] += count
    yield from checked(
        workspace.lake, PUBLIC, cells, layer="joined", rows=rows, beside=("session_hours",), unchecked=("source_rows",)
    )


@hourly_asset("sample", "join", SAMPLES, ["sample_records"], "Readings become samples and counters increases.")
def sampled(context: dg.AssetExecutionContext, config: Redo, workspace: dg.ResourceParam[Workspace]) -> Results:
    """Make the samples of this run's hours that are stale."""
    lake = workspace.lake
    inputs = SampleInputs(JoinInputs(lake, workspace.settings, read_ledger(lake)))
    cells = due_hours(inputs, context, SAMPLES, config)
    groups = in_batches(cells)
    rows = sum(sample_hours(inputs, batch) for batch in workspace.progress.track(groups, "sampling", len(groups)))
    counted = {"replica_samples": rows}
    yield from checked(lake, SAMPLES, cells, layer="joined", rows=counted, unchecked=("sample_rows",))


@whole_asset(
    "make_whole",
    "join",
    {table: [whole.records] for table, whole in WHOLE.items()},
    "Ops events, costs, prices and labels of sessions: each made whole where its sources changed.",
)
def made_whole(workspace: dg.ResourceParam[Workspace]) -> Results:
    """Make what is stale of the tables that have no hours."""
    inputs = WholeInputs(workspace.lake, workspace.settings, read_ledger(workspace.lake))
    stale = inputs.stale()
    due = {t: made_from for t, made_from in stale.items() if publishable(workspace.lake, {CELL: made_from}, [t])}
    rows = inputs.make(due)
    for table in WHOLE:
        cells = {CELL: due[table]} if table in due else {}
        yield from checked(workspace.lake, [table], cells, layer="joined", rows={table: rows.get(table, 0)})
