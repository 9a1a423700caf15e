"""Dagster's assets, generated from what the plan's nodes and the contracts declare: one multi-asset for each step.

An op does what `goodput run` does in the same step, under the lake's lock, for which it waits. What it reports is by
partition: in one run over a range some may be blocked, and each has a version of its own.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import nullcontext
from datetime import timedelta

import dagster as dg
from dagster._core.definitions.source_asset import SYSTEM_METADATA_KEY_SOURCE_ASSET_OBSERVATION as EVENTS_COME_APART

from goodput.contracts import contract, contract_names
from goodput.plumbing.asset_checks import AssetCheck
from goodput.plumbing.dagster_columns import lineage_table, schema_of
from goodput.plumbing.dagster_events import ReportEvents
from goodput.plumbing.dagster_partitions import HOURS, update_hours
from goodput.plumbing.hours import is_hour
from goodput.plumbing.node import Context
from goodput.plumbing.plan import Outcome
from goodput.plumbing.stored_assets import DATABASE, StoredAsset, hours_of
from goodput.plumbing.workspace import Workspace

OWNERS = ["team:goodput"]
LOCK_WAIT_S = 6 * 3600.0  # for another run to end
# Telemetry comes every hour, and with it something to publish: two hours without are late, a morning is a fault.
FRESH = dg.FreshnessPolicy.time_window(warn_window=timedelta(hours=2), fail_window=timedelta(hours=6))
Work = Callable[[Workspace, Collection[str] | None, bool], Outcome | None]
Results = Iterator[dg.MaterializeResult[None] | dg.AssetMaterialization | dg.AssetCheckResult]


class Recompute(dg.Config):
    """Whether partitions whose inputs have not changed are computed again too."""

    force: bool = False


def step_assets(
    assets: Sequence[StoredAsset], work: Work, known: Sequence[StoredAsset], *, locked: bool = True
) -> dg.AssetsDefinition:
    """The assets that one step makes by `work`, of all that are `known`.

    `work` is given the workspace, the hours asked for (None: all) and whether to compute again what is up to date.
    """
    first = assets[0]
    is_hourly = any(asset.is_hourly for asset in assets)
    hourly = {asset.name for asset in known if asset.is_hourly}

    @dg.multi_asset(
        name=f"{first.step}_step",
        specs=[_spec(asset, hourly) for asset in assets],
        check_specs=[_check_spec(asset, asset.check) for asset in assets if asset.check],
        backfill_policy=dg.BackfillPolicy.single_run() if is_hourly else None,
        description=first.description,
    )
    def step(context: dg.AssetExecutionContext, config: Recompute, workspace: dg.ResourceParam[Workspace]) -> Results:
        lake = workspace.lake
        partitions = context.partition_keys if context.has_partition_key or context.has_partition_key_range else ()
        with lake.lock(LOCK_WAIT_S) if locked else nullcontext():
            lake.open()
            now = Context(lake, workspace.settings)
            new = set() if config.force else _unknown_hours(context.instance, assets, now)
            outcome = work(workspace, {*partitions, *new} if partitions else None, config.force)
        hours = hours_of(known, now)
        if first.node is None:
            update_hours(context.instance, hours)
        if outcome is not None and outcome.blocked:
            context.log.error(_blocked(outcome))
        blocked = {item.partition for item in outcome.blocked} if outcome else set()
        computed = {*(outcome.computed if outcome else ()), *partitions} - blocked  # what is blocked is as it was
        yield from _results(assets, ReportEvents(context.instance, now, known, hours), computed)

    return step


def _unknown_hours(instance: dg.DagsterInstance, assets: Sequence[StoredAsset], context: Context) -> set[str]:
    """Hours that nobody could ask for, as what calls for them was computed in this very run: they come along."""
    called = set().union(*(asset.called(context) for asset in assets if asset.is_hourly and asset.node))
    return {hour for hour in called if is_hour(hour)} - set(instance.get_dynamic_partitions(HOURS.name or ""))


def _results(assets: Sequence[StoredAsset], events: ReportEvents, computed: Collection[str]) -> Results:
    for asset in (asset for asset in events.assets if asset.step == assets[0].step and asset not in assets):
        yield from events.of(asset)  # what the step reads, and nobody makes
    for asset in assets:
        yield from events.of(asset, computed or {"all"})
        # Dagster would report one version for all partitions of the run, also of those that are blocked.
        yield dg.MaterializeResult(asset_key=asset.name, metadata={EVENTS_COME_APART: True})
        if asset.check:
            yield events.check_of(asset, asset.check)


def _spec(asset: StoredAsset, hourly: Collection[str]) -> dg.AssetSpec:
    whole = dg.AllPartitionMapping()
    same = dg.IdentityPartitionMapping()
    return dg.AssetSpec(
        asset.name,
        description=contract(asset.name).description if asset.name in contract_names() else asset.description,
        group_name=asset.stage,
        owners=OWNERS,
        kinds=set(asset.kinds),
        deps=[
            dg.AssetDep(name, partition_mapping=(same if asset.is_hourly else whole) if name in hourly else None)
            for name in asset.deps
        ],
        code_version=asset.code_version or None,
        metadata=_metadata(asset),
        partitions_def=HOURS if asset.is_hourly else None,
        freshness_policy=FRESH if asset.name == DATABASE else None,
    )


def _metadata(asset: StoredAsset) -> dict[str, dg.TableSchema | dg.MarkdownMetadataValue]:
    if asset.name not in contract_names():
        return {}
    return {"dagster/column_schema": schema_of(asset.name), **lineage_table(asset)}


def _check_spec(asset: StoredAsset, check: AssetCheck) -> dg.AssetCheckSpec:
    """A check that fails stops nothing: the plan itself holds up what reads a blocked partition, and only that."""
    return dg.AssetCheckSpec(check.name, asset=asset.name, blocking=False, description=check.description)


def _blocked(outcome: Outcome) -> str:
    lines = [f"{item.table} {item.partition}: {item.reason}" for item in outcome.blocked]
    return "\n".join([f"{len(lines)} partition(s) are blocked; the others go on:", *lines])
