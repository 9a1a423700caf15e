"""Effects that a fleet is known for, measured on its truth: cache hits by routing, and a tail that drifts alone."""

from collections.abc import Sequence

import numpy as np
import pytest

from goodput.simulate.fleet.arrival import Arrival
from goodput.simulate.fleet.config import EngineSpec, FleetConfig, Policy, PoolSpec
from goodput.simulate.fleet.fleet import Fleet

TURNS = 10


def conversations(seed: int) -> list[Arrival]:
    """Ten users of ten turns each, in a random order, every conversation with a prefix of 6,000 tokens."""
    rng, found = np.random.default_rng(seed), []
    for user in range(10):
        times = np.cumsum(rng.exponential(60.0, TURNS))
        for turn, at_s in enumerate(times.tolist()):
            said = 60 + 120 * turn
            prefix = ((f"prefix-{user}", 6000), (f"{seed}-{user}", said))
            session = f"session-{seed}-{user}"
            found.append(
                Arrival(f"{user}-{turn}", at_s, "w", "p", "r", "t", session, prefix, 6000 + said, 60, 512, 1e6)
            )
    return sorted(found, key=lambda arrival: arrival.arrived_s)


def hit_ratio(policy: Policy, kv_tokens: int) -> float:
    """Cached share of input tokens on eight replicas, over ten draws."""
    spec = EngineSpec("m", 20_000.0, 0.010, 0.001, kv_tokens, 64)
    config = FleetConfig((PoolSpec("p", 8, spec),), {"r": policy})
    jobs = [x.attempts[-1].job for seed in range(10) for x in Fleet(config).run(conversations(seed)).exchanges]
    return sum(job.cached_tokens for job in jobs if job) / sum(job.input_tokens for job in jobs if job)


@pytest.mark.parametrize(
    ("policy", "kv_tokens", "expected"),
    [
        # A replica that remembers only its last conversation: the chance that this was ours is 1 in 8.
        ("round-robin", 8_000, 0.12),
        # One that sometimes has to forget one for another: most turns find theirs.
        ("prefix-aware", 11_000, 0.85),
        # With room for all that a replica is given, every turn but the first of ten finds its conversation.
        ("sticky", 34_000, 0.90),
        ("prefix-aware", 34_000, 0.90),
    ],
)
def test_routing_decides_how_much_of_a_prompt_is_cached(policy: Policy, kv_tokens: int, expected: float) -> None:
    assert hit_ratio(policy, kv_tokens) == pytest.approx(expected, abs=0.02)


def drifting(hours: int, fragmentation_per_h: float) -> Sequence[np.ndarray]:
    """Time to first token by hour of a fleet under constant load; three prompts in a hundred are long."""
    rng = np.random.default_rng(3)
    times = np.sort(rng.random(700 * hours)) * hours * 3600.0
    found = []
    for number, at_s in enumerate(times.tolist()):
        tokens = 8000 if rng.random() < 0.03 else int(rng.uniform(300, 900))
        found.append(
            Arrival(f"{number}", at_s, "w", "p", "r", "t", f"s{number}", ((number, tokens),), tokens, 60, 512, 1e6)
        )
    spec = EngineSpec(
        "m", 8000.0, 0.010, 0.001, 60_000, 16, long_prompt_tokens=6000, fragmentation_per_h=fragmentation_per_h
    )
    exchanges = Fleet(FleetConfig((PoolSpec("p", 4, spec),), {"r": "round-robin"})).run(found).exchanges
    hour = np.array([x.arrival.arrived_s // 3600 for x in exchanges])
    waits = np.array([x.attempts[-1].first_chunk_s - x.arrival.arrived_s for x in exchanges])
    return [waits[hour == h] for h in range(hours)]


def test_p99_drifts_by_seven_percent_an_hour_while_the_median_stays() -> None:
    by_hour = drifting(12, 0.07)
    hours = np.arange(12)
    p99_slope = np.polyfit(hours, [np.log(np.quantile(waits, 0.99)) for waits in by_hour], 1)[0]
    median_slope = np.polyfit(hours, [np.log(np.quantile(waits, 0.50)) for waits in by_hour], 1)[0]
    assert np.expm1(p99_slope) == pytest.approx(0.07, abs=0.01)
    assert np.expm1(median_slope) == pytest.approx(0.0, abs=0.005)


def test_without_fragmentation_nothing_drifts() -> None:
    p99 = [np.log(np.quantile(waits, 0.99)) for waits in drifting(8, 0.0)]
    assert np.expm1(np.polyfit(np.arange(8), p99, 1)[0]) == pytest.approx(0.0, abs=0.01)
