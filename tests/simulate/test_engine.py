"""One engine against hand calculation: 1000 prefill tokens/s in chunks of 100, a step of 10 ms + 5 ms per sequence.

A chunk alone takes 0.110 s (0.1 s of prefill and the step), beside one sequence that decodes 0.115 s.
"""

from dataclasses import replace

import pytest

from goodput.simulate.fleet.config import EngineSpec
from goodput.simulate.fleet.engine import Engine
from goodput.simulate.fleet.events import NEVER, EventLoop
from goodput.simulate.fleet.job import Job

SPEC = EngineSpec("m", 1000.0, 0.010, 0.005, kv_tokens=10_000, max_sequences=2, chunk_tokens=100)
QUEUED_S = 0.006  # frontend: 4 ms + 2 us for each of 1000 input tokens


def run(
    *arrivals: tuple[float, Job],
    spec: EngineSpec = SPEC,
    slow_from_s: float | None = None,
    drop: tuple[float, Job] | None = None,
) -> Engine:
    loop = EventLoop()
    engine = Engine(spec, loop)
    for arrived_s, job in arrivals:
        loop.at(arrived_s, engine.receive, job)
    if slow_from_s is not None:
        loop.at(slow_from_s, engine.change_speed, 2.0)
    if drop is not None:
        loop.at(drop[0], engine.drop, drop[1])
    loop.run()
    return engine


def job(session: str = "s", input_tokens: int = 1000, output_tokens: int = 11) -> Job:
    def nothing() -> None:
        pass

    return Job("id", ((session, input_tokens),), input_tokens, output_tokens, nothing, nothing, nothing)


def test_a_lone_job_takes_frontend_ten_chunks_and_ten_steps() -> None:
    lone = job()
    run((0.0, lone))
    assert lone.queued_s == lone.scheduled_s == pytest.approx(QUEUED_S)
    assert lone.first_token_s == pytest.approx(QUEUED_S + 10 * 0.110)
    assert lone.completed_s == pytest.approx(QUEUED_S + 1.1 + 10 * 0.015)


def test_a_prefill_slows_decoding_down_and_sequences_each_other() -> None:
    # The second prompt, 101 tokens, is 1.01 chunks of 0.115 s, in which the first sequence decodes 1.01 of 100 steps.
    # Together a step takes 20 ms; the second needs ten of them, the first has 88.99 left alone.
    first, second = job("a", output_tokens=101), job("b", input_tokens=101)
    run((0.0, first), (0.1, second))
    assert second.scheduled_s == pytest.approx(1.106)
    assert second.first_token_s == pytest.approx(1.106 + 1.01 * 0.115)
    assert second.completed_s == pytest.approx(1.106 + 1.01 * 0.115 + 10 * 0.020)
    assert first.completed_s == pytest.approx(second.completed_s + 88.99 * 0.015)


def test_memory_in_use_lengthens_every_step() -> None:
    # 1001 tokens when decoding starts: 1 us each is 1.001 ms more a step; what grows in one stretch counts at its end.
    lone = job()
    run((0.0, lone), spec=replace(SPEC, kv_read_s_per_token=1e-6))
    assert lone.completed_s - lone.first_token_s == pytest.approx(10 * (0.015 + 1001e-6))


def test_drafts_shorten_decoding_by_what_is_accepted_of_them() -> None:
    # Two drafts, each accepted half of the time if its forerunners were: 1 + 0.5 + 0.25 tokens a step.
    lone = job(output_tokens=71)
    engine = run((0.0, lone), spec=replace(SPEC, draft_tokens=2, draft_acceptance=0.5))
    assert lone.completed_s - lone.first_token_s == pytest.approx(40 * 0.015)
    assert (lone.draft_tokens, lone.accepted_draft_tokens) == (80, 30)
    assert engine.counters.draft_tokens == pytest.approx(80)
    assert engine.counters.accepted_draft_tokens == pytest.approx(30)


def test_full_memory_evicts_the_latest_and_computes_it_anew() -> None:
    # Both prompts of 80 in 200 tokens. When the second joins, the first has 1.8 tokens (0.8 chunks went by), it 1:
    # 162.8 in use, 2 more a step, full after 18.6 steps; then the second has 19.6. The first grows on to 130 and
    # leaves 70 of the 80 tokens that nobody holds; of them four blocks of 16 are found again: 80 + 19 - 64.
    first, second = job("a", 80, 50), job("b", 80, 50)
    engine = run((0.0, first), (0.0, second), spec=replace(SPEC, kv_tokens=200))
    assert (first.preemptions, second.preemptions, engine.counters.preemptions) == (0, 1, 1)
    assert (first.recomputed_tokens, second.recomputed_tokens) == (0, 35)
    assert second.prefilled_tokens == pytest.approx(80 + 80 + 19.6 - 64)
    assert second.first_token_s < first.completed_s < second.completed_s
    assert engine.counters.prefix_queries == 160  # what comes back after an eviction is not counted again


def test_what_leaks_of_each_answer_stays_in_use() -> None:
    first, second = job("a", output_tokens=100), job("b", output_tokens=60)
    engine = run((0.0, first), (5.0, second), spec=replace(SPEC, kv_leak_ratio=0.05))
    assert engine.memory.in_use_tokens == pytest.approx(0.05 * 160)


def test_a_third_job_waits_for_a_place_and_a_drop_frees_one() -> None:
    long, other, third = job("a", 10, 1000), job("b", 10, 1000), job("c", 10, 2)
    run((0.0, long), (0.0, other), (0.0, third), drop=(2.0, long))
    assert third.scheduled_s == pytest.approx(2.0)
    assert long.completed_s == NEVER
    assert other.completed_s < NEVER


def test_a_dropped_waiting_job_never_runs() -> None:
    running, waiting = job("a"), job("b")
    engine = run((0.0, running), (0.0, waiting), drop=(0.5, waiting))
    assert waiting.scheduled_s == NEVER
    assert running.completed_s == pytest.approx(1.256)
    assert engine.load == 0


def test_slowing_down_changes_the_steps_that_are_left() -> None:
    # 5 of 10 steps at 15 ms are done at 1.106 + 0.075; the other five take 30 ms each.
    lone = job()
    run((0.0, lone), slow_from_s=1.181)
    assert lone.completed_s == pytest.approx(1.181 + 5 * 0.030)


def test_the_next_turn_of_a_session_finds_its_prefix() -> None:
    # 1011 tokens are cached after the first turn; whole blocks of 16 make 1008, of 1108 remain 100: one chunk.
    first, second = job(), job(input_tokens=1108, output_tokens=1)
    run((0.0, first), (10.0, second))
    assert second.cached_tokens == 1008
    assert second.first_token_s - second.scheduled_s == pytest.approx(0.110)


def test_only_long_prompts_notice_fragmentation() -> None:
    # An hour after the start a long prompt takes 7 % longer; by then memory holds nothing of it.
    spec = replace(SPEC, long_prompt_tokens=999, fragmentation_per_h=0.07)
    long, short = job("a"), job("b", input_tokens=999)
    run((3600.0 - QUEUED_S, long), (3700.0, short), spec=spec)
    assert long.first_token_s - long.scheduled_s == pytest.approx(1.07 * 1.1)
    assert short.first_token_s - short.scheduled_s == pytest.approx(0.999 * 1.1)
