"""How far around an hour `coverage` looks; the arithmetic is sql/measure/coverage.sql."""

from collections.abc import Mapping

from goodput.plumbing.node import OWN_HOURS, Context, Lookaround


def lookaround(context: Context) -> Mapping[str, Lookaround]:
    """An attempt lies where its request ended; the reading that counts it may come in the hour after it ended."""
    reach = context.request_reach_h
    return {"attempts": Lookaround(reach + 1, reach, calls=(reach, 0)), "replica_samples": OWN_HOURS}
