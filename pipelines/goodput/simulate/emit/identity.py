"""Who is who in the telemetry: the trace, span and pod ids that the records of a simulated day carry."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from numpy.random import Generator

from goodput.simulate.fleet.fleet import Served
from goodput.simulate.fleet.gateway import Exchange
from goodput.simulate.fleet.replica import Incarnation
from goodput.simulate.story import BATCH


@dataclass(frozen=True, slots=True)
class AttemptIds:
    """Ids of one attempt's spans; `parent_id` is 0 where its client span is the root of its trace."""

    trace_id: int
    parent_id: int
    client_id: int
    engine_id: int

    @property
    def record_id(self) -> str:
        """The client span as `trace:span` in hex."""
        return f"{self.trace_id:032x}:{self.client_id:016x}"


@dataclass(frozen=True, slots=True)
class Identities:
    """Ids of all attempts, parallel to the exchanges and their attempts, and pod uids by engine process."""

    attempts: Sequence[Sequence[AttemptIds]]
    pod_uids: Mapping[Incarnation, str]


def identify(served: Served, rng: Generator) -> Identities:
    """Draw ids for everything that was served."""
    return Identities(
        attempts=[_of_attempts(exchange, rng) for exchange in served.exchanges],
        pod_uids={incarnation: _uuid(rng) for incarnation in served.incarnations},
    )


def request_key(exchange: Exchange, ids: Sequence[AttemptIds]) -> str:
    """Return what telemetry calls the request: the idempotency key of batch items, else its first attempt."""
    return exchange.arrival.request_id if exchange.arrival.workload == BATCH.name else ids[0].record_id


def _of_attempts(exchange: Exchange, rng: Generator) -> list[AttemptIds]:
    """Tries of one request are siblings below one parent; a batch runner begins a new trace for each try."""
    drawn = rng.bytes(24 + 32 * len(exchange.attempts))
    trace_id, parent_id = _id(drawn[:16]), _id(drawn[16:24])
    found = []
    for at in range(24, len(drawn), 32):
        own = drawn[at : at + 32]
        if exchange.arrival.workload == BATCH.name:
            trace_id, parent_id = _id(own[:16]), 0
        found.append(AttemptIds(trace_id, parent_id, _id(own[16:24]), _id(own[24:])))
    return found


def _id(drawn: bytes) -> int:
    return int.from_bytes(drawn, "big") or 1


def _uuid(rng: Generator) -> str:
    uid = rng.bytes(16).hex()
    return f"{uid[:8]}-{uid[8:12]}-{uid[12:16]}-{uid[16:20]}-{uid[20:]}"
