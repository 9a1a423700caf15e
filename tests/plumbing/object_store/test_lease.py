"""The lease: one writer on any machine, and nothing changed by one whose time has passed."""

import os
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest

from goodput.errors import LakeBusy, LeaseLost
from goodput.plumbing.object_store import lease as of_lease
from goodput.plumbing.object_store.bucket import Bucket
from goodput.plumbing.object_store.lease import Lease

WRITERS, TURNS = 5, 4

# A counter that is read, and written a moment later without any condition: only who is alone adds all of its turns.
_COUNT = """
import sys, time
from goodput.plumbing.object_store import lease as of_lease
from goodput.plumbing.object_store.bucket import Bucket
url, name, turns = sys.argv[1:]
of_lease._RETRY_S = 0.02
bucket = Bucket(url)
for _ in range(int(turns)):
    lease = of_lease.Lease(bucket, name)
    taken = lease.take(120.0)
    found = bucket.read("counter")
    count = int(found.content) if found else 0
    time.sleep(0.02)
    bucket.write("counter", str(count + 1).encode())
    print(taken.head.token)
    lease.give_back(is_broken_off=False)
"""


def taken(url: str, name: str, wait_s: float = 0.0) -> Lease:
    lease = Lease(Bucket(url), name)
    lease.take(wait_s)
    return lease


def test_processes_that_take_it_again_and_again_are_alone_each_time(url: str) -> None:
    asked = [sys.executable, "-c", _COUNT, url]
    started = [
        subprocess.Popen([*asked, f"w{n}", str(TURNS)], stdout=subprocess.PIPE, text=True, env=os.environ.copy())
        for n in range(WRITERS)
    ]
    tokens = [int(line) for process in started for line in process.communicate(timeout=180)[0].split()]
    counter = Bucket(url).read("counter")
    assert counter is not None
    assert int(counter.content) == WRITERS * TURNS
    assert sorted(tokens) == list(range(1, WRITERS * TURNS + 1))


def test_a_second_writer_is_refused_by_the_name_of_the_first(url: str) -> None:
    first = taken(url, "host a")
    with pytest.raises(LakeBusy, match=r"host a.*is writing"):
        taken(url, "host b")
    first.give_back(is_broken_off=False)
    taken(url, "host b").give_back(is_broken_off=False)


def test_a_second_writer_waits(url: str) -> None:
    first = taken(url, "host a")
    threading.Timer(1.5, lambda: first.give_back(is_broken_off=False)).start()
    began = time.monotonic()
    taken(url, "host b", 60.0).give_back(is_broken_off=False)
    assert time.monotonic() - began > 1.0


def test_who_died_is_known_where_it_ran_at_once_and_elsewhere_when_its_time_is_over(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_lease, "LEASE_S", 3.0)
    taken(url, "host a")._ended.set()  # it renews nothing any more
    dead = Lease(Bucket(url), "host a")
    again = dead.take(0.0)
    assert (again.is_silent, again.is_broken_off, again.head.token) == (True, True, 2)
    dead._ended.set()
    with pytest.raises(LakeBusy):
        taken(url, "host b")
    time.sleep(7)
    elsewhere = Lease(Bucket(url), "host b")
    later = elsewhere.take(0.0)
    assert (later.is_silent, later.head.token) == (True, 3)
    elsewhere.give_back(is_broken_off=False)


def test_who_lost_it_changes_nothing_and_learns_that(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    late = taken(url, "host a")
    late._ended.set()
    monkeypatch.setattr(Lease, "_is_over", lambda *_: True)
    new = taken(url, "host b")
    with pytest.raises(LeaseLost, match="another machine"):
        late.change(lambda head: replace(head, files={"lake.json": ("key", "digest")}))
    with pytest.raises(LeaseLost):
        late.confirm()
    new.change(lambda head: replace(head, files={"lake.json": ("right", "digest")}))
    head = new.read()
    assert head is not None
    assert head.files == {"lake.json": ("right", "digest")}


def test_while_it_is_held_it_is_renewed(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_lease, "LEASE_S", 3.0)
    lease = taken(url, "host a")
    first = Bucket(url).read("head.json")
    time.sleep(8)
    with pytest.raises(LakeBusy):
        taken(url, "host b")
    now = Bucket(url).read("head.json")
    assert first is not None
    assert now is not None
    assert now.version != first.version
    lease.give_back(is_broken_off=False)


def test_what_others_add_beside_the_holder_stays(url: str) -> None:
    holder, other = taken(url, "host a"), Lease(Bucket(url), "host b")
    other.change(lambda head: replace(head, files={**head.files, "alarm_actions.jsonl": ("a", "1")}))
    holder.change(lambda head: replace(head, files={**head.files, "lake.json": ("l", "2")}))
    head = holder.give_back(is_broken_off=True)
    assert head.files == {"alarm_actions.jsonl": ("a", "1"), "lake.json": ("l", "2")}
    later = Lease(Bucket(url), "host b")
    after = later.take(0.0)
    assert (after.is_broken_off, after.is_silent) == (True, False)
    later.give_back(is_broken_off=False)


def test_without_it_nothing_is_committed(url: str) -> None:
    lease = Lease(Bucket(url), "host a")
    with pytest.raises(LeaseLost):
        lease.check()
    lease.take(0.0)
    lease.check()
    lease.give_back(is_broken_off=False)
    with pytest.raises(LeaseLost):
        lease.confirm()
