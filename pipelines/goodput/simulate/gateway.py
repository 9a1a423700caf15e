"""The simulated gateway: picks a replica, gives up, retries.

The client side of an attempt belongs here; the telemetry written about it does not.
"""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle
from typing import Final, Literal

from numpy.random import Generator

from goodput.simulate.events import NEVER, EventLoop
from goodput.simulate.replica import Job, Replica
from goodput.simulate.story import BACKOFF_S, BROKEN_RATIO, MAX_RETRIES, REFUSED_RATIO
from goodput.simulate.traffic import UserRequest

Outcome = Literal["pending", "ok", "error", "timeout", "cancelled"]
Route = Callable[[UserRequest, int], Replica]

_NETWORK_S: Final = 0.0015
_REFUSAL_S: Final = 0.012
_LOAD_PRICE_S: Final = 0.10


@dataclass(slots=True, eq=False)
class Attempt:
    """One try at one replica as the gateway saw it; `job` is None when the replica refused it at the door."""

    replica: Replica
    started_s: float
    job: Job | None = None
    first_chunk_s: float = NEVER
    ended_s: float = NEVER
    outcome: Outcome = "pending"
    error_type: str = ""

    @property
    def response_id(self) -> str:
        """The id that the engine gives its answer, empty where no engine was reached."""
        return self.job.request_id if self.job is not None else ""

    @property
    def engine_completed(self) -> bool:
        """Whether the engine generated the whole answer, whatever the gateway made of it."""
        return self.job is not None and self.job.completed_s < NEVER


@dataclass(slots=True, eq=False)
class Exchange:
    """A user request with all its attempts, in order."""

    request: UserRequest
    attempts: list[Attempt] = field(default_factory=list)


class Gateway:
    """Sends requests to replicas; retries after a refusal, a broken connection or a timeout."""

    def __init__(self, loop: EventLoop, replicas: Sequence[Replica], rng: Generator) -> None:
        self._loop = loop
        self._rng = rng
        self._refused_ratio = REFUSED_RATIO
        self._routes = {
            (pool, name): route
            for pool in sorted({replica.spec.pool for replica in replicas})
            for name, route in routes([r for r in replicas if r.spec.pool == pool]).items()
        }

    def refuse(self, ratio: float) -> None:
        """Have this share of attempts refused from now on."""
        self._refused_ratio = ratio

    def serve(self, exchange: Exchange) -> None:
        """Start the first or the next attempt of a request."""
        request = exchange.request
        route = self._routes[request.workload.pool, request.route]
        attempt = Attempt(route(request, len(exchange.attempts)), self._loop.now_s)
        exchange.attempts.append(attempt)
        if self._rng.random() < self._refused_ratio:
            self._loop.after(_REFUSAL_S, partial(self._end, exchange, attempt, "error", "503"))
            return
        first_chunk = partial(self._first_chunk, exchange, attempt)
        attempt.job = Job(
            request_id=f"chatcmpl-{self._rng.bytes(16).hex()}",
            session_id=request.session_id,
            input_tokens=request.input_tokens,
            output_tokens=request.output_tokens,
            on_first_token=partial(self._loop.after, _NETWORK_S, first_chunk),
            on_complete=partial(self._loop.after, _NETWORK_S, partial(self._end, exchange, attempt, "ok")),
        )
        self._loop.after(_NETWORK_S, partial(attempt.replica.receive, attempt.job))
        self._loop.after(request.workload.timeout_s, partial(self._time_out, exchange, attempt))

    def _first_chunk(self, exchange: Exchange, attempt: Attempt) -> None:
        if attempt.outcome != "pending":
            return
        if self._rng.random() < BROKEN_RATIO:
            # The connection breaks without a close, so the engine generates to the end and reports it.
            self._end(exchange, attempt, "error", "502")
            return
        attempt.first_chunk_s = self._loop.now_s
        if exchange.request.abandons_after_s is not None:
            leave = partial(self._abort, exchange, attempt, "cancelled", "cancelled")
            self._loop.after(exchange.request.abandons_after_s, leave)

    def _time_out(self, exchange: Exchange, attempt: Attempt) -> None:
        if attempt.first_chunk_s == NEVER:
            self._abort(exchange, attempt, "timeout", "timeout")

    def _abort(self, exchange: Exchange, attempt: Attempt, outcome: Outcome, error_type: str) -> None:
        if attempt.outcome == "pending" and attempt.job is not None and not attempt.engine_completed:
            attempt.replica.abort(attempt.job)
            self._end(exchange, attempt, outcome, error_type)

    def _end(self, exchange: Exchange, attempt: Attempt, outcome: Outcome, error_type: str = "") -> None:
        if attempt.outcome != "pending":
            return
        attempt.ended_s, attempt.outcome, attempt.error_type = self._loop.now_s, outcome, error_type
        retries = len(exchange.attempts) - 1
        if outcome in ("error", "timeout") and retries < MAX_RETRIES:
            backoff_s = BACKOFF_S * 2**retries * (1.0 - 0.25 * self._rng.random())
            self._loop.after(backoff_s, partial(self.serve, exchange))


def routes(replicas: Sequence[Replica]) -> dict[str, Route]:
    """Return the routing policies over one pool, by name; each takes a request and its attempt's index."""
    turn = cycle(replicas)

    def round_robin(_request: UserRequest, _index: int) -> Replica:
        return next(turn)

    def sticky(request: UserRequest, index: int) -> Replica:
        return replicas[(zlib.crc32(request.session_id.encode()) + index) % len(replicas)]

    def prefix_aware(request: UserRequest, _index: int) -> Replica:
        def expected_wait_s(replica: Replica) -> float:
            cached = replica.cache.hit_tokens(request.session_id, request.input_tokens)
            return (request.input_tokens - cached) / replica.spec.prefill_tps + _LOAD_PRICE_S * replica.load

        return min(replicas, key=expected_wait_s)

    return {"round-robin": round_robin, "sticky": sticky, "prefix-aware": prefix_aware}
