"""The story that the demo tells, measured on the simulation itself over a day told in three hours."""

from dataclasses import replace

import numpy as np
import pytest

from goodput.simulate.fleet.events import NEVER
from goodput.simulate.fleet.fleet import Fleet, Served
from goodput.simulate.fleet.gateway import Attempt, Exchange
from goodput.simulate.judge import judge
from goodput.simulate.story import RAG, demo_fleet
from goodput.simulate.workloads import demo_arrivals

SPAN_S = 3 * 3600.0
EXPECTED = 12_600


@pytest.fixture(scope="module")
def served() -> Served:
    return Fleet(demo_fleet(SPAN_S, 1)).run(demo_arrivals(np.random.default_rng(1), SPAN_S, EXPECTED))


@pytest.fixture(scope="module")
def exchanges(served: Served) -> list[Exchange]:
    return served.exchanges


def within(exchange: Exchange, begin: float, end: float) -> bool:
    return begin <= exchange.arrival.arrived_s / SPAN_S < end


def met_ratio(exchanges: list[Exchange]) -> float:
    """Share of chat requests that met their latency gates."""
    return float(np.mean([_met_gates(e) for e in exchanges if e.arrival.workload == "chat"]))


def _met_gates(exchange: Exchange) -> bool:
    last = exchange.attempts[-1]
    if last.outcome != "ok" or len(exchange.attempts) > 2:
        return False
    waited_s = last.first_chunk_s - exchange.arrival.arrived_s
    return waited_s <= 1.5 and last.ended_s - last.first_chunk_s <= 0.06 * (exchange.arrival.output_tokens - 1)


def hit_ratio(attempts: list[Attempt]) -> float:
    jobs = [a.job for a in attempts if a.job and a.job.scheduled_s < NEVER]
    return sum(job.cached_tokens for job in jobs) / sum(job.input_tokens for job in jobs)


def chat_attempts(exchanges: list[Exchange], begin: float, end: float, route: str = "") -> list[Attempt]:
    chosen = [e for e in exchanges if e.arrival.workload == "chat" and within(e, begin, end)]
    return [a for e in chosen if not route or e.arrival.route == route for a in e.attempts]


def test_arrivals_are_poisson_with_a_peak_at_daytime(exchanges: list[Exchange]) -> None:
    arrived = np.array([e.arrival.arrived_s for e in exchanges]) / SPAN_S
    assert len(arrived) == pytest.approx(EXPECTED, abs=4 * EXPECTED**0.5)
    assert (np.diff(arrived) >= 0).all()
    chat = np.array([e.arrival.arrived_s for e in exchanges if e.arrival.workload == "chat"]) / SPAN_S
    by_tenth = np.histogram(chat, bins=10, range=(0, 1))[0]
    assert by_tenth.argmax() in (4, 5, 6)
    assert by_tenth.max() > 2.2 * by_tenth[0]
    batch = np.array([e.arrival.arrived_s for e in exchanges if e.arrival.workload == "batch"]) / SPAN_S
    assert np.median(batch) < 0.25


def test_most_requests_meet_the_gates_and_prefix_aware_more_of_them(exchanges: list[Exchange]) -> None:
    assert 0.75 < met_ratio(exchanges) < 0.95
    routes = {r: [e for e in exchanges if e.arrival.route == r] for r in ("prefix-aware", "round-robin")}
    assert met_ratio(routes["prefix-aware"]) > met_ratio(routes["round-robin"]) + 0.01
    cached = {r: hit_ratio([a for e in found for a in e.attempts]) for r, found in routes.items()}
    assert cached["prefix-aware"] > cached["round-robin"] + 0.1


def test_the_deployment_at_the_peak_hurts_and_passes(served: Served, exchanges: list[Exchange]) -> None:
    before = [e for e in exchanges if within(e, 0.485, 0.545)]
    rolling = [e for e in exchanges if within(e, 0.545, 0.595)]
    after = [e for e in exchanges if within(e, 0.66, 0.72)]
    assert met_ratio(rolling) < met_ratio(before) - 0.05
    assert met_ratio(after) > met_ratio(rolling) + 0.1
    restarted = [one for one in served.incarnations if one.pool == "chat" and one.number == 1]
    assert len(restarted) == 5
    assert {one.engine.spec.revision for one in restarted} == {"1.5.0"}
    gaps = sorted((one.started_s, one.replica) for one in restarted)
    assert [replica for _, replica in gaps] == [f"vllm-chat-{n}" for n in range(5)]  # one after the other
    assert np.diff([at_s for at_s, _ in gaps]) == pytest.approx(105.0)  # 30 s of drain, 75 s of start


def test_the_scale_out_takes_load_off_the_others(served: Served) -> None:
    new = next(one for one in served.incarnations if one.replica == "vllm-chat-5")
    assert new.started_s == pytest.approx(0.64 * SPAN_S)
    assert new.engine.counters.stopped > 100


def test_a_salt_rotation_makes_the_cache_cold_for_a_while(exchanges: list[Exchange]) -> None:
    config = demo_fleet(SPAN_S, 1)
    others = tuple(one for one in config.operations if one.kind != "salt_rotation")
    arrivals = demo_arrivals(np.random.default_rng(1), SPAN_S, EXPECTED)
    unsalted = Fleet(replace(config, operations=others)).run(arrivals).exchanges
    lost = [
        hit_ratio(chat_attempts(unsalted, begin, end)) - hit_ratio(chat_attempts(exchanges, begin, end))
        for begin, end in ((0.60, 0.72), (0.735, 0.765), (0.82, 0.98))
    ]
    assert lost == [0.0, pytest.approx(0.15, abs=0.1), pytest.approx(0.0, abs=0.05)]


def test_the_slow_replica_is_worse_than_its_peers(exchanges: list[Exchange]) -> None:
    then = [e for e in exchanges if within(e, 0.28, 0.40)]
    slow = [e for e in then if e.attempts[-1].incarnation.replica == "vllm-chat-1"]
    peers = [e for e in then if e.attempts[-1].incarnation.replica != "vllm-chat-1"]
    assert met_ratio(slow) < met_ratio(peers) - 0.1


def test_quantised_weights_are_faster_and_fail_long_answers_alone(exchanges: list[Exchange]) -> None:
    rag = [e for e in exchanges if e.arrival.workload == "rag" and e.arrival.finish_reason == "stop"]
    judged = [
        (e, e.attempts[-1].incarnation.engine.spec.weights, j.passed)
        for seed in range(40)  # many judges: the chance itself is asked for, not one draw of it
        for e, j in zip(rag, judge(rag, np.random.default_rng(seed)), strict=True)
        if j is not None
    ]

    def passed(weights: str, low: int, high: int) -> float:
        return float(np.mean([p for e, w, p in judged if w == weights and low < e.arrival.output_tokens <= high]))

    assert passed("fp16", RAG.long_answer_tokens, 10_000) == pytest.approx(0.92, abs=0.03)
    assert passed("fp8", RAG.long_answer_tokens, 10_000) == pytest.approx(0.35 * 0.92, abs=0.06)
    assert passed("fp8", 0, RAG.long_answer_tokens) == pytest.approx(0.92, abs=0.02)
    assert passed("fp8", 0, 10_000) == pytest.approx(0.92, abs=0.05)


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
    assert sum(a.job.preemptions for e in exchanges for a in e.attempts if a.job) > 10
