"""Reports a run that Dagster did not start to the instance that DAGSTER_HOME names, so that its UI shows what ran."""

import logging
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain

import dagster as dg
from dagster._core.events import DagsterEvent as Event
from dagster._core.events import DagsterEventType, StepMaterializationData  # events of no run have no public names
from dagster._core.instance.utils import RUNLESS_JOB_NAME, RUNLESS_RUN_ID
from dagster._core.storage.event_log import SqliteEventLogStorage

from goodput.plumbing.asset_checks import AssetCheck
from goodput.plumbing.dagster_events import ReportEvents
from goodput.plumbing.dagster_partitions import update_hours
from goodput.plumbing.node import Context
from goodput.plumbing.plan import Outcome
from goodput.plumbing.stored_assets import StoredAsset, hours_of


def report_run(context: Context, assets: Sequence[StoredAsset], outcomes: Iterable[Outcome]) -> None:
    """Report to the instance of DAGSTER_HOME what a run has computed; where that fails, warn: its numbers are good."""
    try:
        with dg.DagsterInstance.get() as instance:
            report(instance, context, assets, outcomes)
    except Exception as error:  # an instance may be down, misconfigured or of another version
        logging.getLogger(__name__).warning("The run is not reported to Dagster: %s", error)


def report(
    instance: dg.DagsterInstance, context: Context, assets: Sequence[StoredAsset], outcomes: Iterable[Outcome] = ()
) -> int:
    """Store what the instance does not know of the assets yet and what `outcomes` computed; how many events that were.

    An asset without hours that was found up to date is reported too: its inputs may have changed without effect.
    """
    hours = hours_of(assets, context)
    update_hours(instance, hours)
    events = ReportEvents(instance, context, assets, hours)
    computed = {outcome.node.name: _hours(outcome) for outcome in outcomes}
    made = {asset.name: list(events.of(asset, computed.get(asset.step, ()))) for asset in assets}
    # what a step read or computed may fail the check of a table that is as it was
    news = {*computed, *(asset.step for asset in assets if made[asset.name])}
    checked = [(asset, asset.check) for asset in assets if asset.check and asset.step in news]
    _store(instance, list(chain.from_iterable(made.values())))
    for asset, check in checked:
        instance.report_runless_asset_event(_evaluation(asset, check, events.check_of(asset, check)))
    return sum(map(len, made.values())) + len(checked)


def _hours(outcome: Outcome) -> Collection[str]:
    return outcome.computed.keys() or {"none"}


def _evaluation(asset: StoredAsset, check: AssetCheck, found: dg.AssetCheckResult) -> dg.AssetCheckEvaluation:
    return dg.AssetCheckEvaluation(
        dg.AssetKey(asset.name),
        check.name,
        found.passed,
        found.metadata,
        severity=found.severity,
        description=found.description,
    )


def _store(instance: dg.DagsterInstance, found: Sequence[dg.AssetMaterialization]) -> None:
    """Store materializations of no run together: one at a time, SQLite takes 15 ms of CPU and six flushes for each."""
    entries = [_entry(materialization) for materialization in found]
    storage = instance.event_log_storage
    if not isinstance(storage, SqliteEventLogStorage):
        storage.store_event_batch(entries)
    elif entries:
        inserts = [storage.prepare_insert_event(entry) for entry in entries]
        with storage.run_connection(RUNLESS_RUN_ID) as connection:
            for insert in inserts:
                connection.execute(insert)
        with storage.index_connection() as connection:
            ids = [int(connection.execute(insert).lastrowid) for insert in inserts]
        storage.store_asset_event_tags(entries, ids)
        for entry, event_id in _newest_of_each(entries, ids).values():
            storage.store_asset_event(entry, event_id)


def _entry(materialization: dg.AssetMaterialization) -> dg.EventLogEntry:
    event = Event(
        event_type_value=DagsterEventType.ASSET_MATERIALIZATION.value,
        event_specific_data=StepMaterializationData(materialization),
        job_name=RUNLESS_JOB_NAME,
    )
    return dg.EventLogEntry(  # type: ignore[no-untyped-call]
        error_info=None,
        level="DEBUG",
        user_message="",
        run_id=RUNLESS_RUN_ID,
        timestamp=time.time(),
        job_name=RUNLESS_JOB_NAME,
        dagster_event=event,
    )


def _newest_of_each(
    entries: Sequence[dg.EventLogEntry], ids: Sequence[int]
) -> Mapping[dg.AssetKey | None, tuple[dg.EventLogEntry, int]]:
    return {entry.get_dagster_event().asset_key: (entry, at) for entry, at in zip(entries, ids, strict=True)}
