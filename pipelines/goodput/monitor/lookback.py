"""How far back an evaluation looks: as far as its verdicts of the last weeks need, and as far as what still fires.

A score needs four weeks before it, and an episode four weeks of scores before it: older rows change nothing that is
reported anew, however long a lake lives.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any

from goodput.monitor.detector import HISTORY_DAYS, LAG_DAYS

_JUDGED = timedelta(days=28)  # what late data may still change, and what a page's budget counts
_SCORED = timedelta(days=HISTORY_DAYS + LAG_DAYS)
_LEAD = timedelta(days=7)  # in which a score that begins with less history behind it has settled


@dataclass(frozen=True)
class Lookback:
    """Rows since `since` (a Monday's UTC midnight) are read; what began before `settled` stays as reported.

    A history that begins a day later is another one: all of it is judged anew once a week, not every day.
    """

    since: datetime
    settled: datetime


def lookback(newest: datetime, recorded: Iterable[dict[str, Any]]) -> Lookback:
    """The lookback of an evaluation whose newest window begins at `newest`, given the rows of alarm_events."""
    settled = min([newest - 2 * _JUDGED, *_still_open(recorded)])
    return Lookback(_monday(settled - _SCORED - _LEAD), settled)


def _still_open(recorded: Iterable[dict[str, Any]]) -> list[datetime]:
    """When each episode began that fired and is not over."""
    begun: dict[tuple[str, datetime], datetime] = {}
    for event in recorded:
        episode = (event["alarm_id"], event["starts_at"])
        what = event["reason"] if event["transition"] == "corrected" else None
        if event["metric"] is not None and (event["transition"] == "firing" or what == "resolved"):
            begun[episode] = event["starts_at"]
        elif event["transition"] == "resolved" or what == "firing":
            begun.pop(episode, None)
    return list(begun.values())


def _monday(at: datetime) -> datetime:
    day = at.astimezone(UTC).date()
    return datetime.combine(day - timedelta(days=day.weekday()), time(), UTC)
