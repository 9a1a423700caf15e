"""What no fleet can break, checked on a busy one: nothing is lost, nothing made, none waits beside an idle engine."""

import numpy as np
import pytest

from goodput.simulate.fleet.config import EngineSpec, FleetConfig, Manners, Operation, PoolSpec
from goodput.simulate.fleet.events import NEVER
from goodput.simulate.fleet.fleet import Fleet, Served
from goodput.simulate.fleet.gateway import Attempt
from goodput.simulate.workloads import demo_arrivals

SPAN_S = 3600.0
SPEC = EngineSpec("m", 2500.0, 0.030, 0.0015, 14_000, 12, 2e-7, draft_tokens=2, draft_acceptance=0.4, restart_s=60.0)


@pytest.fixture(scope="module")
def served() -> Served:
    arrivals = demo_arrivals(np.random.default_rng(5), SPAN_S, 5000)
    config = FleetConfig(
        pools=(PoolSpec("chat", 5, SPEC), PoolSpec("rag", 3, SPEC)),
        routes=dict.fromkeys(("round-robin", "prefix-aware", "sticky", "batch"), "round-robin"),
        manners=Manners(refused_ratio=0.01, broken_ratio=0.01),
        operations=(Operation(1800.0, "deployment", "chat"), Operation(2400.0, "scale_out", "rag")),
        sample_every_s=2.0,
        seed=1,
    )
    return Fleet(config).run(arrivals)


@pytest.fixture(scope="module")
def attempts(served: Served) -> list[Attempt]:
    return [attempt for exchange in served.exchanges for attempt in exchange.attempts]


def test_every_request_ends_and_only_what_failed_is_tried_again(served: Served) -> None:
    for exchange in served.exchanges:
        outcomes = [attempt.outcome for attempt in exchange.attempts]
        assert 1 <= len(outcomes) <= 3
        assert set(outcomes[:-1]) <= {"error", "timeout"}
        assert outcomes[-1] != "pending"
        starts = [attempt.started_s for attempt in exchange.attempts]
        assert starts[0] == exchange.arrival.arrived_s
        assert starts == sorted(starts)


def test_it_is_busy_enough_to_show_everything(attempts: list[Attempt]) -> None:
    assert sum(attempt.job.preemptions for attempt in attempts if attempt.job) > 10
    assert {(a.outcome, a.error_type) for a in attempts} == {
        ("ok", ""),
        ("error", "400"),
        ("error", "502"),
        ("error", "503"),
        ("timeout", "timeout"),
        ("cancelled", "cancelled"),
    }


def test_memory_is_never_over_full_and_is_given_back(served: Served) -> None:
    for one in served.incarnations:
        memory = one.engine.memory
        assert memory.peak_tokens <= SPEC.kv_tokens * (1 + 1e-9)
        assert memory.in_use_tokens == pytest.approx(0.0, abs=1e-3)
        assert one.engine.load == 0


def test_prompts_are_prefilled_once_but_for_what_was_cached_or_evicted(attempts: list[Attempt]) -> None:
    finished = [a.job for a in attempts if a.job and a.job.completed_s < NEVER]
    for job in finished:
        expected = job.input_tokens - job.cached_tokens + job.recomputed_tokens
        assert job.prefilled_tokens == pytest.approx(expected, abs=job.preemptions + 1e-6)


def test_engines_count_the_tokens_that_their_jobs_got(served: Served, attempts: list[Attempt]) -> None:
    for one in served.incarnations:
        jobs = [a.job for a in attempts if a.job and a.incarnation is one]
        counted = one.engine.counters
        assert counted.generated_tokens == pytest.approx(sum(job.generated for job in jobs), rel=1e-9)
        assert counted.prefilled_tokens == pytest.approx(sum(job.prefilled_tokens for job in jobs), rel=1e-9)
        assert counted.stopped + counted.cut == sum(job.completed_s < NEVER for job in jobs)
        assert counted.preemptions == sum(job.preemptions for job in jobs)
        steps = counted.draft_tokens / SPEC.draft_tokens
        assert counted.accepted_draft_tokens == pytest.approx(steps * (SPEC.tokens_per_step - 1))


def test_every_finished_job_got_all_its_tokens(attempts: list[Attempt]) -> None:
    for job in (a.job for a in attempts if a.job and a.job.completed_s < NEVER):
        assert job.generated == pytest.approx(job.output_tokens)
        assert job.received_s < job.queued_s <= job.scheduled_s < job.first_token_s <= job.completed_s


def test_littles_law(served: Served, attempts: list[Attempt]) -> None:
    # What scrapes saw on average (L) is what came per second times how long it stayed (lambda W).
    for pool in ("chat", "rag"):
        stays = [
            a.job.left_s - a.job.queued_s
            for a in attempts
            if a.job and a.job.queued_s < NEVER and a.incarnation.pool == pool
        ]
        samples = [s for one in served.incarnations if one.pool == pool for s in one.samples]
        seen = sum(sample.running + sample.waiting for sample in samples)
        assert seen * 2.0 == pytest.approx(sum(stays), rel=0.02)


def test_nobody_waits_beside_an_idle_engine(served: Served) -> None:
    samples = [sample for one in served.incarnations for sample in one.samples]
    assert max(sample.waiting for sample in samples) > 3
    assert not [sample for sample in samples if sample.waiting and not sample.running]


def test_an_engine_is_busy_exactly_while_it_has_jobs(served: Served, attempts: list[Attempt]) -> None:
    for one in served.incarnations:
        stays = sorted(
            (a.job.queued_s, a.job.left_s)
            for a in attempts
            if a.job and a.incarnation is one and a.job.queued_s < NEVER
        )
        busy_s = until_s = 0.0
        for begin_s, end_s in stays:
            busy_s += max(0.0, end_s - max(begin_s, until_s))
            until_s = max(until_s, end_s)
        assert one.engine.counters.busy_s == pytest.approx(busy_s)


def test_counters_only_rise_and_begin_anew_with_the_process(served: Served) -> None:
    restarted = [one for one in served.incarnations if one.number == 1]
    assert len(restarted) == 5
    for one in served.incarnations:
        for name in ("preemptions", "prefix_queries", "prefix_hits", "prompt_tokens", "generated_tokens", "stopped"):
            read = [getattr(sample, name) for sample in one.samples]
            assert read == sorted(read)
    assert all(one.samples[0].generated_tokens < 100 for one in restarted)
