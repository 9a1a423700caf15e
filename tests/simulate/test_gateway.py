"""Routing, timeouts and retries of the simulated gateway."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from goodput.simulate.events import EventLoop
from goodput.simulate.gateway import Exchange, Gateway, routes
from goodput.simulate.replica import Replica
from goodput.simulate.story import CHAT, REPLICAS
from goodput.simulate.traffic import UserRequest

REQUEST = UserRequest("r", CHAT, "prefix-aware", "acme", "s", 0.0, 1000, 20, None)


def chat_replicas(loop: EventLoop) -> list[Replica]:
    return [Replica(spec, loop) for spec in REPLICAS if spec.pool == "chat"]


def served(request: UserRequest, refuse_ratio: float, slowdown: float = 1.0) -> Exchange:
    loop = EventLoop()
    replicas = chat_replicas(loop)
    for replica in replicas:
        replica.slow_down(slowdown)
    gateway = Gateway(loop, replicas, np.random.default_rng(0))
    gateway.refuse(refuse_ratio)
    exchange = Exchange(request)
    loop.at(request.arrived_s, lambda: gateway.serve(exchange))
    loop.run()
    return exchange


def test_round_robin_takes_turns() -> None:
    replicas = chat_replicas(EventLoop())
    choose = routes(replicas)["round-robin"]
    assert [choose(REQUEST, 0) for _ in range(4)] == [*replicas, replicas[0]]


def test_sticky_keeps_a_session_on_a_replica_and_a_retry_off_it() -> None:
    choose = routes(chat_replicas(EventLoop()))["sticky"]
    assert choose(REQUEST, 0) is choose(replace(REQUEST, input_tokens=9), 0)
    assert choose(REQUEST, 0) is not choose(REQUEST, 1)


def test_prefix_aware_goes_to_the_replica_that_has_the_prefix() -> None:
    replicas = chat_replicas(EventLoop())
    replicas[2].cache.keep("s", 900)
    assert routes(replicas)["prefix-aware"](REQUEST, 0) is replicas[2]


def test_an_answer_needs_one_attempt() -> None:
    exchange = served(REQUEST, refuse_ratio=0.0)
    assert [a.outcome for a in exchange.attempts] == ["ok"]
    assert exchange.attempts[0].engine_completed


def test_refusals_are_retried_twice_with_growing_backoff() -> None:
    attempts = served(REQUEST, refuse_ratio=1.0).attempts
    assert [(a.outcome, a.error_type, a.job) for a in attempts] == [("error", "503", None)] * 3
    waits = [after.started_s - before.ended_s for before, after in pairwise(attempts)]
    assert 0.375 <= waits[0] <= 0.5
    assert 0.75 <= waits[1] <= 1.0


def test_no_first_chunk_in_time_is_a_timeout_that_the_engine_never_completes() -> None:
    attempts = served(REQUEST, refuse_ratio=0.0, slowdown=1000.0).attempts
    assert [a.outcome for a in attempts] == ["timeout"] * 3
    assert [a.ended_s - a.started_s for a in attempts] == pytest.approx([CHAT.timeout_s] * 3)
    assert not any(a.engine_completed for a in attempts)


def test_a_user_who_leaves_mid_stream_is_not_retried() -> None:
    attempts = served(replace(REQUEST, abandons_after_s=0.05), refuse_ratio=0.0).attempts
    assert [a.outcome for a in attempts] == ["cancelled"]
    assert attempts[0].ended_s - attempts[0].first_chunk_s == pytest.approx(0.05)
    assert not attempts[0].engine_completed
