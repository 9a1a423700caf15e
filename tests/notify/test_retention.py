"""What is long settled is forgotten, and nothing of it is ever sent again."""

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from goodput.notify.decide import Scene
from goodput.notify.drain import Drained
from goodput.notify.enqueue import due
from goodput.notify.outbox import Outbox, outbox_file
from goodput.notify.plots import Plots
from goodput.notify.retention import forget
from goodput.notify.transition import histories
from goodput.settings.model import Settings
from notify.alarms import NOON, Clock, event, settings_of
from notify.test_decide import LINES, TWO, World

DAY_H = 24.0


def forget_in(at: World, days: float = 90) -> int:
    with Outbox(outbox_file(at.lake), at.clock) as outbox, outbox.writing():
        return forget(outbox, days * 86400, Plots(at.lake.root / "plots"))


def fired_and_over(at: World) -> None:
    at.happens(event("f"))
    at.happens(event("r", "resolved", after_h=1))
    at.drain()


def test_what_is_settled_and_over_is_forgotten_after_the_retention_with_its_pictures(tmp_path: Path) -> None:
    at = World(tmp_path, LINES)
    fired_and_over(at)
    picture = at.lake.root / "plots/f.png"
    picture.parent.mkdir()
    picture.write_bytes(b"png")
    at.later(89.9 * DAY_H)
    assert forget_in(at) == 0
    at.later(0.2 * DAY_H)
    assert forget_in(at) == 2
    assert at.sent() == []
    assert not picture.exists()
    with Outbox(outbox_file(at.lake)) as outbox:
        assert not outbox.rows("SELECT event_id FROM events UNION SELECT alarm_id FROM concerns")


@pytest.mark.parametrize("again", ["the same events", "recomputed"])
def test_what_is_forgotten_is_not_sent_again(tmp_path: Path, again: str) -> None:
    """Recomputed from nothing: stage monitor records what is older than alarms.max_age_s as backfill, now."""
    at = World(tmp_path, LINES)
    fired_and_over(at)
    at.later(100 * DAY_H)
    assert forget_in(at) == 2
    if again == "recomputed":
        now = NOON + timedelta(days=100)
        at.events = [{**known, "recorded_at": now, "suppressed": "backfill"} for known in at.events]
    assert at.happens() == 0


def test_what_is_undelivered_is_kept_however_old(tmp_path: Path) -> None:
    at = World(tmp_path, LINES)
    at.happens(event("f"))
    at.happens(event("r", "resolved", after_h=1))
    at.later(1000 * DAY_H)
    assert forget_in(at) == 0
    assert at.sent() == [("firing", "pending"), ("resolved", "pending")]


def test_what_fires_on_is_kept_without_its_reminders_and_its_end_is_sent(tmp_path: Path) -> None:
    at = World(tmp_path, LINES)
    at.happens(event("f"))
    at.drain()
    for _ in range(4):
        at.later(30 * DAY_H)
        at.drain()
    assert [kind for (kind,) in at.sent("kind")] == ["transition", *["reminder"] * 4]
    assert forget_in(at) == 1  # the reminder of 90 days ago
    assert at.later(0) == 0
    assert at.happens(event("r", "resolved", after_h=121 * DAY_H)) == 1
    at.drain()
    at.later(91 * DAY_H)
    assert forget_in(at) == 5
    assert at.later(0) == 0


def test_the_newest_heartbeat_is_known_for_as_long_as_no_other_comes(tmp_path: Path) -> None:
    at = World(tmp_path, '[channels.dead-man]\nkind = "file"\npath = "x"\nmatch = { severity = "none" }\n')
    columns = {"alarm_id": "watchdog", "rule": "Watchdog", "severity": "none", "metric": None, "pool": None}
    for hour in range(3):
        at.happens(event(f"h{hour}", "heartbeat", after_h=hour, **columns))
        at.drain()
    at.later(100 * DAY_H)
    assert forget_in(at) == 2
    assert at.later(0) == 0


def test_a_dead_letter_that_was_tried_anew_does_not_reach_the_second_channel_twice(tmp_path: Path) -> None:
    at = World(tmp_path, TWO.replace("fallback_after_s = 900", "max_attempts = 1"))
    at.happens(event("f"))
    assert at.drain() == Drained(failed=1, dead=1)
    at.enqueue()
    at.drain()
    at.later(60 * DAY_H)
    with Outbox(outbox_file(at.lake), at.clock) as outbox:
        outbox.requeue("first")
    at.drain()
    at.happens(event("r", "resolved", after_h=61 * DAY_H))
    at.drain()
    at.later(35 * DAY_H)
    forget_in(at)
    assert [row for row in at.sent("channel, kind, status") if row[1] != "reminder"] == [
        *(("first", "transition", "firing"), ("second", "fallback", "firing")),
        *(("first", "transition", "resolved"), ("second", "transition", "resolved")),
    ]
    assert at.enqueue() == 0, "what failed on day 60 is there, and so is what stood in for it on day 0"
    at.later(60 * DAY_H)
    forget_in(at)
    assert at.sent() == []


def test_the_end_of_what_was_sent_late_is_kept_with_it(tmp_path: Path) -> None:
    at = World(tmp_path, LINES)
    at.happens(event("f"))
    with Outbox(outbox_file(at.lake), at.clock) as outbox, outbox.writing():
        outbox.rows("UPDATE deliveries SET state = 'dead', settled_ns = enqueued_ns")
    at.happens(event("r", "resolved", after_h=1))
    at.drain()
    at.later(80 * DAY_H)
    with Outbox(outbox_file(at.lake), at.clock) as outbox:
        outbox.requeue("log")
    at.drain()
    at.later(15 * DAY_H)
    assert forget_in(at) == 0
    assert at.later(0) == 0, "the end of what fired 15 days ago was sent 95 days ago"


@pytest.mark.parametrize("seed", range(2))
def test_whatever_happens_the_same_is_sent_with_and_without_forgetting(tmp_path: Path, seed: int) -> None:
    """Two outboxes of one history of years, alarms grouped, deliveries that wait; one forgets after ten days."""
    settings = settings_of(tmp_path, LINES)
    sent, left = zip(*(_history(seed, settings, forgets=forgets) for forgets in (False, True)), strict=True)
    assert sent[0] == sent[1]
    assert len(sent[0]) == len(set(sent[0])) > 80
    assert left[1] < left[0] / 4


def _history(seed: int, settings: Settings, *, forgets: bool) -> tuple[list[str], int]:
    """Ids of the deliveries that a random history makes, and how many the outbox holds in the end."""
    rng, clock, made = random.Random(seed), Clock(), list[str]()
    events: list[dict[str, Any]] = []
    firing: dict[str, bool] = {}
    with Outbox(Path(":memory:"), clock) as outbox:
        for number in range(100):
            clock.forward(3600 * rng.choice((1, 5, 30, 200, 400)))
            name, at = f"a{rng.randrange(3)}", datetime.fromtimestamp(clock.ns / 1e9, UTC)
            firing[name] = not firing.get(name, False)
            now = {"alarm_id": name, "replica": name, "occurred_at": at, "starts_at": at, "recorded_at": at}
            events.append(event(f"e{number}", "firing" if firing[name] else "resolved", **now))
            found = due(Scene(histories(events), settings.notify, clock.ns), settings.channels, outbox)
            with outbox.writing():
                outbox.add(found.drafts)
                made += [draft.delivery_id for draft in found.drafts if draft.kind != "reminder"]
                if rng.random() < 0.6:
                    sent = "UPDATE deliveries SET state = 'delivered', settled_ns = :now WHERE state = 'pending'"
                    outbox.rows(sent, {"now": clock.ns})
                if forgets:
                    forget(outbox, 10 * 86400, Plots())
        return made, len(outbox.rows("SELECT 1 FROM deliveries"))
