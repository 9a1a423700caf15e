"""The only assembly: assets, jobs, schedule and sensors in one `dagster.Definitions`.

Nothing is computed here; `goodput run`, the schedule, the sensors and a backfill all materialise these assets.
"""

import dagster as dg

from goodput.collect.assets import landing, landing_changed
from goodput.conform.assets import conformed
from goodput.join.assets import made_whole
from goodput.measure.assets import disrupted, goodput_database
from goodput.measure.stretches import stale_stretches
from goodput.plumbing.workspace import Workspace
from goodput.run import ASSETS


@dg.failure_hook
def say_what_failed(context: dg.HookContext) -> None:
    """Say which step failed, why, and what to do about it, in one line that an alert can be made of."""
    error = context.op_exception
    context.log.error(
        f"{context.step_key} failed in {context.job_name}: {error}. What was published before stays as it is; "
        "mend the cause and run again: only what is missing is computed."
    )


ingest = dg.define_asset_job(
    "ingest",
    selection=dg.AssetSelection.assets(*conformed.keys, *made_whole.keys, *disrupted.keys, *goodput_database.keys),
    hooks={say_what_failed},
    executor_def=dg.in_process_executor,
    description="Read what is new in the landing zone, make whole what has no hours, then publish.",
)
hours = dg.define_asset_job(
    "hours",
    selection=dg.AssetSelection.assets(*(key for asset in ASSETS[1:] for key in asset.keys)),
    hooks={say_what_failed},
    executor_def=dg.in_process_executor,
    description="Join and measure stale hours, make whole what has none, judge the alarms, publish, then tell of them.",
)


@dg.sensor(
    job=hours,
    minimum_interval_seconds=60,
    description="Starts `hours` for every stretch of event time whose inputs have changed.",
)
def hours_stale(context: dg.SensorEvaluationContext, workspace: dg.ResourceParam[Workspace]) -> dg.SensorResult:
    """Request one run per stretch of stale hours, once for each state of its inputs."""
    stretches = stale_stretches(workspace)
    requests = [
        dg.RunRequest(
            run_key=stretch.inputs,
            tags={
                "dagster/asset_partition_range_start": stretch.first,
                "dagster/asset_partition_range_end": stretch.last,
            },
        )
        for stretch in stretches
    ]
    return dg.SensorResult(run_requests=requests, skip_reason=None if requests else "no hour is stale")


def hourly(grace_s: float) -> dg.ScheduleDefinition:
    """Every hour, `grace_s` after it ended: time for its late telemetry to land. `hours_stale` does the rest."""
    return dg.ScheduleDefinition(
        name="hourly",
        job=ingest,
        cron_schedule=f"{int(grace_s // 60)} * * * *",
        execution_timezone="UTC",
        description="Reads what landed in the last hour, once its late telemetry has had time to land.",
    )


def build_defs(*, workspace: Workspace | None = None) -> dg.Definitions:
    """All definitions, over the given workspace or over ./goodput.toml."""
    at_work = workspace or Workspace()
    return dg.Definitions(
        assets=[landing, *ASSETS],
        jobs=[ingest, hours],
        schedules=[hourly(at_work.settings.schedule.grace_s)],
        sensors=[landing_changed, hours_stale],
        resources={"workspace": at_work},
        executor=dg.in_process_executor,
    )


defs = build_defs()
