"""Routing, timeouts and retries as the client of a fleet sees them."""

from dataclasses import replace
from itertools import pairwise

import pytest

from goodput.simulate.fleet.arrival import Arrival
from goodput.simulate.fleet.config import EngineSpec, FleetConfig, Manners, Operation, PoolSpec
from goodput.simulate.fleet.events import NEVER, EventLoop
from goodput.simulate.fleet.fleet import Fleet
from goodput.simulate.fleet.gateway import Exchange
from goodput.simulate.fleet.replica import Replica
from goodput.simulate.fleet.routing import route_by

SPEC = EngineSpec("m", 4000.0, 0.010, 0.001, kv_tokens=8000, max_sequences=8)
PREFIX = (("s", 1000),)
CALM = Manners()
ASKED = Arrival("r", 0.0, "chat", "chat", "any", "acme", "s", PREFIX, 1000, 20, 512, timeout_s=5.0)


def replicas(count: int = 3) -> list[Replica]:
    loop = EventLoop()
    return [Replica(f"vllm-chat-{n}", "chat", SPEC, loop) for n in range(count)]


def served(asked: Arrival, manners: Manners = CALM, *operations: Operation) -> Exchange:
    config = FleetConfig((PoolSpec("chat", 2, SPEC),), {"any": "round-robin"}, manners, operations)
    return Fleet(config).run([asked]).exchanges[0]


def test_round_robin_takes_turns() -> None:
    ready, choose = replicas(), route_by("round-robin")
    assert [choose(ready, ASKED, PREFIX, 0) for _ in range(4)] == [*ready, ready[0]]


def test_sticky_keeps_a_session_on_a_replica_and_a_retry_off_it() -> None:
    ready, choose = replicas(), route_by("sticky")
    assert choose(ready, ASKED, PREFIX, 0) is choose(ready, replace(ASKED, input_tokens=9), PREFIX, 0)
    assert choose(ready, ASKED, PREFIX, 0) is not choose(ready, ASKED, PREFIX, 1)


def test_a_pool_that_grows_moves_few_sticky_sessions() -> None:
    # Of eight replicas the new one wins one session in eight; a hash modulo the pool would move seven in eight.
    eight, choose = replicas(8), route_by("sticky")
    asked = [replace(ASKED, session_id=f"s{n}") for n in range(800)]
    moved = sum(choose(eight[:7], one, PREFIX, 0) is not choose(eight, one, PREFIX, 0) for one in asked)
    assert 60 < moved < 145


def test_prefix_aware_goes_to_the_replica_that_has_the_prefix_else_to_the_emptiest() -> None:
    ready, choose = replicas(), route_by("prefix-aware")
    ready[2].engine.memory.cache.fill((("s", 900),), [])
    ready[0].engine.memory.cache.fill((("other", 900),), [])
    assert choose(ready, ASKED, PREFIX, 0) is ready[2]
    assert choose(ready, ASKED, (("new", 1000),), 0) is ready[1]


def test_an_answer_needs_one_attempt() -> None:
    exchange = served(ASKED)
    assert [a.outcome for a in exchange.attempts] == ["ok"]
    assert exchange.attempts[0].engine_completed


def test_refusals_are_retried_twice_with_growing_backoff() -> None:
    attempts = served(ASKED, Manners(refused_ratio=1.0)).attempts
    assert [(a.outcome, a.error_type, a.job) for a in attempts] == [("error", "503", None)] * 3
    waits = [after.started_s - before.ended_s for before, after in pairwise(attempts)]
    assert 0.375 <= waits[0] <= 0.5
    assert 0.75 <= waits[1] <= 1.0


def test_a_prompt_that_no_memory_holds_is_refused_for_good() -> None:
    attempts = served(replace(ASKED, input_tokens=7990)).attempts
    assert [(a.outcome, a.error_type) for a in attempts] == [("error", "400")]


def test_no_first_chunk_in_time_is_a_timeout_that_the_engine_never_completes() -> None:
    slow = [Operation(0.0, "slowdown", "chat", replica=f"vllm-chat-{n}", factor=1e4, until_s=1e6) for n in range(2)]
    attempts = served(replace(ASKED, arrived_s=1.0), Manners(), *slow).attempts
    assert [a.outcome for a in attempts] == ["timeout"] * 3
    assert [a.ended_s - a.started_s for a in attempts] == pytest.approx([5.0] * 3)
    assert not any(a.engine_completed for a in attempts)


def test_a_user_who_leaves_mid_stream_is_not_retried() -> None:
    attempts = served(replace(ASKED, abandons_after_s=0.05)).attempts
    assert [a.outcome for a in attempts] == ["cancelled"]
    assert attempts[0].ended_s - attempts[0].first_chunk_s == pytest.approx(0.05)
    assert not attempts[0].engine_completed


def test_a_deployment_kills_what_outlives_its_drain_and_the_retry_is_served_elsewhere() -> None:
    # 6000 tokens take 60 s; the first replica drains from 1 s to 31 s.
    asked = replace(ASKED, output_tokens=6000, max_tokens=6000)
    attempts = served(asked, Manners(drain_s=30.0), Operation(1.0, "deployment", "chat")).attempts
    assert [(a.outcome, a.incarnation.replica) for a in attempts[:1]] == [("error", "vllm-chat-0")]
    assert attempts[0].error_type == "502"
    assert attempts[0].ended_s == pytest.approx(31.0, abs=0.01)
    assert attempts[1].incarnation.replica == "vllm-chat-1"


def test_what_waits_at_a_stopped_engine_is_never_admitted_there() -> None:
    single = replace(SPEC, max_sequences=1)
    config = FleetConfig((PoolSpec("chat", 1, single),), {"any": "round-robin"}, Manners(drain_s=0.0, max_retries=0))
    config = replace(config, operations=(Operation(1.0, "deployment", "chat"),))
    asked = [replace(ASKED, request_id=str(n), output_tokens=3000, max_tokens=3000) for n in range(3)]
    exchanges = Fleet(config).run(asked).exchanges
    assert [exchange.attempts[0].error_type for exchange in exchanges] == ["502"] * 3
    scheduled = [exchange.attempts[0].job.scheduled_s < 1.0 for exchange in exchanges if exchange.attempts[0].job]
    assert scheduled == [True, False, False]
    assert [exchange.attempts[0].job.scheduled_s for exchange in exchanges[1:] if exchange.attempts[0].job] == [
        NEVER
    ] * 2
