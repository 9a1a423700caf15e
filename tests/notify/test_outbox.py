"""What the outbox promises: at least once, the same body, in order per alarm, whoever dies or drains beside."""

import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from goodput.errors import OutboxUnusable
from goodput.notify.claims import SendingOutcome, claim, settle
from goodput.notify.deliver import deliver
from goodput.notify.drain import Drained, Drainer
from goodput.notify.enqueue import enqueue
from goodput.notify.outbox import Draft, Outbox, outbox_file
from goodput.notify.senders import Sender
from goodput.plumbing.lake import Lake
from goodput.settings.channels import Channel
from notify.alarms import Clock, event, held, settings_of, write_events
from notify.receiver import Play, Script, receiving


def draft(delivery_id: str, alarm: str, *, severity: str = "page", channel: str = "ops") -> Draft:
    return Draft(
        *(delivery_id, channel, "transition", alarm, "firing", severity, "rule", "something is slow"),
        body=json.dumps({"delivery": delivery_id}).encode(),
        event_ids=(f"event-{delivery_id}",),
        alarm_ids=(alarm,),
    )


def fill(lake: Lake, drafts: Iterable[Draft], clock: Clock | None = None) -> int:
    with Outbox(outbox_file(lake), *([clock] if clock else [])) as outbox, outbox.writing():
        return outbox.add(drafts)


def ops(port: int, **options: object) -> dict[str, Sender]:
    given = {"kind": "webhook", "url": f"http://127.0.0.1:{port}/", "allow_private": True, "timeout_s": 10.0, **options}
    return {"ops": Sender(Channel.model_validate(given), Path())}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "lake")


def states(lake: Lake) -> Counter[str]:
    return Counter(state for (state,) in held(lake, "state"))


def test_the_same_twice_is_one_delivery(lake: Lake) -> None:
    assert fill(lake, [draft("a", "x"), draft("a", "x"), draft("b", "x")]) == 2
    assert fill(lake, [draft("a", "x")]) == 0


def test_everything_is_delivered_once_and_is_then_done(lake: Lake) -> None:
    script = Script()
    fill(lake, [draft(f"{n}", f"alarm-{n % 3}") for n in range(9)])
    with receiving(script) as port:
        assert Drainer(lake, ops(port), 10).drain() == Drained(delivered=9)
        assert Drainer(lake, ops(port), 10).drain() == Drained()
    assert script.ids == [str(n) for n in range(9)]


def test_500_three_times_then_200_at_growing_waits_with_one_body_and_fresh_signatures(lake: Lake) -> None:
    clock = Clock()
    script = Script([500, 500, 500])
    fill(lake, [draft("a", "x")], clock)
    secret = {"clear": "whsec_" + "A" * 44}
    with receiving(script) as port:
        drainer = Drainer(lake, ops(port, signing_secrets=[secret]), 10, clock)
        for attempt, ceiling_s in enumerate((15, 60, 240)):
            assert drainer.drain() == Drained(failed=1), attempt
            (due,) = held(lake, "next_attempt_ns")[0]
            assert 1e9 <= due - clock.ns <= ceiling_s * 1e9
            clock.ns = due - 1
            assert drainer.drain() == Drained()
            clock.forward(1.1)
        assert drainer.drain() == Drained(delivered=1)
    assert len({(got.headers["webhook-id"], got.body) for got in script.got}) == 1
    assert len({got.headers["webhook-signature"] for got in script.got}) == 4
    assert held(lake, "state, attempts, http_status, error") == [("delivered", 4, 200, None)]


@pytest.mark.parametrize("asked", ["90", "Sat, 21 Nov 2026 12:01:30 GMT"])
def test_a_receiver_that_asks_for_a_pause_gets_it_from_all_of_the_channel(lake: Lake, asked: str) -> None:
    clock = Clock()
    script = Script([(429, {"Retry-After": asked})])
    fill(lake, [draft("a", "x"), draft("b", "y")], clock)
    with receiving(script) as port:
        drainer = Drainer(lake, ops(port), 10, clock)
        assert drainer.drain() == Drained(failed=1)
        clock.forward(89)
        assert drainer.drain() == Drained()
        clock.forward(2)
        assert drainer.drain() == Drained(delivered=2)
    assert script.ids == ["a", "b"]


def test_an_alarm_is_delivered_in_order_and_holds_up_no_other(lake: Lake) -> None:
    clock = Clock()
    fill(lake, [draft("x1", "x"), draft("x2", "x"), draft("y1", "y", severity="ticket"), draft("x3", "x")], clock)
    script = Script([500])
    with receiving(script) as port:
        drainer = Drainer(lake, ops(port), 10, clock)
        assert drainer.drain() == Drained(delivered=1, failed=1)
        clock.forward(60)
        assert drainer.drain() == Drained(delivered=3)
    assert [got.headers["webhook-id"] for got in script.got] == ["x1", "y1", "x1", "x2", "x3"]


def test_pages_go_before_tickets(lake: Lake) -> None:
    fill(lake, [draft("t", "x", severity="ticket"), draft("p", "y")])
    script = Script()
    with receiving(script) as port:
        Drainer(lake, ops(port), 10).drain()
    assert script.ids == ["p", "t"]


@pytest.mark.parametrize(("plays", "attempts"), [([410], 1), ([500] * 3, 3)])
def test_what_is_given_up_is_dead_lets_the_next_pass_and_can_be_tried_anew(
    lake: Lake, plays: list[int | tuple[int, dict[str, str]] | Play], attempts: int
) -> None:
    clock = Clock()
    script = Script(plays)
    fill(lake, [draft("a", "x"), draft("b", "x")], clock)
    with receiving(script) as port:
        drainer = Drainer(lake, ops(port, max_attempts=3), 10, clock)
        for _ in range(attempts):
            drainer.drain()
            clock.forward(3600)
        drainer.drain()
        assert held(lake, "delivery_id, state, attempts") == [("a", "dead", attempts), ("b", "delivered", 1)]
        with Outbox(outbox_file(lake), clock) as outbox:
            assert outbox.requeue("ops") == 1
        assert drainer.drain() == Drained(delivered=1)
    assert len({got.body for got in script.got if got.headers["webhook-id"] == "a"}) == 1


@pytest.mark.parametrize("jump_s", [-86400.0, -30 * 86400.0])
def test_a_clock_that_goes_back_delays_nothing(lake: Lake, jump_s: float) -> None:
    """Waits, pauses and holds that the old clock began are over; one that goes ahead gives up nothing."""
    clock = Clock()
    script = Script([(503, {"Retry-After": "3600"})])
    fill(lake, [draft("a", "x")], clock)
    with receiving(script) as port:
        drainer = Drainer(lake, ops(port), 10, clock)
        assert drainer.drain() == Drained(failed=1)
        with Outbox(outbox_file(lake), clock) as outbox:
            clock.forward(3601)
            assert claim(outbox, "ops", 3600) is not None  # and its holder dies
        clock.forward(jump_s)
        assert drainer.drain() == Drained(delivered=1)


def test_a_clock_that_leaps_ahead_gives_nothing_up(lake: Lake) -> None:
    clock = Clock()
    fill(lake, [draft("a", "x")], clock)
    with receiving(Script([500])) as port:
        drainer = Drainer(lake, ops(port), 10, clock)
        clock.forward(10 * 365 * 86400)
        assert drainer.drain() == Drained(failed=1)
        assert states(lake) == {"pending": 1}


def test_two_drainers_at_once_deliver_each_once(lake: Lake) -> None:
    script = Script(delay_s=0.002)
    fill(lake, [draft(f"{n:02}", f"alarm-{n % 5}") for n in range(40)])
    with receiving(script) as port:
        done: list[Drained] = []
        threads = [threading.Thread(target=lambda: done.append(Drainer(lake, ops(port), 10).drain())) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        Drainer(lake, ops(port), 10).drain()  # what one waited for when another held what goes before it
    assert Counter(script.ids) == Counter(f"{n:02}" for n in range(40))
    for alarm in range(5):
        assert [i for i in script.ids if int(i) % 5 == alarm] == [f"{n:02}" for n in range(alarm, 40, 5)]


def test_a_channel_that_hangs_delays_no_other(lake: Lake) -> None:
    fill(lake, [draft("slow", "x", channel="slow"), draft("quick", "x")])
    arrived = threading.Event()
    waited_for: list[bool] = []
    quick, slow = Script([lambda _: arrived.set()]), Script([lambda _: waited_for.append(arrived.wait(5))])
    with receiving(quick) as port, receiving(slow) as other:
        Drainer(lake, {"slow": ops(other)["ops"]} | ops(port), 10).drain()
    assert waited_for == [True], "while the one hung the other was served"


_DELIVER = """
import sys, time
from pathlib import Path
from goodput.notify.deliver import deliver
from goodput.plumbing.lake import Lake
from goodput.settings.load import load_settings
print("ready", flush=True)
while True:
    deliver(Lake(Path(sys.argv[1]) / "lake"), load_settings(Path(sys.argv[1]) / "goodput.toml"), 5)
    time.sleep(0.005)
"""
_HOOK = '[channels.ops]\nkind = "webhook"\nurl = "http://127.0.0.1:{port}/"\nallow_private = true\n'
_ALARMS = 30


def firing_and_resolved() -> list[dict[str, Any]]:
    """Two transitions of each of many alarms, no two of one group."""
    now = datetime.now(UTC)
    at = {"starts_at": now, "recorded_at": now}
    names = [{"alarm_id": f"a{n}", "pool": f"pool-{n}"} for n in range(_ALARMS)]
    fired = [event(f"f{n}", occurred_at=now, **at, **name) for n, name in enumerate(names)]
    over = now + timedelta(seconds=1)
    return fired + [event(f"r{n}", "resolved", occurred_at=over, **at, **name) for n, name in enumerate(names)]


def test_killed_at_any_point_nothing_is_lost_and_what_comes_twice_is_the_same(lake: Lake) -> None:
    """The whole of `goodput notify` is killed again and again: while it enqueues, claims, sends and marks."""
    rng = random.Random(3)
    script = Script(delay_s=0.004)
    write_events(lake, firing_and_resolved())
    with receiving(script) as port:
        settings = settings_of(lake.root.parent, _HOOK.format(port=port))
        for arrived in (0, 5, 20, 35):
            command = [sys.executable, "-c", _DELIVER, str(lake.root.parent)]
            with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
                assert process.stdout
                process.stdout.readline()
                until = time.monotonic() + 10
                while len(script.got) < arrived and time.monotonic() < until:
                    time.sleep(0.001)
                time.sleep(rng.uniform(0, 0.02))
                process.send_signal(signal.SIGKILL)
        with Outbox(outbox_file(lake)) as outbox:
            enqueue(lake, settings, outbox)
        assert min(states(lake)[state] for state in ("pending", "delivered")) > 0, "the kills show nothing"
        later = partial(after_s, 60)  # when whoever was killed no longer holds anything
        assert Drainer(lake, ops(port), 10, later).drain().failed == 0
    assert states(lake) == {"delivered": 2 * _ALARMS}
    bodies = {got.headers["webhook-id"]: got.body for got in script.got}
    assert len(bodies) == 2 * _ALARMS
    assert all(got.body == bodies[got.headers["webhook-id"]] for got in script.got)
    statuses_of: dict[str, list[str]] = {}
    for got in script.got:
        body = json.loads(got.body)
        statuses_of.setdefault(body["groupLabels"]["pool"], []).append(body["status"])
    assert len(statuses_of) == _ALARMS
    assert all(sorted(set(statuses)) == ["firing", "resolved"] for statuses in statuses_of.values())
    assert all(statuses == sorted(statuses) for statuses in statuses_of.values()), "a resolve came before its firing"


def after_s(seconds: float) -> int:
    return time.time_ns() + int(seconds * 1e9)


def test_two_that_enqueue_and_drain_at_once_tell_everything_once(lake: Lake) -> None:
    script = Script()
    write_events(lake, firing_and_resolved())
    with receiving(script) as port:
        settings = settings_of(lake.root.parent, _HOOK.format(port=port))
        threads = [threading.Thread(target=deliver, args=(lake, settings, 10)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        deliver(lake, settings, 10)
    assert Counter(Counter(script.ids).values()) == {1: 2 * _ALARMS}


def test_an_outbox_that_many_open_first_at_once_is_one(tmp_path: Path) -> None:
    def begin(path: Path, at_once: threading.Barrier) -> int:
        at_once.wait()
        with Outbox(path) as outbox:
            return len(outbox.rows("SELECT * FROM deliveries"))

    with ThreadPoolExecutor(8) as pool:
        for number in range(20):
            at_once = threading.Barrier(8)
            begun = [pool.submit(begin, tmp_path / f"{number}.db", at_once) for _ in range(8)]
            assert [one.result() for one in begun] == [0] * 8


@pytest.mark.parametrize("point", ["claimed", "sent"])
def test_killed_between_the_steps_of_one_delivery(lake: Lake, point: str) -> None:
    """Dead after the claim: sent later. Dead after sending: sent again, the same."""
    clock = Clock()
    fill(lake, [draft("a", "x")], clock)
    script = Script()
    with receiving(script) as port:
        sender = ops(port)["ops"]
        with Outbox(outbox_file(lake), clock) as outbox:
            claimed = claim(outbox, "ops", 20)
            assert claimed is not None
            if point == "sent":
                assert sender.send(claimed.delivery_id, claimed.body, clock()).delivered
        drainer = Drainer(lake, {"ops": sender}, 5, clock)
        assert drainer.drain() == Drained()  # it may still be under way
        clock.forward(21)
        assert drainer.drain() == Drained(delivered=1)
    assert [(got.headers["webhook-id"], got.body) for got in script.got] == [("a", b'{"delivery": "a"}')] * (
        2 if point == "sent" else 1
    )


def test_who_lost_its_hold_cannot_undo_what_another_delivered(lake: Lake) -> None:
    clock = Clock()
    fill(lake, [draft("a", "x")], clock)
    with Outbox(outbox_file(lake), clock) as outbox:
        slow = claim(outbox, "ops", 20)
        clock.forward(21)
        quick = claim(outbox, "ops", 20)
        assert slow is not None
        assert quick is not None
        settle(outbox, quick, SendingOutcome("delivered", 200), 1)
        settle(outbox, slow, SendingOutcome("dead", 500, "late"), 1)
    assert held(lake, "state, http_status, error") == [("delivered", 200, None)]


def test_a_damaged_outbox_is_reported_and_left_as_it_is(lake: Lake) -> None:
    lake.root.mkdir(parents=True)
    outbox_file(lake).write_bytes(b"not a database, " * 100)
    with pytest.raises(OutboxUnusable, match="cannot use the outbox"):
        Outbox(outbox_file(lake))
    assert outbox_file(lake).read_bytes().startswith(b"not a database")
