"""The only assembly: assets, jobs, schedule and sensors in one `dagster.Definitions`.

Nothing is computed here; `goodput run`, the schedule, the sensors and a backfill all materialise these assets.
"""

import dagster as dg

from goodput.collect.assets import landing, landing_changed
from goodput.conform.assets import conformed
from goodput.join.assets import joined
from goodput.measure.assets import goodput_database, measured
from goodput.measure.stretches import stale_hours
from goodput.plumbing.workspace import Workspace

ASSETS = (conformed, joined, measured, goodput_database)


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
    selection=dg.AssetSelection.assets(*conformed.keys),
    hooks={say_what_failed},
    executor_def=dg.in_process_executor,
    description="Read what is new in the landing zone.",
)
hours = dg.define_asset_job(
    "hours",
    selection=dg.AssetSelection.assets(*joined.keys, *measured.keys, *goodput_database.keys),
    hooks={say_what_failed},
    executor_def=dg.in_process_executor,
    description="Join and measure the stale hours of a range, then publish.",
)


@dg.sensor(
    job=hours,
    minimum_interval_seconds=60,
    description="Starts `hours` for every stretch of event time whose inputs have changed.",
)
def hours_stale(context: dg.SensorEvaluationContext, workspace: dg.ResourceParam[Workspace]) -> dg.SensorResult:
    """Request one run per stretch of stale hours, once for each state of its inputs."""
    stretches = stale_hours(workspace)
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


@dg.schedule(
    job=ingest,
    cron_schedule="10 * * * *",
    execution_timezone="UTC",
    description="Every hour, ten minutes past it: time for late telemetry of the hour to land.",
)
def hourly(context: dg.ScheduleEvaluationContext) -> dg.RunRequest:
    """Read what landed in the last hour; `hours_stale` does the rest."""
    return dg.RunRequest(run_key=None, tags={"goodput/scheduled": context.scheduled_execution_time.isoformat()})


def build_defs(*, workspace: Workspace | None = None) -> dg.Definitions:
    """All definitions, over the given workspace or over ./goodput.toml."""
    return dg.Definitions(
        assets=[landing, *ASSETS],
        jobs=[ingest, hours],
        schedules=[hourly],
        sensors=[landing_changed, hours_stale],
        resources={"workspace": workspace or Workspace()},
        executor=dg.in_process_executor,
    )


defs = build_defs()
