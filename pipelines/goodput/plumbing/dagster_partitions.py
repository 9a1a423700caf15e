"""The hours of the lake as Dagster's partitions: those that there are, in order, and no others."""

from collections.abc import Sequence
from itertools import takewhile

import dagster as dg

# Dynamic: a window from a first hour to a last would count every hour without telemetry as missing, and would know of
# an hour that arrives later only once the definitions are loaded again.
_NAME = "hours"
HOURS = dg.DynamicPartitionsDefinition(name=_NAME)


UNFINISHED = dg.RunsFilter(
    statuses=[
        *(dg.DagsterRunStatus.QUEUED, dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.STARTING),
        *(dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING),
    ]
)


def update_hours(instance: dg.DagsterInstance, hours: Sequence[str]) -> None:
    """Make `hours`, which are in order, the partitions of an instance; while a run is under way only add to them.

    Dagster takes them in the order in which they were added, for ranges and for what is newest. So where an hour comes
    late, those after it are added again; what was reported of them stays.
    """
    known = list(instance.get_dynamic_partitions(_NAME))
    missing = sorted(set(hours) - set(known))
    if known != list(hours) and not instance.get_run_records(UNFINISHED, limit=1):
        kept = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(known, hours, strict=False)))
        missing = list(hours[kept:])
        for hour in known[kept:]:
            instance.delete_dynamic_partition(_NAME, hour)
    if missing:
        instance.add_dynamic_partitions(_NAME, missing)
