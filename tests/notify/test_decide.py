"""Which transitions are notified where: routes, resolves, corrections, holds, reminders, second channels."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from goodput.notify.drain import Drained, Drainer
from goodput.notify.enqueue import enqueue
from goodput.notify.outbox import Outbox, outbox_file
from goodput.notify.senders import Sender
from goodput.plumbing.lake import Lake
from notify.alarms import NOON, Clock, caused_by, event, held, settings_of, write_events

LINES = '[channels.log]\nkind = "file"\npath = "log.jsonl"\n'


class World:
    """A lake, settings and a clock, in which alarms happen one after the other."""

    def __init__(self, folder: Path, text: str) -> None:
        self.clock = Clock()
        self.lake = Lake(folder / "lake")
        self.settings = settings_of(folder, text)
        self.events: list[dict[str, Any]] = []

    def happens(self, *events: dict[str, Any]) -> int:
        """Events become known; how many deliveries that makes."""
        self.events += events
        write_events(self.lake, self.events)
        newest = max(event["recorded_at"] for event in self.events)
        self.clock.ns = max(self.clock.ns, int(newest.timestamp()) * 10**9)
        return self.enqueue()

    def later(self, hours: float) -> int:
        self.clock.forward(3600 * hours)
        return self.enqueue()

    def enqueue(self) -> int:
        with Outbox(outbox_file(self.lake), self.clock) as outbox:
            return enqueue(self.lake, self.settings, outbox)

    def drain(self) -> Drained:
        senders = {name: Sender(channel, self.settings.base) for name, channel in self.settings.channels.items()}
        return Drainer(self.lake, senders, 5, self.clock).drain()

    def sent(self, what: str = "status, state") -> list[tuple[Any, ...]]:
        return held(self.lake, what)


def world(folder: Path, text: str = LINES) -> World:
    return World(folder, text)


def test_a_transition_is_sent_once_however_often_it_is_computed(tmp_path: Path) -> None:
    at = world(tmp_path)
    assert at.happens(event("f")) == 1
    assert at.happens(event("f", after_h=0)) == 0
    assert at.happens(event("r", "resolved", after_h=3)) == 1
    assert at.sent() == [("firing", "pending"), ("resolved", "pending")]
    assert at.drain() == Drained(delivered=2)
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    assert ['"status":"firing"' in lines[0], '"status":"resolved"' in lines[1]] == [True, True]


@pytest.mark.parametrize(
    ("match", "reached"),
    [
        ("", True),
        ('severity = ["page"]', True),
        ('severity = ["ticket"]', False),
        ('rule = "ttft-*"', True),
        ('rule = ["goodput-*", "kv-*"]', False),
        ('pool = "chat"', True),
        ('pool = "rag"', False),
    ],
)
def test_routes(tmp_path: Path, match: str, reached: bool) -> None:
    at = world(tmp_path, f"{LINES}[channels.log.match]\n{match}\n")
    assert at.happens(event("f")) == reached
    assert at.happens(event("r", "resolved", after_h=1)) == reached


@pytest.mark.parametrize("why", ["silenced", "inhibited", "over_budget", "backfill"])
def test_what_is_suppressed_is_not_sent_but_the_end_of_what_was_sent_is(tmp_path: Path, why: str) -> None:
    at = world(tmp_path)
    assert at.happens(event("quiet", suppressed=why), event("over", "resolved", after_h=1)) == 0
    assert at.happens(event("loud", after_h=2)) == 1
    assert at.happens(event("end", "resolved", after_h=3, suppressed=why)) == 1


def test_a_new_channel_hears_what_still_fires_and_no_old_stories(tmp_path: Path) -> None:
    at = world(tmp_path)
    at.happens(event("f1"), event("r1", "resolved", after_h=1), event("f2", after_h=2))
    at.happens(event("other", after_h=2, alarm_id="kv-chat", rule="kv-trend", metric="kv"))
    at.clock.forward(7 * 3600)
    at.settings = settings_of(tmp_path, LINES + '[channels.new]\nkind = "stdout"\n')
    assert at.enqueue() == 1, "both are pages of one pool"
    new = at.sent("channel, event_id FROM deliveries JOIN events USING (channel, delivery_id) --")
    assert {event_id for channel, event_id in new if channel == "new"} == {"f2", "other"}


def test_what_waited_too_long_to_be_news_is_not_sent_unless_it_fires(tmp_path: Path) -> None:
    """Nobody ran `goodput notify` for a day."""
    at = world(tmp_path)
    at.clock.forward(86400)
    assert at.happens(event("f"), event("r", "resolved", after_h=1)) == 0
    assert at.happens(event("f2", after_h=1.5)) == 1


def test_late_data_takes_a_firing_back(tmp_path: Path) -> None:
    at = world(tmp_path)
    at.happens(event("f"))
    taken_back = event("c", "corrected", corrects="f", recorded_at=NOON + timedelta(hours=2))
    assert at.happens(taken_back) == 1
    at.drain()
    assert at.sent() == [("firing", "delivered"), ("resolved", "delivered")]
    assert '"corrected":"late data changed' in (tmp_path / "log.jsonl").read_text().splitlines()[1]


def test_late_data_takes_a_resolve_back_where_it_was_sent(tmp_path: Path) -> None:
    at = world(tmp_path)
    at.happens(event("f"), event("r", "resolved", after_h=1))
    assert at.happens(event("c", "corrected", after_h=1, corrects="r", recorded_at=NOON + timedelta(hours=2))) == 1
    assert [status for status, _ in at.sent()] == ["firing", "resolved", "firing"]


def test_alarms_of_one_group_make_one_message_and_each_change_of_an_alarm_its_own(tmp_path: Path) -> None:
    at = world(tmp_path)
    replicas = [event(f"f{n}", alarm_id=f"a{n}", replica=f"vllm-{n}", severity="ticket") for n in range(30)]
    assert at.happens(*replicas, event("kv", alarm_id="kv", metric="kv", rule="kv-trend")) == 2
    assert (
        at.happens(*(event(f"r{n}", "resolved", after_h=1, alarm_id=f"a{n}", severity="ticket") for n in range(2))) == 1
    )
    assert at.sent("status, rule, severity") == [
        ("firing", "ttft-p99-trend", "ticket"),
        ("firing", "kv-trend", "page"),
        ("firing", "ttft-p99-trend", "ticket"),  # 28 others of the group still fire
    ]
    at.drain()  # pages first
    _, first, last = (tmp_path / "log.jsonl").read_text().splitlines()
    assert (first.count('"status":"firing"'), '"truncatedAlerts":10' in first) == (21, True)
    assert last.count('"status":"resolved"') == 2
    assert '"notification_reason":"some alerts resolved"' in last


def test_what_fires_on_is_sent_again_after_the_repeat_interval(tmp_path: Path) -> None:
    at = world(tmp_path, LINES + "repeat_interval_s = 7200\n")
    at.happens(event("f"))
    assert at.later(5) == 0, "the first is not delivered yet"
    at.drain()
    assert at.later(0) == 1
    assert at.later(0) == 0
    at.drain()
    assert at.later(1.9) == 1
    assert at.later(2) == 1, "the one before was not delivered and is of no use any more"
    assert at.happens(event("r", "resolved", after_h=10)) == 1
    assert at.later(24) == 0
    assert at.sent("kind, state") == [
        *(("transition", "delivered"), ("reminder", "delivered"), ("reminder", "superseded")),
        *(("reminder", "superseded"), ("transition", "pending")),
    ]


def test_alertmanager_hears_of_a_firing_alarm_before_it_would_take_it_as_over(tmp_path: Path) -> None:
    text = '[channels.am]\nkind = "alertmanager"\nurl = "https://am.example"\nresolve_after_s = 10800\n'
    at = world(tmp_path, text)
    at.happens(event("f"))
    with Outbox(outbox_file(at.lake)) as outbox, outbox.writing():
        outbox.rows("UPDATE deliveries SET state = 'delivered'")
    for _ in range(4):
        assert at.later(1) == 1
    bodies = [body.decode() for (body,) in at.sent("body")]
    ends = [body.partition('"endsAt":"')[2][:20] for body in bodies]
    assert ends == [f"2026-11-21T{hour}:00:00Z" for hour in (15, 16, 17, 18, 19)]


HOLD = '[notify]\nhold = ["page", "ticket"]\nhold_for_s = 7200\n'


@pytest.mark.parametrize(
    ("hold", "kind", "hours_before", "waits"),
    [
        ("", "deployment", 0.5, False),
        (HOLD, "deployment", 0.5, True),
        (HOLD, "deployment", 9, False),  # it has settled long ago, and is the likely cause all the same
        (HOLD, "incident", 0.5, False),
    ],
)
def test_an_alarm_names_its_likely_cause_and_waits_for_it_where_the_settings_want_it(
    tmp_path: Path, hold: str, kind: str, hours_before: float, waits: bool
) -> None:
    at = world(tmp_path, hold + LINES)
    at.happens(event("f", explanation=caused_by(kind, hours_before, revision="r2")))
    assert at.drain() == (Drained() if waits else Drained(delivered=1))
    at.later(1.6)
    assert at.drain() == (Drained(delivered=1) if waits else Drained())
    clock = {0.5: "11:30", 9: "03:00"}[hours_before]
    written = (tmp_path / "log.jsonl").read_text()
    assert f'"explained_by":"{kind} r2 of chat at 2026-11-21T{clock}:00Z"' in written


@pytest.mark.parametrize("at_once", [False, True])
def test_what_a_deployment_explains_and_ends_with_it_is_never_sent(tmp_path: Path, at_once: bool) -> None:
    at = world(tmp_path, HOLD + LINES)
    events = [event("f", explanation=caused_by("restart", 0.5)), event("r", "resolved", after_h=1)]
    for group in [events] if at_once else [[one] for one in events]:
        at.happens(*group)
    assert at.later(24) == 0
    assert at.drain() == Drained()
    assert {state for _, state in at.sent()} == {"suppressed"}
    assert at.sent("reason")[0] == ("over before it was sent: explained by restart of chat at 2026-11-21T11:30:00Z",)
    assert at.happens(event("again", after_h=30, starts_at=NOON + timedelta(hours=30))) == 1


TWO = """
[channels.first]
kind = "webhook"
url = "http://127.0.0.1:9/"
fallback = "second"
fallback_after_s = 900
[channels.second]
kind = "file"
path = "second.jsonl"
match = { rule = "nothing-by-itself" }
"""


def test_a_page_that_is_not_delivered_goes_to_the_second_channel_with_its_end(tmp_path: Path) -> None:
    at = world(tmp_path, TWO)
    at.happens(event("f"), event("t", severity="ticket", alarm_id="kv", rule="kv-trend", metric="kv"))
    at.drain()
    assert at.later(0.2) == 0
    assert at.later(0.1) == 1
    assert at.later(0.1) == 0
    at.drain()
    first, ticket, second = at.sent("delivery_id, channel, kind, state, origin")
    assert second[1:] == ("second", "fallback", "delivered", first[0])
    assert (first[3], ticket[3]) == ("pending", "pending")
    assert at.happens(event("r", "resolved", after_h=2)) == 2
    at.drain()
    statuses = [line.partition('"status":"')[2][:6] for line in (tmp_path / "second.jsonl").read_text().splitlines()]
    assert statuses == ["firing", "resolv"]


def test_a_page_that_is_given_up_goes_to_the_second_channel_at_once(tmp_path: Path) -> None:
    at = world(tmp_path, TWO.replace("fallback_after_s = 900", "max_attempts = 1"))
    at.happens(event("f"))
    assert at.drain() == Drained(failed=1, dead=1)
    assert at.enqueue() == 1


def test_a_heartbeat_goes_only_where_it_is_wanted_and_only_the_newest(tmp_path: Path) -> None:
    at = world(tmp_path, LINES + '[channels.dead-man]\nkind = "stdout"\nmatch = { severity = "none" }\n')
    columns = {"alarm_id": "watchdog", "rule": "Watchdog", "severity": "none", "metric": None, "pool": None}
    assert at.happens(event("h0", "heartbeat", **columns), event("h1", "heartbeat", after_h=1, **columns)) == 1
    assert at.happens(event("h2", "heartbeat", after_h=5, **columns)) == 1
    assert at.sent("channel, kind, state") == [
        ("dead-man", "heartbeat", "superseded"),
        ("dead-man", "heartbeat", "pending"),
    ]


def test_what_waits_for_a_channel_that_is_gone_is_taken_back(tmp_path: Path) -> None:
    at = world(tmp_path, LINES + '[channels.old]\nkind = "stdout"\n')
    at.happens(event("f"))
    at.settings = settings_of(tmp_path, LINES)
    at.enqueue()
    assert at.sent("channel, state") == [("log", "pending"), ("old", "suppressed")]
