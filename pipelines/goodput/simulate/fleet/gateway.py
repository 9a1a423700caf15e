"""The client side of serving: picks a replica, gives up, retries.

What an attempt was and how it ended belongs here; the telemetry written about it does not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Literal

from numpy.random import Generator

from goodput.simulate.fleet.arrival import Arrival, Prefix
from goodput.simulate.fleet.config import Manners
from goodput.simulate.fleet.events import NEVER, EventLoop
from goodput.simulate.fleet.job import Job
from goodput.simulate.fleet.kv_memory import WATERMARK_RATIO
from goodput.simulate.fleet.replica import Incarnation, Replica
from goodput.simulate.fleet.routing import Route

Outcome = Literal["pending", "ok", "error", "timeout", "cancelled"]

NETWORK_S: Final = 0.0015
_REFUSAL_S: Final = 0.012
_NOT_RETRIED: Final = ("400",)


@dataclass(slots=True, eq=False)
class Attempt:
    """One try at one replica as its client saw it; `job` is None when it was refused at the door."""

    incarnation: Incarnation
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
        """Whether the engine generated the whole answer, whatever the client made of it."""
        return self.job is not None and self.job.completed_s < NEVER


@dataclass(slots=True, eq=False)
class Exchange:
    """A user request with all its attempts, in order."""

    arrival: Arrival
    attempts: list[Attempt] = field(default_factory=list)


class Gateway:
    """Sends requests to replicas; retries after a refusal, a broken connection or a timeout."""

    def __init__(
        self,
        loop: EventLoop,
        pools: Mapping[str, Sequence[Replica]],
        routes: Mapping[tuple[str, str], Route],
        manners: Manners,
        rng: Generator,
    ) -> None:
        self._loop = loop
        self._pools = pools
        self._routes = routes
        self._manners = manners
        self._rng = rng
        self._salts: dict[str, tuple[int, float, float]] = {}

    def rotate_salt(self, pool: str, until_s: float) -> None:
        """Have every prompt of a pool hash to other blocks from `until_s` on, and more and more of them until then.

        The gateway's own instances take the new salt one after the other.
        """
        salt, _, _ = self._salts.get(pool, (0, 0.0, 0.0))
        self._salts[pool] = salt + 1, self._loop.now_s, until_s

    def serve(self, exchange: Exchange) -> None:
        """Start the first or the next attempt of a request."""
        arrival = exchange.arrival
        prefix, replicas = self._salted(arrival), self._pools[arrival.pool]
        ready = [replica for replica in replicas if replica.ready]
        route = self._routes[arrival.pool, arrival.route]
        replica = route(ready or replicas, arrival, prefix, len(exchange.attempts))
        attempt = Attempt(replica.current, self._loop.now_s)
        exchange.attempts.append(attempt)
        refusal = self._refusal(arrival, replica)
        if refusal:
            self._loop.after(_REFUSAL_S, self._end, exchange, attempt, "error", refusal)
            return
        attempt.job = Job(
            request_id=f"chatcmpl-{self._rng.bytes(16).hex()}",
            prefix=prefix,
            input_tokens=arrival.input_tokens,
            output_tokens=arrival.output_tokens,
            on_first_token=partial(self._loop.after, NETWORK_S, self._first_chunk, exchange, attempt),
            on_complete=partial(self._loop.after, NETWORK_S, self._end, exchange, attempt, "ok", ""),
            on_lost=partial(self._loop.after, NETWORK_S, self._end, exchange, attempt, "error", "502"),
            finish_reason=arrival.finish_reason,
        )
        self._loop.after(NETWORK_S, self._deliver, exchange, attempt, attempt.job)
        self._loop.after(arrival.timeout_s, self._time_out, exchange, attempt)

    def _salted(self, arrival: Arrival) -> Prefix:
        salt, since_s, until_s = self._salts.get(arrival.pool, (0, 0.0, 0.0))
        now_s = self._loop.now_s
        if now_s < until_s and self._rng.random() * (until_s - since_s) > now_s - since_s:
            salt -= 1
        return tuple(((salt, key), tokens) for key, tokens in arrival.prefix) if salt else arrival.prefix

    def _refusal(self, arrival: Arrival, replica: Replica) -> str:
        if arrival.input_tokens + arrival.output_tokens > WATERMARK_RATIO * replica.engine.spec.kv_tokens:
            return "400"
        return "503" if not replica.ready or self._rng.random() < self._manners.refused_ratio else ""

    def _deliver(self, exchange: Exchange, attempt: Attempt, job: Job) -> None:
        if attempt.incarnation.ended_s == NEVER:
            attempt.incarnation.engine.receive(job)
        else:
            self._end(exchange, attempt, "error", "502")

    def _first_chunk(self, exchange: Exchange, attempt: Attempt) -> None:
        if attempt.outcome != "pending":
            return
        if self._rng.random() < self._manners.broken_ratio:
            # The connection breaks without a close, so the engine generates to the end and reports it.
            self._end(exchange, attempt, "error", "502")
            return
        attempt.first_chunk_s = self._loop.now_s
        if exchange.arrival.abandons_after_s is not None:
            self._loop.after(exchange.arrival.abandons_after_s, self._abort, exchange, attempt, "cancelled")

    def _time_out(self, exchange: Exchange, attempt: Attempt) -> None:
        if attempt.first_chunk_s == NEVER:
            self._abort(exchange, attempt, "timeout")

    def _abort(self, exchange: Exchange, attempt: Attempt, outcome: Outcome) -> None:
        if attempt.outcome == "pending" and attempt.job is not None and not attempt.engine_completed:
            attempt.incarnation.engine.drop(attempt.job)
            self._end(exchange, attempt, outcome, outcome)

    def _end(self, exchange: Exchange, attempt: Attempt, outcome: Outcome, error_type: str) -> None:
        if attempt.outcome != "pending":
            return
        attempt.ended_s, attempt.outcome, attempt.error_type = self._loop.now_s, outcome, error_type
        retries = len(exchange.attempts) - 1
        retryable = outcome in ("error", "timeout") and error_type not in _NOT_RETRIED
        if retryable and retries < self._manners.max_retries:
            backoff_s = self._manners.backoff_s * 2**retries * (1.0 - 0.25 * self._rng.random())
            self._loop.after(backoff_s, self.serve, exchange)
