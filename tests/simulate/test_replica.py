"""One replica against hand calculation: 1000 prefill tokens/s, a decode step of 10 ms + 5 ms per sequence."""

from functools import partial

import pytest

from goodput.simulate.events import NEVER, EventLoop
from goodput.simulate.replica import Job, PrefixCache, Replica
from goodput.simulate.story import ReplicaSpec

# Frontend: 4 ms + 2 us per input token. Prefill: 15 ms + uncached / 1000 tokens per s.
SPEC = ReplicaSpec("r0", "p", "m", 2, 1000.0, 0.010, 0.005, 10_000)


def run(
    *arrivals: tuple[float, Job], slow_from_s: float | None = None, abort: tuple[float, Job] | None = None
) -> Replica:
    loop = EventLoop()
    replica = Replica(SPEC, loop)
    for arrived_s, job in arrivals:
        loop.at(arrived_s, partial(replica.receive, job))
    if slow_from_s is not None:
        loop.at(slow_from_s, partial(replica.slow_down, 2.0))
    if abort is not None:
        loop.at(abort[0], partial(replica.abort, abort[1]))
    loop.run()
    return replica


def job(session_id: str = "s", input_tokens: int = 1000, output_tokens: int = 11) -> Job:
    return Job("id", session_id, input_tokens, output_tokens, lambda: None, lambda: None)


def test_a_lone_job_takes_frontend_prefill_and_ten_steps() -> None:
    lone = job()
    run((0.0, lone))
    assert lone.queued_s == pytest.approx(0.006)
    assert lone.scheduled_s == pytest.approx(0.006)
    assert lone.first_token_s == pytest.approx(1.021)
    assert lone.completed_s == pytest.approx(1.021 + 10 * 0.015)


def test_two_sequences_slow_each_other_down() -> None:
    # The second prefill starts when the first ends (1.021) and takes 0.116 s; until then the first decodes
    # alone at 15 ms: 0.116 / 0.015 = 7.7333 of 100 steps. Together a step is 20 ms. The second, 11 tokens,
    # is done after 10 joint steps; the first then has 100 - 17.7333 steps left alone.
    first, second = job("a", output_tokens=101), job("b", input_tokens=101)
    run((0.0, first), (0.1, second))
    assert second.scheduled_s == pytest.approx(1.021)
    assert second.first_token_s == pytest.approx(1.137)
    assert second.completed_s == pytest.approx(1.337)
    assert first.completed_s == pytest.approx(1.337 + (100 - 0.116 / 0.015 - 10) * 0.015)


def test_a_third_job_waits_for_a_slot_and_an_abort_frees_one() -> None:
    long, other, third = job("a", 10, 1000), job("b", 10, 1000), job("c", 10, 2)
    run((0.0, long), (0.0, other), (0.0, third), abort=(2.0, long))
    assert third.scheduled_s == pytest.approx(2.0)
    assert long.completed_s == NEVER
    assert other.completed_s < NEVER


def test_an_aborted_waiting_job_never_runs() -> None:
    running, waiting = job("a"), job("b")
    replica = run((0.0, running), (0.0, waiting), abort=(0.5, waiting))
    assert waiting.scheduled_s == NEVER
    assert running.completed_s == pytest.approx(1.171)
    assert replica.load == 0


def test_an_abort_during_prefill_admits_the_next_at_once() -> None:
    first, second = job("a"), job("b", 10, 2)
    run((0.0, first), (0.1, second), abort=(0.5, first))
    assert first.first_token_s == NEVER
    assert second.scheduled_s == pytest.approx(0.5)


def test_slowing_down_changes_the_steps_that_are_left() -> None:
    # 5 of 10 steps at 15 ms are done at 1.021 + 0.075; the other five take 30 ms each.
    lone = job()
    run((0.0, lone), slow_from_s=1.096)
    assert lone.completed_s == pytest.approx(1.096 + 5 * 0.030)


def test_the_next_turn_of_a_session_finds_its_prefix() -> None:
    # 1011 tokens are cached after the first turn; whole blocks of 16 make 1008.
    first, second = job(), job(input_tokens=1108, output_tokens=1)
    run((0.0, first), (10.0, second))
    assert second.cached_tokens == 1008
    assert second.first_token_s - second.scheduled_s == pytest.approx(0.015 + 0.100)


def test_the_last_input_token_is_never_cached() -> None:
    cache = PrefixCache(1000)
    cache.keep("s", 64)
    assert cache.hit_tokens("s", 64) == 48


def test_the_least_recently_kept_session_leaves_a_full_cache() -> None:
    cache = PrefixCache(1000)
    for session_id, tokens in (("a", 400), ("b", 400), ("a", 480), ("c", 320)):
        cache.keep(session_id, tokens)
    assert [cache.hit_tokens(s, 999) for s in "abc"] == [480, 0, 320]
