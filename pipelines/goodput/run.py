"""One run of the pipeline in this process: the assets that the schedule, the sensors and a backfill materialise."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import dagster as dg
from dagster._core.errors import (  # have no public names
    DagsterAssetCheckFailedError,
    DagsterExecutionInterruptedError,
)

from goodput.conform.assets import conformed
from goodput.errors import HeldHour, HoursHeld
from goodput.join.assets import joined, made_whole, sampled
from goodput.measure.assets import (
    charged,
    covered,
    disrupted,
    found_frontier,
    goodput_database,
    measured,
    wasted,
    watched,
)
from goodput.measure.stretches import stale_stretches
from goodput.monitor.assets import monitored
from goodput.notify.assets import delivered
from goodput.plumbing.held import read_held
from goodput.plumbing.hours import HOUR_FORMAT
from goodput.plumbing.workspace import Workspace

ASSETS = (
    *(conformed, made_whole, joined, sampled, covered, charged, wasted, measured, watched, found_frontier, disrupted),
    *(monitored, goodput_database, delivered),
)
_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
_ROUNDS = 3  # a check that holds an hour back stops its run; the other hours go on in the next


@dataclass(frozen=True)
class Ran:
    """What a run did."""

    sources_read: int
    sources_refused: int
    sources_unchanged: int
    hours_computed: int
    rows_quarantined: int  # of all sources, those read before as well


def run(workspace: Workspace, since: datetime | None = None, until: datetime | None = None) -> Ran:
    """Read what is new, compute what is stale (and, if asked, everything in [since, until)), publish.

    Raises GoodputError: what went wrong; HoursHeld at the end, when all else is published, if checks hold hours back;
    KeyboardInterrupt.
    """
    workspace.lake.open()
    with workspace.lake.lock():
        took_in = _materialize(workspace, conformed)
        _materialize(workspace, made_whole)
        computed = 0
        if since is not None and until is not None:
            computed += _compute(workspace, since.strftime(HOUR_FORMAT), until.strftime(HOUR_FORMAT), force=True)
        for _ in range(_ROUNDS):
            stretches = stale_stretches(workspace)
            for stretch in stretches:
                computed += _compute(workspace, stretch.first, stretch.last, force=False)
            if not stretches:
                break
        _materialize(workspace, found_frontier, disrupted)
        _materialize(workspace, monitored, goodput_database)
    if workspace.settings.channels:
        _materialize(workspace, delivered)  # beside the lock: the lake must not wait for receivers
    held = read_held(workspace.lake)
    if held:
        raise HoursHeld([HeldHour(item.table, item.cell, item.failures) for item in held])
    taken, quarantine = (_metadata(took_in, table) for table in ("serving_records", "quarantine"))
    return Ran(
        sources_read=taken["sources_read"],
        sources_refused=taken["sources_refused"],
        sources_unchanged=taken["sources_unchanged"],
        hours_computed=computed,
        rows_quarantined=quarantine["dagster/row_count"],
    )


def _compute(workspace: Workspace, first: str, last: str, *, force: bool) -> int:
    result = _materialize(
        workspace, joined, sampled, covered, charged, wasted, measured, watched, hours=(first, last), force=force
    )
    return int(_metadata(result, "requests").get("computed", 0))


def _materialize(
    workspace: Workspace,
    *assets: dg.AssetsDefinition,
    hours: tuple[str, str] | None = None,
    force: bool = False,
) -> dg.ExecuteInProcessResult | None:
    # Each in a Dagster instance of its own: where one remembers that the partitioned tables were made, the database
    # that depends on all their hours waits seconds while every possible hour is listed.
    tags = {}
    config: dict[str, Any] = dict(_QUIET)
    if hours:
        tags = {
            "dagster/asset_partition_range_start": hours[0],
            "dagster/asset_partition_range_end": hours[1],
        }
        config["ops"] = {asset.op.name: {"config": {"force": force}} for asset in assets}
    try:
        return dg.materialize(
            ASSETS,
            selection=[key for asset in assets for key in asset.keys],
            resources={"workspace": workspace},
            run_config=config,
            tags=tags,
        )
    except DagsterAssetCheckFailedError:  # what is held back is told at the end, when all else is published
        return None
    except DagsterExecutionInterruptedError as error:
        raise KeyboardInterrupt from error


def _metadata(result: dg.ExecuteInProcessResult | None, asset: str) -> dict[str, int]:
    events = _materializations(result, asset)
    return {
        key: int(value.value)
        for event in events
        for key, value in event.metadata.items()
        if isinstance(value.value, int)
    }


def _materializations(result: dg.ExecuteInProcessResult | None, asset: str) -> Sequence[dg.AssetMaterialization]:
    if result is None:
        return []
    found = result.filter_events(lambda e: e.is_step_materialization and e.asset_key == dg.AssetKey(asset))
    return [event.step_materialization_data.materialization for event in found]
