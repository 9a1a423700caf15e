"""How far around a window the relations of replicas look; the arithmetic is sql/measure/replicas/."""

from collections.abc import Mapping

from goodput.plumbing.node import Context, Lookaround


def lookaround(context: Context) -> Mapping[str, Lookaround]:
    """Attempts in flight, and readings up to staleness_s away, which is at most an hour."""
    reach = context.request_reach_h
    return {"attempts": Lookaround(reach, reach, calls=(reach, 0)), "replica_samples": Lookaround(1, 1, calls=(0, 0))}
