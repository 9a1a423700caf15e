"""Which labels and requests `evaluator_labels` is made from: the newest labels may judge requests of weeks ago.

See docs/semantics.md#labels.
"""

from collections.abc import Collection
from math import ceil

from goodput.measure.lookback import DAYS
from goodput.plumbing.hours import HOUR_S, day_of, epoch_hour, hours_of_day
from goodput.plumbing.node import Context, Span

_ZONES_H = 26  # between the time zones that lie furthest apart, by which a label may be dated wrongly
_OVERDUE_H = 14 * 24  # how long after label_lateness_s a label is still traced to its request


def newest_label_hours(context: Context, _partition: str) -> Collection[str]:
    """The hours with labels in the last days that have any, which are not those of the requests that they judge."""
    hours = context.lake.catalog["label_records"].filled
    days = sorted({day_of(hour) for hour in hours})[-DAYS:]
    return [hour for hour in hours if day_of(hour) in days]


def _around_labels(table: str, earlier_h: int, later_h: int) -> Span:
    """The hours of a table from `label_lateness_s` and so much more before these labels until so long after them."""

    def span(context: Context, partition: str) -> Collection[str]:
        hours = newest_label_hours(context, partition)
        if not hours:
            return ()
        lateness_h = ceil(context.settings.label_lateness_s / HOUR_S)
        first = epoch_hour(hours_of_day(day_of(min(hours)))[0]) - lateness_h - earlier_h
        last = epoch_hour(hours_of_day(day_of(max(hours)))[-1]) + context.request_reach_h + later_h
        return [hour for hour in context.lake.catalog[table].filled if first <= epoch_hour(hour) <= last]

    return span


SPANS = {
    "label_records": newest_label_hours,
    "quality_labels": _around_labels("quality_labels", 1, 0),
    "attempts": _around_labels("attempts", _OVERDUE_H, _ZONES_H),
}
