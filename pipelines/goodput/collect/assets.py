"""Stage 1 for Dagster: the landing zone, which the fleet fills and the pipeline only reads, and its sensor."""

import dagster as dg

from goodput.collect.listing import list_landing
from goodput.errors import GoodputError
from goodput.plumbing.asset_tags import OWNERS
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.workspace import Workspace

landing = dg.AssetSpec(
    "landing",
    description="Files of serving telemetry as the fleet emits them: OTLP, serving logs, quality labels.",
    group_name="collect",
    owners=OWNERS,
    kinds={"file"},
)


@dg.sensor(
    job_name="ingest",
    minimum_interval_seconds=60,
    description="Starts `ingest` when a file of the landing zone is new or has grown.",
)
def landing_changed(
    context: dg.SensorEvaluationContext, workspace: dg.ResourceParam[Workspace]
) -> dg.RunRequest | dg.SkipReason:
    """Request a run for each state of the landing zone that has not been seen."""
    try:
        files = list_landing(workspace.settings).files
    except GoodputError as error:
        return dg.SkipReason(str(error))
    seen = fingerprint(files.sort("path", "landing").rows())
    if seen == context.cursor:
        return dg.SkipReason("nothing new in the landing zone")
    context.update_cursor(seen)
    return dg.RunRequest(run_key=seen)
