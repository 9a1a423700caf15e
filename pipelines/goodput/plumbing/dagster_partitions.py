"""The hours of the lake as Dagster's partitions: those that there are, in order, and no others."""

from collections.abc import Sequence

import dagster as dg

# Dynamic: a window from a first hour to a last would count every hour without telemetry as missing, and would know of
# an hour that arrives later only once the definitions are loaded again.
HOURS = dg.DynamicPartitionsDefinition(name="hours")


def update_hours(instance: dg.DagsterInstance, hours: Sequence[str]) -> None:
    """Make `hours`, which are in order, the partitions of an instance.

    Dagster takes them in the order in which they were added, for ranges and for what is newest. So where an hour comes
    late, those after it are added again; what was reported of them stays.
    """
    known = list(instance.get_dynamic_partitions("hours"))
    kept = next((i for i, pair in enumerate(zip(known, hours, strict=False)) if pair[0] != pair[1]), None)
    kept = min(len(known), len(hours)) if kept is None else kept
    for hour in known[kept:]:
        instance.delete_dynamic_partition("hours", hour)
    if hours[kept:]:
        instance.add_dynamic_partitions("hours", list(hours[kept:]))
