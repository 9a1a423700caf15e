"""What the sensors look at: which hours are stale, and what was computed beside Dagster. The lake is only read.

Whatever a sensor reports or requests follows from the state of the lake, so that asking again changes nothing.
"""

from collections.abc import Sequence

import dagster as dg

from goodput.plumbing.blocked import Blocked
from goodput.plumbing.catalog import ALL
from goodput.plumbing.dagster_partitions import UNFINISHED
from goodput.plumbing.dagster_report import report
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.hours import HOUR_NS
from goodput.plumbing.node import STORED, Context, Node, hours_in
from goodput.plumbing.plan import due
from goodput.plumbing.stored_assets import StoredAsset, hours_of

_RANGE_START, _RANGE_END = "dagster/asset_partition_range_start", "dagster/asset_partition_range_end"


def request_stale_hours(
    sensor: dg.SensorEvaluationContext, context: Context, nodes: Sequence[Node], assets: Sequence[StoredAsset]
) -> dg.SensorResult | dg.SkipReason:
    """Request one run from the first to the last stale hour, once for each state of what these are made from, and
    once an hour where some broke.

    What was computed beside Dagster since the last look is reported on the way.
    """
    if not context.lake.is_made:
        return dg.SkipReason(f"there is no lake in {context.lake.address} yet")
    if sensor.instance.get_run_records(UNFINISHED, limit=1):
        return dg.SkipReason("a run is under way")
    retried_h = _retried(context)
    looked = fingerprint(_state(context), retried_h)
    if looked == sensor.cursor:
        return dg.SkipReason("the lake and the settings are as they were")
    report(sensor.instance, context, assets)
    stale = stale_partitions(context, nodes)
    request = _request(stale, hours_of(assets, context), retried_h)
    return dg.SensorResult(
        run_requests=[request] if request else [],
        skip_reason=None if request else "no hour is stale",
        cursor=looked,
    )


def stale_partitions(context: Context, nodes: Sequence[Node]) -> dict[str, dict[str, str]]:
    """Partitions to be computed by node, with the fingerprint of what each will be made from.

    Left out are those that an audit has blocked for the same inputs: they would fail again.
    """
    blocked = Blocked(context.lake)
    found = {node.name: (node, due(node, context)) for node in nodes}
    ready = {
        name: {p: inputs for p, inputs in partitions.items() if not blocked.standing(node.tables, p, inputs)}
        for name, (node, partitions) in found.items()
    }
    return {name: partitions for name, partitions in ready.items() if partitions}


def _retried(context: Context) -> int | None:
    """The hour of now where something broke: it is tried again every hour, as by `goodput run`; None: nothing did."""
    broke = any(item.may_succeed for item in Blocked(context.lake).all())
    return context.now_ns // HOUR_NS if broke else None


def _request(stale: dict[str, dict[str, str]], known: Sequence[str], retried_h: int | None) -> dg.RunRequest | None:
    """A run over the range of the stale hours; over the newest hour where only tables without hours are stale."""
    if not stale or not known:
        return None
    partitions = {partition for of_node in stale.values() for partition in of_node} - {ALL}
    asked = {hour for partition in partitions for hour in hours_in(partition)}
    hours = [hour for hour in known if hour in asked] or [known[-1]]
    return dg.RunRequest(run_key=fingerprint(stale, retried_h), tags={_RANGE_START: hours[0], _RANGE_END: hours[-1]})


def _state(context: Context) -> str:
    versions = {table: context.lake.catalog[table].version for table in sorted(STORED)}
    return fingerprint(versions, context.settings.model_dump(mode="json"))
