"""Which replica a request goes to: one function per policy, over the replicas that are ready."""

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Final

from goodput.simulate.fleet.arrival import Arrival, Prefix
from goodput.simulate.fleet.config import Policy
from goodput.simulate.fleet.replica import Replica

_LOAD_PRICE_S: Final = 0.10  # what a router takes one more job at a replica to cost a newcomer

# Takes the ready replicas, the arrival, its prefix as the engines hash it, and how many tries came before.
Route = Callable[[Sequence[Replica], Arrival, Prefix, int], Replica]


def route_by(policy: Policy) -> Route:
    """Return a policy with a memory of its own."""
    if policy == "round-robin":
        return _round_robin()
    return _sticky if policy == "sticky" else _prefix_aware


def _round_robin() -> Route:
    turns = 0

    def choose(ready: Sequence[Replica], _arrival: Arrival, _prefix: Prefix, _tries: int) -> Replica:
        nonlocal turns
        turns += 1
        return ready[(turns - 1) % len(ready)]

    return choose


def _sticky(ready: Sequence[Replica], arrival: Arrival, _prefix: Prefix, tries: int) -> Replica:
    """Rank replicas by a hash with the session, so that a pool that grows moves few sessions."""
    ranked = sorted(ready, key=lambda replica: blake2b(f"{arrival.session_id}@{replica.name}".encode()).digest())
    return ranked[tries % len(ranked)]


def _prefix_aware(ready: Sequence[Replica], arrival: Arrival, prefix: Prefix, _tries: int) -> Replica:
    """Take the replica where prefill and the work before it are expected to take least, of equals the emptiest."""

    def price(replica: Replica) -> tuple[float, int]:
        cache = replica.engine.memory.cache
        cached, _ = cache.match(prefix, arrival.input_tokens)
        uncached_s = (arrival.input_tokens - cached) / replica.engine.spec.prefill_tps
        return uncached_s + _LOAD_PRICE_S * replica.engine.load, cache.held_tokens + cache.idle_tokens

    return min(ready, key=price)
