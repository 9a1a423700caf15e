"""The simulated fleet put together: traffic, gateway and replicas on one event loop."""

from functools import partial

from numpy.random import Generator

from goodput.simulate.events import EventLoop
from goodput.simulate.gateway import Exchange, Gateway
from goodput.simulate.replica import Replica
from goodput.simulate.story import (
    FLAKY,
    FLAKY_REFUSED_RATIO,
    REFUSED_RATIO,
    REPLICAS,
    SLOW,
    SLOW_FACTOR,
    SLOW_REPLICA,
)
from goodput.simulate.traffic import user_requests


def simulate(traffic_rng: Generator, gateway_rng: Generator, span_s: float) -> list[Exchange]:
    """Serve all requests that arrive within `span_s` seconds to their end; in arrival order."""
    loop = EventLoop()
    replicas = [Replica(spec, loop) for spec in REPLICAS]
    gateway = Gateway(loop, replicas, gateway_rng)
    exchanges = [Exchange(request) for request in user_requests(traffic_rng, span_s)]
    for exchange in exchanges:
        loop.at(exchange.request.arrived_s, partial(gateway.serve, exchange))
    for replica in replicas:
        if replica.spec.name == SLOW_REPLICA:
            loop.at(SLOW.begin * span_s, partial(replica.slow_down, SLOW_FACTOR))
            loop.at(SLOW.end * span_s, partial(replica.slow_down, 1.0))
    loop.at(FLAKY.begin * span_s, partial(gateway.refuse, FLAKY_REFUSED_RATIO))
    loop.at(FLAKY.end * span_s, partial(gateway.refuse, REFUSED_RATIO))
    loop.run()
    return exchanges
