"""The story that the demo tells, measured on the simulation itself over the whole hour."""

import numpy as np
import pytest

from goodput.simulate.fleet import simulate
from goodput.simulate.gateway import Exchange

SPAN_S = 3600.0


@pytest.fixture(scope="module")
def exchanges() -> list[Exchange]:
    return simulate(np.random.default_rng(1), np.random.default_rng(2), SPAN_S)


def met_gates(exchange: Exchange) -> bool:
    request, last = exchange.request, exchange.attempts[-1]
    if last.outcome != "ok" or len(exchange.attempts) > 2:
        return False
    ttft_s, e2e_s = last.first_chunk_s - request.arrived_s, last.ended_s - request.arrived_s
    if request.workload.name == "rag":
        return ttft_s <= 2.5 and e2e_s <= 20.0
    return ttft_s <= 0.8 and e2e_s - ttft_s <= 0.06 * (request.output_tokens - 1)


def met_ratio(exchanges: list[Exchange]) -> float:
    return sum(map(met_gates, exchanges)) / len(exchanges)


def test_about_seven_thousand_requests_arrive_in_order(exchanges: list[Exchange]) -> None:
    arrivals = [e.request.arrived_s for e in exchanges]
    assert 6600 < len(arrivals) < 7400
    assert arrivals == sorted(arrivals)
    assert 0.0 <= arrivals[0] < arrivals[-1] < SPAN_S


def test_most_requests_meet_the_gates(exchanges: list[Exchange]) -> None:
    assert 0.78 < met_ratio(exchanges) < 0.93


def test_prefix_aware_beats_round_robin(exchanges: list[Exchange]) -> None:
    by_route = {
        route: met_ratio([e for e in exchanges if e.request.route == route])
        for route in ("prefix-aware", "round-robin")
    }
    assert by_route["prefix-aware"] > by_route["round-robin"] + 0.05


def test_the_surge_hurts(exchanges: list[Exchange]) -> None:
    surge = [e for e in exchanges if 0.45 <= e.request.arrived_s / SPAN_S < 0.55]
    calm = [e for e in exchanges if e.request.arrived_s / SPAN_S < 0.18]
    assert met_ratio(surge) < met_ratio(calm) - 0.08


def test_the_slow_replica_is_worse_than_its_peers(exchanges: list[Exchange]) -> None:
    chat = [e for e in exchanges if e.request.workload.name == "chat" and 0.68 <= e.request.arrived_s / SPAN_S < 0.93]
    slow = [e for e in chat if e.attempts[-1].replica.spec.name == "vllm-chat-1"]
    peers = [e for e in chat if e.attempts[-1].replica.spec.name != "vllm-chat-1"]
    assert met_ratio(slow) < met_ratio(peers) - 0.1


def test_every_kind_of_failure_occurs(exchanges: list[Exchange]) -> None:
    seen = {(a.outcome, a.error_type) for e in exchanges for a in e.attempts}
    assert seen == {
        ("ok", ""),
        ("error", "502"),
        ("error", "503"),
        ("timeout", "timeout"),
        ("cancelled", "cancelled"),
    }
    assert max(len(e.attempts) for e in exchanges) == 3
