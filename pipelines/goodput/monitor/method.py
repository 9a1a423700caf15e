"""What an upgrade does to alarms: nobody is notified because another method judges now.

What fired before goes on under the name that it has, what only the new method finds in hours that the old one judged is
recorded and not reported, and what the old one reported keeps its evidence.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from goodput.monitor.observed_transition import ObservedTransition

METHOD = 4  # of judging; another number keeps events of an older one from being corrected
HEARTBEAT = f"watchdog {METHOD}"  # tells of each run by which method it judged
OTHER_METHOD = "method"
_Episode = tuple[str, datetime]


def upgraded_at(recorded: Iterable[Mapping[str, Any]]) -> datetime | None:
    """When another method judged for the last time; None: none ever did."""
    other = [e["recorded_at"] for e in recorded if e["transition"] == "heartbeat" and e["method"] != HEARTBEAT]
    return max(other, default=None)


def heartbeat(now: datetime) -> ObservedTransition:
    """The pipeline's own sign of life, once an hour however often it runs."""
    hour = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    columns = {
        "rule": "watchdog",
        "kind": "watchdog",
        "severity": "none",
        "method": HEARTBEAT,
        "summary": "The pipeline ran and judged its alarms",
    }
    return ObservedTransition("watchdog", "heartbeat", hour, hour, lambda: columns)


def inherited(
    recorded: Sequence[Mapping[str, Any]], computed: Sequence[ObservedTransition], methods: Set[str]
) -> list[ObservedTransition]:
    """Transitions as computed, but those of an episode that fires since an older method judged begin when it said so.

    `methods` are those of all alarms that are judged. Of several episodes in that time the newest goes on.
    """
    names: dict[_Episode, datetime] = {}
    for (alarm_id, since), _ in sorted(_left_open(recorded, methods).items(), key=lambda one: one[0]):
        mine = [one for one in computed if one.alarm_id == alarm_id and one.learned]
        ends = {one.starts_at: one.occurred_at for one in mine if one.transition == "resolved"}
        later = [at for at in {one.starts_at for one in mine} if at not in ends or ends[at] > since]
        if later and (alarm_id, max(later)) not in names:
            names[alarm_id, max(later)] = since
    return [_renamed(one, names.get((one.alarm_id, one.starts_at), one.starts_at)) for one in computed]


def _renamed(one: ObservedTransition, since: datetime) -> ObservedTransition:
    fired = one.transition == "firing" and one.occurred_at == one.starts_at
    return replace(one, starts_at=since, occurred_at=since if fired else one.occurred_at)


def _left_open(recorded: Sequence[Mapping[str, Any]], methods: Set[str]) -> dict[_Episode, None]:
    """Episodes that events of other methods began and did not end."""
    corrected = {event["corrects"] for event in recorded}
    begun: dict[_Episode, None] = {}
    for event in recorded:
        episode = (event["alarm_id"], event["starts_at"])
        if event["method"] in methods or event["event_id"] in corrected:
            continue
        if event["transition"] == "firing":
            begun[episode] = None
        elif event["transition"] == "resolved":
            begun.pop(episode, None)
    return begun
