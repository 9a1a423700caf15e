"""Deliveries made of decisions: grouped, named by what they say, rendered once. Pure; storing them is `outbox`'s."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from goodput.notify.bodies import group_key, render
from goodput.notify.decide import HEARTBEAT, ChannelDecisions, Decision, Scene, Standing
from goodput.notify.notice import Alert, Notice
from goodput.notify.outbox import Draft
from goodput.notify.retry import NS
from goodput.plumbing.fingerprint import fingerprint
from goodput.settings.channels import Channel

_ONE_BY_ONE = ("alertmanager", "pagerduty")  # receivers that group by themselves
_POSTS = 4  # of a firing alarm within the time after which Alertmanager takes it as over
_GRAVITY = {"page": 0, "ticket": 1}
_FIRST, _MORE, _SOME_OVER, _ALL_OVER, _AGAIN = (
    "first notification",
    "new alerts added",
    "some alerts resolved",
    "all alerts resolved",
    "repeat interval elapsed",
)


@dataclass(frozen=True)
class Composer:
    """Makes the deliveries of one channel."""

    name: str
    channel: Channel
    scene: Scene

    def deliveries(self, decided: ChannelDecisions) -> Iterator[Draft]:
        """What is notified for the first time: one delivery per group, more where an alarm changed more than once."""
        for members in self._batches(decided.decisions):
            standing = [] if members[0].suppressed else self._beside(members, decided)
            yield self._delivery(members, standing)

    def reminders(self, decided: ChannelDecisions) -> Iterator[Draft]:
        """What still fires and was notified long enough ago to be repeated."""
        groups: dict[str, list[Standing]] = {}
        for one in decided.standing.values():
            groups.setdefault(self._group_key(one.transition.alarm_id, self._labels(one)), []).append(one)
        for members in groups.values():
            known = [one.known for one in members if one.known is not None]
            if len(known) == len(members) and not any(item.state == "pending" for item in known):
                newest = max(known, key=lambda item: (item.enqueued_ns, item.delivery_id))
                yield from self._reminder(members, newest.delivery_id, newest.enqueued_ns)

    def _batches(self, decisions: Iterable[Decision]) -> Iterator[list[Decision]]:
        batches: dict[tuple[object, ...], list[Decision]] = {}
        changes: Counter[str] = Counter()
        for decision in sorted(decisions, key=lambda d: (d.transition.recorded_at, d.transition.occurred_at)):
            alarm = decision.transition.alarm_id
            key = self._group_key(alarm, self._labels(decision))
            kind = (
                decision.suppressed,
                decision.not_before_ns,
                decision.origin,
                decision.transition.transition == HEARTBEAT,
            )
            batches.setdefault((changes[alarm], key, kind), []).append(decision)
            changes[alarm] += 1
        yield from (batch for _, batch in sorted(batches.items(), key=lambda item: item[0][0]))  # type: ignore[arg-type,return-value]

    def _beside(self, members: Sequence[Decision], decided: ChannelDecisions) -> list[Standing]:
        """Alarms of the same group that fire all the while."""
        if self.channel.kind in _ONE_BY_ONE or members[0].transition.transition == HEARTBEAT:
            return []
        own = {member.transition.alarm_id for member in members}
        labels = self._labels(members[0])
        return [
            one
            for alarm, one in sorted(decided.standing.items())
            if alarm not in own and one.known is not None and self._labels(one) == labels
        ]

    def _delivery(self, members: Sequence[Decision], beside: Sequence[Standing]) -> Draft:
        first = members[0]
        events = tuple(sorted(member.transition.event_id for member in members))
        alerts = [self._alert(member, member.transition.firing) for member in members]
        shown = [*alerts, *(self._alert(one, True) for one in beside)]
        heartbeat = first.transition.transition == HEARTBEAT
        kind = HEARTBEAT if heartbeat else "fallback" if first.origin else "transition"
        drafted = self._draft(fingerprint(self.name, events), kind, shown, _reason(alerts, bool(beside)))
        return replace(
            drafted,
            body=b"" if first.suppressed else drafted.body,
            event_ids=events,
            alarm_ids=tuple(sorted({member.transition.alarm_id for member in members})),
            state="suppressed" if first.suppressed else "pending",
            reason=first.suppressed,
            not_before_ns=first.not_before_ns,
            expires_ns=self._until_ns() if heartbeat else None,
            origin=first.origin,
        )

    def _reminder(self, members: Sequence[Standing], reported_by: str, since_ns: int) -> Iterator[Draft]:
        alertmanager = self.channel.kind == "alertmanager"
        every_ns = int((self.channel.resolve_after_s / _POSTS if alertmanager else self.channel.repeat_interval_s) * NS)
        count = (self.scene.now_ns - since_ns) // every_ns
        if count < 1:
            return
        alerts = [self._alert(one, True) for one in members]
        expires_ns = self._until_ns() if alertmanager else since_ns + (count + 1) * every_ns
        yield replace(
            self._draft(fingerprint(self.name, reported_by, count), "reminder", alerts, _AGAIN), expires_ns=expires_ns
        )

    def _draft(self, delivery_id: str, kind: str, alerts: Sequence[Alert], why: str) -> Draft:
        labels = self._labels_of(alerts[0])
        until = self.scene.now + timedelta(seconds=self.channel.resolve_after_s)
        notice = Notice(delivery_id, self.name, why, alerts, labels, until)
        first = alerts[0].transition
        return Draft(
            delivery_id=delivery_id,
            channel=self.name,
            kind=kind,
            group_key=self._group_key(first.alarm_id, labels),
            status=notice.status,
            severity=min(
                (alert.transition.severity for alert in alerts), key=lambda severity: _GRAVITY.get(severity, 2)
            ),
            rule=first.rule,
            summary=first.summary if len(alerts) == 1 else f"{first.summary} (and {len(alerts) - 1} more)",
            body=render(self.channel, notice, self.scene.settings.external_url),
            event_ids=(),
            alarm_ids=tuple(sorted(alert.transition.alarm_id for alert in alerts)),
        )

    def _alert(self, one: Decision | Standing, firing: bool) -> Alert:
        alarm = one.transition
        return Alert(alarm, firing, one.explained_by, self.scene.plots.link(self.channel, alarm))

    def _until_ns(self) -> int:
        return self.scene.now_ns + int(self.channel.resolve_after_s * NS)

    def _group_key(self, alarm_id: str, labels: dict[str, str]) -> str:
        return alarm_id if self.channel.kind in _ONE_BY_ONE else group_key(labels)

    def _labels(self, one: Decision | Standing) -> dict[str, str]:
        return self._labels_of(Alert(one.transition, True))

    def _labels_of(self, alert: Alert) -> dict[str, str]:
        labels = alert.labels
        return {name: labels[name] for name in self.channel.group_by if name in labels}


def _reason(alerts: Sequence[Alert], beside: bool) -> str:
    if any(alert.firing for alert in alerts):
        return _MORE if beside else _FIRST
    return _SOME_OVER if beside else _ALL_OVER
