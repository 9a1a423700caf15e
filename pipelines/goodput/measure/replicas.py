"""Computes the relations of replicas by window; the arithmetic is sql/measure/replica_windows/ and its neighbours."""

from collections.abc import Mapping

import pyarrow as pa

from goodput.measure.hourly_sums import hourly_sums
from goodput.measure.part_hours import load_with_part_hour
from goodput.plumbing.node import Context, Lookaround, SettingsTable
from goodput.plumbing.parameters import as_rows
from goodput.settings.model import Settings


def lookaround(context: Context) -> Mapping[str, Lookaround]:
    """Attempts in flight, and readings up to staleness_s away, which is at most an hour."""
    reach = context.request_reach_h
    return {"attempts": Lookaround(reach, reach, calls=(reach, 0)), "replica_samples": Lookaround(1, 1, calls=(0, 0))}


def cache_options(settings: Settings) -> pa.Table:
    """How much of a prompt must come from the cache for a hit."""
    return as_rows("cache_options", {"hit_min_ratio": settings.cache_hit_min_ratio})


def context_options(settings: Settings) -> pa.Table:
    """How many tokens of input make a long context."""
    return as_rows("context_options", {"long_context_tokens": settings.long_context_tokens})


SETTINGS_TABLES: Mapping[str, SettingsTable] = {
    "cache_options": cache_options,
    "context_options": context_options,
}
HOURLY_SUMS = hourly_sums(
    ("step_attempts", "replica_spans", "busy_spans", "exact_attempt_quantiles", "step_attempt_latencies"),
    load_with_part_hour,
)
