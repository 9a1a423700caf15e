"""Stage 6 as an asset: deliveries of alarms. Whatever goes wrong with them, the run that made the numbers goes on."""

import dagster as dg

from goodput.notify.deliver import deliver
from goodput.plumbing.asset_tags import table_spec
from goodput.plumbing.workspace import Workspace


@dg.multi_asset(
    name="notify",
    specs=[table_spec("deliveries", "notify", kinds={"sqlite", "parquet"}, deps=["alarm_events", "goodput_database"])],
    description="Tells the channels of the settings what alarms did. `goodput notify` does the same at any time.",
)
def delivered(context: dg.AssetExecutionContext, workspace: dg.ResourceParam[Workspace]) -> dg.MaterializeResult[None]:
    """Enqueue what is new and send what is due, for as long as the settings allow a run to take for it."""
    settings = workspace.settings
    if not settings.channels:
        return dg.MaterializeResult(metadata={"channels": 0})
    try:
        done = deliver(workspace.lake, settings, settings.notify.run_budget_s)
    except Exception as error:
        context.log.warning(f"alarms are not delivered: {error}\n`goodput notify --status` says what waits.")
        return dg.MaterializeResult(metadata={"error": str(error)})
    if done.undrawn:
        context.log.warning(f"plots of alarms are missing: {done.undrawn}")
    return dg.MaterializeResult(
        metadata={
            "enqueued": done.enqueued,
            "delivered": done.drained.delivered,
            "failed": done.drained.failed,
            "pending": done.pending,
            "dead": done.dead,
        }
    )
