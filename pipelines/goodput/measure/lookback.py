"""Which partitions the latest window, and the days before it, lie in: what asks for the present state reads no more.

The newest day is the last with measured windows that telemetry reaches: a record that is dated ahead makes none. Where
there are metrics alone, nothing bounds it.
"""

from collections.abc import Collection

from goodput.plumbing.hours import HOUR_NS, HOUR_S, day_of, hour_label, is_hour
from goodput.plumbing.node import Context, Span

DAYS = 7
_NEVER = "9999-12-31"


def observed_hour(context: Context) -> int:
    """The hour, counted from the Unix epoch, in which observed telemetry ends."""
    return context.observed_ns[1] // HOUR_NS


def measured_days(context: Context, most: int = DAYS) -> list[str]:
    """The last days with measured windows, newest first."""
    last = day_of(hour_label(observed_hour(context))) if context.observed_ns[1] else _NEVER
    found = {day_of(partition) for partition in context.lake.catalog["goodput"].filled}
    return sorted((day for day in found if day <= last), reverse=True)[:most]


def longest_windows(days: int) -> Span:
    """The partitions of the longest windows of so many of the last measured days."""

    def span(context: Context, _partition: str) -> Collection[str]:
        is_hourly, wanted = max(context.settings.windows_s) <= HOUR_S, measured_days(context, days)
        partitions = context.lake.catalog["goodput"].parts
        return [
            partition for partition in partitions if is_hour(partition) is is_hourly and day_of(partition) in wanted
        ]

    return span


def hours_with_rows(table: str, days: int) -> Span:
    """The hours with rows of a table in so many of the last measured days."""

    def span(context: Context, _partition: str) -> Collection[str]:
        wanted = measured_days(context, days)
        return [hour for hour in context.lake.catalog[table].filled if day_of(hour) in wanted]

    return span


def unsettled_hours(context: Context, _partition: str) -> Collection[str]:
    """The hours in which a request may have arrived that is still in flight."""
    last = observed_hour(context)
    return [hour_label(hour) for hour in range(last - context.request_reach_h, last + 1)]
