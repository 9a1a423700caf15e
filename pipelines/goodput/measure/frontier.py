"""Which windows `frontier` is computed from; the arithmetic is sql/measure/frontier/."""

from collections.abc import Collection

from goodput.plumbing.hours import day_of, shifted_day
from goodput.plumbing.node import Context

_DAYS = 7


def last_busy_week(context: Context, _partition: str) -> Collection[str]:
    """Partitions of windows of the days around the last week before the newest load window."""
    load_windows = context.lake.catalog["load_windows"].parts
    busy = [day_of(name) for name, parts in load_windows.items() if any(part.rows for part in parts)]
    if not busy:
        return ()
    first = shifted_day(max(busy), -_DAYS)
    return [name for name in context.lake.catalog["goodput"].parts if day_of(name) >= first]
