"""Hours and days of event time as lake labels: "2026-11-20T09" and "2026-11-20". Only their arithmetic belongs here."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache

HOUR_S = 3600
HOUR_NS = HOUR_S * 10**9
_REMEMBERED = 2**16  # seven years of hours
HOUR_FORMAT = "%Y-%m-%dT%H"


@lru_cache(_REMEMBERED)
def hour_label(epoch_hour: int) -> str:
    """Label of an hour counted from the Unix epoch."""
    return datetime.fromtimestamp(epoch_hour * 3600, UTC).strftime(HOUR_FORMAT)


@lru_cache(_REMEMBERED)
def epoch_hour(label: str) -> int:
    """Hours from the Unix epoch to a label."""
    return int(datetime.strptime(label, HOUR_FORMAT).replace(tzinfo=UTC).timestamp()) // 3600


def is_hour(label: str) -> bool:
    """Whether a label is that of an hour, not of a day or of a whole table."""
    return "T" in label


def day_of(hour: str) -> str:
    """Label of the UTC day of an hour."""
    return hour[:10]


def hours_of_day(day: str) -> list[str]:
    """The 24 hours of a UTC day."""
    return [f"{day}T{hour:02d}" for hour in range(24)]


def instant_of(label: str) -> datetime:
    """When an hour or a UTC day begins."""
    return datetime.strptime(label, "%Y-%m-%dT%H" if is_hour(label) else "%Y-%m-%d").replace(tzinfo=UTC)


def shifted_day(day: str, by: int) -> str:
    """The day `by` days later."""
    return (datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=UTC) + timedelta(days=by)).strftime("%Y-%m-%d")


def shifted(hour: str, by: int) -> str:
    """The hour `by` hours later."""
    return hour_label(epoch_hour(hour) + by)


def neighbours(hours: Iterable[str], before: int, after: int) -> set[str]:
    """Every hour from `before` hours earlier to `after` hours later than one of `hours`."""
    numbers = {epoch_hour(hour) for hour in hours}
    return {hour_label(n + shift) for n in numbers for shift in range(-before, after + 1)}


def batches(hours: Iterable[str], size: int) -> Iterator[list[str]]:
    """Runs of at most `size` hours, in order, that lie within `size` hours of each other."""
    batch: list[str] = []
    for hour in sorted(hours):
        if batch and epoch_hour(hour) - epoch_hour(batch[0]) >= size:
            yield batch
            batch = []
        batch.append(hour)
    if batch:
        yield batch
