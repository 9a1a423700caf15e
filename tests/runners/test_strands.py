"""Steps side by side: each after those that it needs, one at a time, and none left behind where one fails."""

import signal
import threading
import time
from collections.abc import Mapping, Set
from contextvars import ContextVar

import pytest

from goodput.plumbing.runner import Died
from goodput.runners.pool import Pooled
from goodput.runners.shipping import done
from goodput.runners.strands import pause, take_turns
from runners import work


class Slow:
    """A pool whose workers are done, one after another, only when nobody has anything else to do."""

    has_begun = True

    def __init__(self, width: int) -> None:
        self.width = width
        self.under_way: list[tuple[int, bytes]] = []
        self.most = self.abandoned = 0

    def start(self, number: int, payload: bytes) -> None:
        self.under_way.append((number, payload))
        self.most = max(self.most, len(self.under_way))

    def wait(self) -> tuple[int, bytes | Died]:
        number, payload = self.under_way.pop(0)
        return number, done(payload)

    def abandon(self) -> None:
        self.abandoned += len(self.under_way)
        self.under_way.clear()


def ran(needs: Mapping[str, Set[str]], width: int, items: int) -> tuple[list[str], Slow]:
    """What began and ended, where each step has a pool double so many items."""
    pool = Slow(width)
    runner, told = Pooled(pool), list[str]()

    def do(step: str) -> None:
        told.append(f"{step} begins")
        assert sorted(runner.map(work.double, range(items))) == [(n, 2 * n) for n in range(items)]
        told.append(f"{step} ends")

    runner.each(needs, do)
    return told, pool


def test_a_step_begins_once_those_that_it_needs_are_done() -> None:
    told, _ = ran({"a": set(), "b": {"a"}, "c": {"a"}, "d": {"b", "c"}}, width=2, items=3)
    assert told[:2] == ["a begins", "a ends"]
    assert told[2:4] == ["b begins", "c begins"], "while b waits for its items"
    assert {*told[4:6]} == {"b ends", "c ends"}
    assert told[6:] == ["d begins", "d ends"]


@pytest.mark.parametrize("items", [0, 1, 2, 7])
@pytest.mark.parametrize("width", [1, 2, 5])
def test_no_more_is_under_way_than_there_are_workers(width: int, items: int) -> None:
    told, pool = ran({name: set() for name in "abcd"}, width, items)
    assert sorted(told) == sorted(f"{name} {what}" for name in "abcd" for what in ("begins", "ends"))
    assert pool.most == min(width, 4 * items)
    assert not pool.abandoned


def test_steps_without_workers_follow_each_other() -> None:
    told, _ = ran({"a": set(), "b": set()}, width=1, items=0)
    assert told == ["a begins", "a ends", "b begins", "b ends"]


def test_where_one_fails_the_others_end_and_nothing_stays_under_way() -> None:
    pool, ended = Slow(2), list[str]()
    runner = Pooled(pool)

    def do(step: str) -> None:
        try:
            for item, _ in runner.map(work.double, range(5)):
                if (step, item) == ("b", 0):
                    raise ValueError(step)
        finally:
            ended.append(step)

    with pytest.raises(ValueError, match="b"):
        runner.each({"a": set(), "b": set(), "c": set(), "d": {"b"}}, do)
    assert sorted(ended) == ["a", "b", "c"]
    assert pool.abandoned
    assert not pool.under_way
    assert list(runner.map(work.double, [4])) == [(4, 8)], "it may be asked again"


def test_an_interrupt_while_all_wait_ends_them(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, ended = Slow(1), list[str]()
    runner = Pooled(pool)

    def pressed() -> tuple[int, bytes | Died]:
        raise KeyboardInterrupt

    monkeypatch.setattr(pool, "wait", pressed)

    def do(step: str) -> None:
        try:
            list(runner.map(work.double, range(2)))
        finally:
            ended.append(step)

    with pytest.raises(KeyboardInterrupt):
        runner.each({"a": set(), "b": set()}, do)
    assert sorted(ended) == ["a", "b"]
    assert not pool.under_way


def test_each_has_what_was_open_around_all_and_not_what_others_open() -> None:
    """Spans are kept in such variables."""
    outer = ContextVar[tuple[str, ...]]("outer", default=())
    outer.set(("run",))
    seen: dict[str, tuple[str, ...]] = {}
    waited = []

    def do(step: str) -> None:
        token = outer.set((*outer.get(), step))
        assert pause()
        seen[step] = outer.get()
        outer.reset(token)

    take_turns({"a": set(), "b": set()}, do, lambda: waited.append(1), lambda: 0)
    assert seen == {"a": ("run", "a"), "b": ("run", "b")}
    assert waited == [1]
    assert outer.get() == ("run",)
    assert not pause(), "who is in no strand waits by itself"


def test_an_interrupt_while_one_runs_ends_it_before_the_others() -> None:
    """Whoever resumes it hears of it, as Ctrl-C is the first thread's; nothing else runs until it has ended."""
    order: list[str] = []
    assert threading.current_thread() is threading.main_thread()

    def do(step: str) -> None:
        try:
            pause()
            if step == "b":
                signal.raise_signal(signal.SIGINT)  # it is the main thread that raises
                time.sleep(0.3)
                order.append("b has run")
            pause()
        finally:
            order.append(f"{step} ends")

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            take_turns({"a": set(), "b": set()}, do, list, lambda: len(order))
    finally:
        signal.signal(signal.SIGINT, before)
    assert order == ["b has run", "b ends", "a ends"]
