"""The simulated fleet put together: gateway, replicas and operations on one event loop."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from goodput.simulate.fleet.arrival import Arrival
from goodput.simulate.fleet.config import FleetConfig
from goodput.simulate.fleet.events import EventLoop
from goodput.simulate.fleet.gateway import Exchange, Gateway
from goodput.simulate.fleet.operations import Done, Operator
from goodput.simulate.fleet.replica import Incarnation, Replica
from goodput.simulate.fleet.routing import route_by


@dataclass(frozen=True, slots=True)
class Served:
    """All that happened: every request with its attempts, every engine process, every operation done."""

    exchanges: list[Exchange]
    incarnations: list[Incarnation]
    operations: list[Done]
    ended_s: float


class Fleet:
    """A fleet that serves arrivals; the same configuration and arrivals give the same history."""

    def __init__(self, config: FleetConfig) -> None:
        self._config = config

    def run(self, arrivals: Sequence[Arrival]) -> Served:
        """Serve arrivals to their end; exchanges are in the order of `arrivals`."""
        config, loop = self._config, EventLoop()
        pools = {
            pool.name: [Replica(f"vllm-{pool.name}-{n}", pool.name, pool.engine, loop) for n in range(pool.replicas)]
            for pool in config.pools
        }
        routes = {(pool, name): route_by(policy) for pool, (name, policy) in product(pools, config.routes.items())}
        gateway = Gateway(loop, pools, routes, config.manners, np.random.default_rng(config.seed))
        operator = Operator(loop, pools, gateway, config.manners)
        operator.plan(config.operations)
        exchanges = [Exchange(arrival) for arrival in arrivals]
        for exchange in exchanges:
            loop.at(exchange.arrival.arrived_s, gateway.serve, exchange)
        until_s = max((arrival.arrived_s for arrival in arrivals), default=0.0)
        for reading in range(int(until_s / config.sample_every_s) + 2):
            loop.at(reading * config.sample_every_s, _sample_all, pools)
        loop.run()
        incarnations = [one for replicas in pools.values() for replica in replicas for one in replica.incarnations]
        return Served(exchanges, incarnations, operator.done, loop.now_s)


def _sample_all(pools: dict[str, list[Replica]]) -> None:
    for replicas in pools.values():
        for replica in replicas:
            replica.sample()
