"""A test message over one channel, past the outbox: whether it gets through, and what the receiver answers."""

from collections.abc import Iterator
from datetime import timedelta
from uuid import uuid4

from goodput.notify.bodies import render
from goodput.notify.decide import Scene
from goodput.notify.notice import Alert, Notice
from goodput.notify.senders import Sender, SendResult
from goodput.notify.transition import Transition

_EXPLANATION = '{"what this is": "a test that somebody asked for with goodput notify --test"}'


def send_test(name: str, sender: Sender, scene: Scene) -> Iterator[SendResult]:
    """Send a firing alarm and its resolve, one after the other."""
    incident = uuid4().hex
    for step, firing in enumerate((True, False)):
        transition = Transition(
            event_id=f"test-{incident}-{step}",
            alarm_id=f"test-{incident}",
            transition="firing" if firing else "resolved",
            firing=firing,
            rule="GoodputTest",
            severity=sender.channel.match.severity[0] if sender.channel.match.severity else "ticket",
            occurred_at=scene.now,
            starts_at=scene.now,
            recorded_at=scene.now,
            ends_at=None if firing else scene.now,
            summary="Test of an alarm channel",
            explanation=_EXPLANATION,
        )
        notice = Notice(
            delivery_id=transition.event_id,
            channel=name,
            reason="test",
            alerts=[Alert(transition, firing)],
            group_labels={"alertname": transition.rule},
            until=scene.now + timedelta(minutes=5),
        )
        yield sender.send(notice.delivery_id, render(sender.channel, notice, scene.settings.external_url), scene.now_ns)
