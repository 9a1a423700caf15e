"""The only assembly: assets, jobs, schedule and sensors in one `dagster.Definitions`.

Every op does what the same step of `goodput run` does; the schedule, the sensors and backfills start them.
"""

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from uuid import UUID

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition  # no public name

from goodput.collect.scan import listing_of, unseen
from goodput.errors import GoodputError, SourcesFailed
from goodput.lineage import ALARMS, ASSETS, DELIVER, FILES, INGEST, LANDING, PUBLISH
from goodput.nodes import NODES
from goodput.plumbing.dagster_assets import OWNERS, Work, step_assets
from goodput.plumbing.dagster_sensors import request_stale_hours
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.node import Context, Node
from goodput.plumbing.plan import Outcome, in_order
from goodput.plumbing.stored_assets import assets_of
from goodput.plumbing.workspace import Workspace
from goodput.renaming import rename_identities, renamed_line
from goodput.report.write import write_page
from goodput.runners.chosen import running
from goodput.steps import (
    Suspects,
    compute_node,
    deliver_alarms,
    export_metrics,
    ingest_sources,
    judge_alarms,
    mended,
    publish_database,
    read_by_broken,
    remake_damaged,
)
from goodput.telemetry.facts import of_published
from goodput.telemetry.traced import traced

landing = dg.AssetSpec(
    LANDING, description=FILES.description, group_name=FILES.stage, owners=OWNERS, kinds=set(FILES.kinds)
)


def _compute(node: Node, workspace: Workspace, asked: Collection[str] | None, force: bool) -> Outcome:
    with running(workspace):
        context = Context(workspace.lake, workspace.settings, workspace.progress, workspace.telemetry, workspace.runner)
        outcome = compute_node(context, node, among=asked, force=force)
        if _remake(workspace, read_by_broken(workspace, [outcome]), node):
            return compute_node(context, node, among=asked)
        return outcome


def _remake(workspace: Workspace, suspects: Suspects, until: Node | None) -> bool:
    """Make those of some parts that are damaged again, and what nodes before `until` (all nodes) make from them.

    At once, and of all hours: nobody may compute or publish anything without the rows that are gone.
    """
    damaged = remake_damaged(workspace, suspects)
    for damage in damaged:
        dg.get_dagster_logger().warning(f"{damage.part.path} {damage.reason}: it is made again")
    if damaged:
        _ingest(workspace, None, False)
        context = Context(workspace.lake, workspace.settings, workspace.progress, workspace.telemetry, workspace.runner)
        for earlier in takewhile(lambda one: one is not until, in_order(NODES)):
            compute_node(context, earlier)
    return bool(damaged)


def _ingest(workspace: Workspace, _asked: Collection[str] | None, _force: bool) -> None:
    renamed = rename_identities(workspace)
    if renamed:
        dg.get_dagster_logger().info(renamed_line(workspace.settings, renamed))
    failed = ingest_sources(workspace).failed
    if failed:
        dg.get_dagster_logger().error(str(SourcesFailed(failed)))


def _alarms(workspace: Workspace, _asked: Collection[str] | None, _force: bool) -> None:
    publish_database(workspace)  # alarms are judged by what is published
    judge_alarms(workspace)


def _publish(workspace: Workspace, _asked: Collection[str] | None, _force: bool) -> None:
    publish_database(workspace)
    of_published(workspace.telemetry, workspace.lake)
    page = workspace.settings.report_path
    if page is not None:
        try:
            write_page(workspace.config, workspace.lake_path, page)
        except (GoodputError, OSError) as error:  # a page that cannot be written costs no run
            dg.get_dagster_logger().warning(f"The report is not written: {error}")


def _deliver(workspace: Workspace, _asked: Collection[str] | None, _force: bool) -> None:
    undelivered = deliver_alarms(workspace)
    if undelivered:
        dg.get_dagster_logger().warning(f"Alarms are not delivered: {undelivered}")
    unexported = export_metrics(workspace)
    if unexported:
        dg.get_dagster_logger().warning(f"Metrics are not exported: {unexported}")


def _mended(work: Work, until: Node | None = None) -> Work:
    """The same, once more for each part of the lake that turns out to be unreadable and can be made again."""

    def mended_step(workspace: Workspace, asked: Collection[str] | None, force: bool) -> Outcome | None:
        def remake(suspects: Suspects) -> None:
            with running(workspace):
                _remake(workspace, suspects, until)

        return mended(workspace, lambda: work(workspace, asked, force), remake)

    return mended_step


def _traced(work: Work) -> Work:
    """The same, traced: all steps of a Dagster run are one trace, whose id is the run's."""

    def traced_step(workspace: Workspace, asked: Collection[str] | None, force: bool) -> Outcome | None:
        run_id = dg.AssetExecutionContext.get().run.run_id
        with traced(workspace, "goodput step", UUID(run_id).int):
            return work(workspace, asked, force)

    return traced_step


INGEST_STEP = step_assets(INGEST, _traced(_mended(_ingest)), ASSETS)
NODE_STEPS = [step_assets(assets_of(node), _traced(_mended(partial(_compute, node), node)), ASSETS) for node in NODES]
END_STEPS = [
    step_assets(ALARMS, _traced(_mended(_alarms)), ASSETS),
    step_assets(PUBLISH, _traced(_mended(_publish)), ASSETS),
    step_assets(DELIVER, _traced(_deliver), ASSETS, locked=False),
]


@dg.failure_hook
def log_failure(context: dg.HookContext) -> None:
    """Log which step failed, why, and what to do about it, in one line that an alert can be made of."""
    error = context.op_exception
    context.log.error(
        f"{context.step_key} failed in {context.job_name}: {error}. What was published before stays as it is; "
        "fix the cause and run again: only what is missing is computed."
    )


def _job(name: str, steps: Sequence[dg.AssetsDefinition], description: str) -> UnresolvedAssetJobDefinition:
    return dg.define_asset_job(
        name,
        selection=dg.AssetSelection.assets(*(key for step in steps for key in step.keys)),
        hooks={log_failure},
        executor_def=dg.in_process_executor,
        description=description,
    )


def _before_hours() -> list[dg.AssetsDefinition]:
    """Steps of which nothing is made from hours: what is would be audited beside hours that are stale."""
    steps = {node.name: step for node, step in zip(NODES, NODE_STEPS, strict=True)}
    waiting: set[str] = set()
    found = []
    for node in in_order(NODES):
        step = steps[node.name]
        if any(spec.partitions_def for spec in step.specs) or waiting.intersection({*node.inputs, *node.consults}):
            waiting.update(node.tables)
        else:
            found.append(step)
    return found


ingest = _job(
    "ingest",
    [INGEST_STEP, *_before_hours(), *END_STEPS],
    "Read what is new in the landing zone, compute what hours are made from, judge the alarms, publish.",
)
hours = _job(
    "hours",
    [*NODE_STEPS, *END_STEPS],
    "Compute the stale tables of a range of hours and what has none, judge the alarms, publish.",
)


@dg.sensor(
    job=ingest,
    minimum_interval_seconds=60,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Starts `ingest` when a file of the landing zone is new or has grown.",
)
def landing_changed(
    context: dg.SensorEvaluationContext, workspace: dg.ResourceParam[Workspace]
) -> dg.RunRequest | dg.SkipReason:
    """Request a run for each state of the landing zone that holds anything new and has not been seen."""
    now = replace(workspace)  # settings and lake as they are at this moment
    try:
        now.lake.pull()
        files = listing_of(now.lake, now.settings).files
        seen = fingerprint(files.sort("path", "landing").rows())
        if seen == context.cursor or unseen(now.lake, now.settings, files).is_empty():
            return dg.SkipReason("nothing new in the landing zone")
    except GoodputError as error:
        return dg.SkipReason(str(error))
    context.update_cursor(seen)
    return dg.RunRequest(run_key=seen)


@dg.sensor(
    job=hours,
    minimum_interval_seconds=60,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Starts `hours` over the hours whose inputs have changed; shows what ran outside Dagster.",
)
def hours_stale(
    context: dg.SensorEvaluationContext, workspace: dg.ResourceParam[Workspace]
) -> dg.SensorResult | dg.SkipReason:
    """Request a run over the stale hours."""
    now = replace(workspace)
    try:
        now.lake.pull()
        return request_stale_hours(context, Context(now.lake, now.settings), NODES, ASSETS)
    except GoodputError as error:
        return dg.SkipReason(str(error))


def hourly(grace_s: float) -> dg.ScheduleDefinition:
    """Every hour, `grace_s` after it ended: time for its late telemetry to land. `hours_stale` does the rest."""
    return dg.ScheduleDefinition(
        name="hourly",
        job=ingest,
        cron_schedule=f"{int(grace_s // 60)} * * * *",
        execution_timezone="UTC",
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Reads what landed in the last hour, once its late telemetry has had time to land.",
    )


def build_defs(*, workspace: Workspace | None = None) -> dg.Definitions:
    """All definitions, over the given workspace, else over the settings in GOODPUT_CONFIG or in ./goodput.toml."""
    named = os.environ.get("GOODPUT_CONFIG")  # where a launcher's run stands is the launcher's choice
    at_work = workspace or Workspace(Path(named) if named else None)
    return dg.Definitions(
        assets=[landing, INGEST_STEP, *NODE_STEPS, *END_STEPS],
        jobs=[ingest, hours],
        schedules=[hourly(at_work.settings.schedule.grace_s)],
        sensors=[landing_changed, hours_stale],
        resources={"workspace": at_work},
        executor=dg.in_process_executor,
    )


defs = build_defs()
