"""Which events are new, given those that were recorded before: `alarm_events` grows and is never edited.

The same transition computed twice is one event; a past verdict that late data changed is corrected by a new event;
what is long past when it is first computed is recorded and suppressed.
"""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from goodput.contracts import arrow_schema
from goodput.monitor.method import OTHER_METHOD, inherited, upgraded_at
from goodput.monitor.observed_transition import ObservedTransition
from goodput.monitor.rule_kind import rule_kinds

Event = dict[str, Any]
_BY_NOTHING = {None, "backfill", OTHER_METHOD}
_NAMESPACE = uuid5(NAMESPACE_OID, "goodput.alarm_events")


def event_id(key: str, revision: int = 0) -> str:
    """The id of a transition: the same in every run; another one after each correction of it."""
    return str(uuid5(_NAMESPACE, key if revision == 0 else f"{key}|{revision}"))


@dataclass
class _Past:
    """What was recorded before, by event and by episode; until `upgraded_at` another method judged."""

    upgraded_at: datetime | None = None
    ids: set[str] = field(default_factory=set)
    corrected: set[str] = field(default_factory=set)
    delivered: set[tuple[str, datetime]] = field(default_factory=set)  # episodes that were reported to somebody
    fired: set[tuple[str, datetime]] = field(default_factory=set)  # and all that the method of their time found

    def note(self, event: Event) -> None:
        self.ids.add(event["event_id"])
        if event["transition"] == "corrected":
            self.corrected.add(event["corrects"])
            self.delivered.discard((event["alarm_id"], event["starts_at"]))
        if event["transition"] == "firing" and event["suppressed"] is None:
            self.delivered.add((event["alarm_id"], event["starts_at"]))
        if event["transition"] == "firing" and event["suppressed"] != OTHER_METHOD:
            self.fired.add((event["alarm_id"], event["starts_at"]))

    def only_now(self, observed: ObservedTransition) -> bool:
        """Whether this method alone finds the episode, in hours that another one judged before it."""
        if self.upgraded_at is None or not observed.learned or observed.starts_at > self.upgraded_at:
            return False
        return (observed.alarm_id, observed.starts_at) not in self.fired

    def before_upgrade(self, event: Event) -> bool:
        """Whether another method's verdict by a baseline it is."""
        learned = any(kind.name == event["kind"] and kind.learns_baseline for kind in rule_kinds())
        return learned and self.upgraded_at is not None and event["recorded_at"] <= self.upgraded_at


@dataclass(frozen=True)
class Moment:
    """When this is: the clock, the end of the newest window judged, the greatest age that is reported, what is settled.

    Episodes that began before `settled` are judged by too little history to be reported anew, or corrected.
    """

    now: datetime
    until: datetime
    max_age_s: float
    settled: datetime | None = None

    @property
    def live(self) -> bool:
        """Whether the newest window is recent enough to be reported."""
        return not self.is_past(self.until)

    def is_past(self, at: datetime) -> bool:
        """Whether what happened then is too old to be reported as news."""
        return (self.now - at).total_seconds() > self.max_age_s

    def judges(self, starts_at: datetime) -> bool:
        """Whether an episode that began then is judged by all the history that it takes."""
        return self.settled is None or starts_at >= self.settled


def reconcile(
    recorded: Sequence[Event],
    computed: Sequence[ObservedTransition],
    methods: Set[str],
    moment: Moment,
    unwatched: Set[tuple[str, str]] = frozenset(),
) -> list[Event]:
    """Events to add to `recorded`, in order, each with the columns of alarm_events.

    `methods` are those of all alarms that were judged, `unwatched` metric and labels of series that were not. What
    another method reported, or of a series that is not watched any more, is not corrected: an alarm of it that still
    fires is over, by reason of the settings.
    """
    past = _Past(upgraded_at(recorded))
    for event in recorded:
        past.note(event)
    computed = inherited(recorded, computed, methods)
    recorded = [event for event in recorded if moment.judges(event["starts_at"])]
    computed = [observed for observed in computed if moment.judges(observed.starts_at)]
    judged = {
        event["event_id"]
        for event in recorded
        if event["method"] in methods and (event["metric"], event["labels"]) not in unwatched
    }
    added: list[Event] = []
    in_order = sorted(computed, key=lambda observed: (observed.occurred_at, observed.alarm_id, observed.transition))
    for events in (
        _corrections(recorded, computed, judged, past, moment),
        (event for observed in in_order for event in _new_events(observed, past, moment)),
        _still_on(in_order, past, moment),
    ):
        for event in events:
            past.note(event)
            added.append(event)
    return added


def _new_events(observed: ObservedTransition, past: _Past, moment: Moment) -> Iterator[Event]:
    identity = _current_id(observed.key, past)
    if identity in past.ids:
        return
    suppressed = observed.suppressed
    episode = (observed.alarm_id, observed.starts_at)
    if observed.transition == "firing" and episode in past.delivered:
        return  # its silence was over by the clock before it is by its data, and it was reported then
    if past.only_now(observed):
        suppressed = OTHER_METHOD
    elif observed.transition == "resolved":
        suppressed = None if episode in past.delivered else suppressed or "backfill"
    elif suppressed is None and not observed.by_clock and moment.is_past(observed.occurred_at):
        suppressed = "backfill"
    yield _event(observed, identity, moment.now, suppressed)


def _still_on(computed: Sequence[ObservedTransition], past: _Past, moment: Moment) -> Iterator[Event]:
    """A firing that was suppressed for its age and is still on is reported now: it is no matter of the past."""
    newest = {observed.alarm_id: observed for observed in computed if moment.live or observed.by_clock}
    for observed in newest.values():
        reported = (observed.alarm_id, observed.starts_at) in past.delivered or past.only_now(observed)
        if observed.on and not reported:
            late = replace(observed, transition="firing", occurred_at=moment.until)
            yield _event(late, _current_id(late.key, past), moment.now, None)


def _current_id(key: str, past: _Past) -> str:
    revision = 0
    while event_id(key, revision) in past.corrected:
        revision += 1
    return event_id(key, revision)


def _event(observed: ObservedTransition, identity: str, now: datetime, suppressed: str | None) -> Event:
    columns = observed.explained()
    return {
        **dict.fromkeys(arrow_schema("alarm_events").names),
        **columns,
        "event_id": identity,
        "alarm_id": observed.alarm_id,
        "transition": observed.transition,
        "occurred_at": observed.occurred_at,
        "starts_at": observed.starts_at,
        "recorded_at": now,
        "suppressed": suppressed,
        "suppressed_by": None if suppressed in _BY_NOTHING else columns.get("suppressed_by"),
    }


def _corrections(
    recorded: Sequence[Event], computed: Sequence[ObservedTransition], judged: Set[str], past: _Past, moment: Moment
) -> Iterator[Event]:
    """Events that say that an earlier one no longer holds, or that an alarm which is judged no more is over."""
    fired = {(observed.alarm_id, observed.starts_at) for observed in computed if observed.transition == "firing"}
    resolved = {_current_id(observed.key, past) for observed in computed if observed.transition == "resolved"}
    open_yet: dict[tuple[str, datetime], Event] = {}
    for event in recorded:
        if event["transition"] not in {"firing", "resolved"} or event["event_id"] in past.corrected:
            continue
        episode = (event["alarm_id"], event["starts_at"])
        if event["transition"] == "resolved":
            open_yet.pop(episode, None)
        holds = episode in fired if event["transition"] == "firing" else event["event_id"] in resolved
        if not holds and event["event_id"] in judged:
            yield _correction(event, moment)
        elif not holds and event["transition"] == "firing":
            open_yet.setdefault(episode, event)
    for event in open_yet.values():
        yield _ended(event, past, moment)


def _correction(event: Event, moment: Moment) -> Event:
    return {
        **event,
        "event_id": event_id(f"corrected|{event['event_id']}"),
        "transition": "corrected",
        "occurred_at": moment.until,
        "recorded_at": moment.now,
        "reason": event["transition"],
        "corrects": event["event_id"],
    }


def _ended(event: Event, past: _Past, moment: Moment) -> Event:
    by_clock = event["metric"] is None
    reason = "cleared" if by_clock else OTHER_METHOD if past.before_upgrade(event) else "settings"
    ends_at = moment.now if by_clock else moment.until
    columns = {**event, "ends_at": ends_at, "reason": reason}
    observed = ObservedTransition(event["alarm_id"], "resolved", ends_at, event["starts_at"], lambda: columns)
    delivered = (observed.alarm_id, observed.starts_at) in past.delivered
    return _event(observed, event_id(observed.key), moment.now, None if delivered else event["suppressed"])
