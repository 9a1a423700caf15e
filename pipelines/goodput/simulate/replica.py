"""One simulated engine replica: queue, prefill, continuous batch, prefix cache.

What a replica does with the work it is given belongs here; who gives it and why does not.
"""

import heapq
from collections import OrderedDict, deque
from dataclasses import dataclass
from functools import partial
from typing import Final

from goodput.simulate.events import NEVER, Action, EventLoop
from goodput.simulate.story import ReplicaSpec

_BLOCK_TOKENS: Final = 16
_FRONTEND_S: Final = 0.004
_TOKENISE_S: Final = 2e-6
_PREFILL_BASE_S: Final = 0.015


@dataclass(slots=True, eq=False)
class Job:
    """One generation on one replica; times are in simulated seconds, NEVER until they have happened."""

    request_id: str
    session_id: str
    input_tokens: int
    output_tokens: int
    on_first_token: Action
    on_complete: Action
    cached_tokens: int = 0
    received_s: float = NEVER
    queued_s: float = NEVER
    scheduled_s: float = NEVER
    first_token_s: float = NEVER
    completed_s: float = NEVER
    aborted: bool = False


class PrefixCache:
    """The longest prefix kept per session, least recently used out first."""

    def __init__(self, capacity_tokens: int) -> None:
        self._capacity_tokens = capacity_tokens
        self._tokens: OrderedDict[str, int] = OrderedDict()
        self._used_tokens = 0

    def hit_tokens(self, session_id: str, input_tokens: int) -> int:
        """Return how many leading input tokens are cached, in whole blocks and never the last token."""
        cached = min(self._tokens.get(session_id, 0), input_tokens - 1)
        return cached - cached % _BLOCK_TOKENS

    def keep(self, session_id: str, tokens: int) -> None:
        """Remember that `tokens` of this session are cached now."""
        self._used_tokens += tokens - self._tokens.pop(session_id, 0)
        self._tokens[session_id] = tokens
        while self._used_tokens > self._capacity_tokens:
            self._used_tokens -= self._tokens.popitem(last=False)[1]


class Replica:
    """An engine that prefills one job at a time and decodes a batch whose steps slow down as it grows."""

    def __init__(self, spec: ReplicaSpec, loop: EventLoop) -> None:
        self.spec = spec
        self.cache = PrefixCache(spec.cache_tokens)
        self._loop = loop
        self._slowdown = 1.0
        self._waiting: deque[Job] = deque()
        self._prefilling: Job | None = None
        # All sequences of a batch advance together, so one step counter serves them all: a job is done when
        # the counter reaches the value noted for it, and a change of batch size moves only the next due time.
        self._decoding: list[tuple[float, int, Job]] = []
        self._batch_size = 0
        self._steps = 0.0
        self._steps_at_s = 0.0
        self._admitted = 0
        self._schedule = 0

    @property
    def load(self) -> int:
        """Jobs waiting or running."""
        return len(self._waiting) + self._batch_size + (self._prefilling is not None)

    def slow_down(self, factor: float) -> None:
        """Compute `factor` times slower than the specification from now on."""
        self._advance()
        self._slowdown = factor
        self._schedule_next()

    def receive(self, job: Job) -> None:
        """Take a job from the network: tokenise it, then queue it."""
        job.received_s = self._loop.now_s
        self._loop.after(_FRONTEND_S + _TOKENISE_S * job.input_tokens, partial(self._enqueue, job))

    def abort(self, job: Job) -> None:
        """Drop a job wherever it stands; its slot is free at once."""
        job.aborted = True
        if job in self._waiting:
            self._waiting.remove(job)
        elif job is self._prefilling:
            self._prefilling = None
        elif job.first_token_s < NEVER:
            self._advance()
            self._batch_size -= 1
            self._schedule_next()
        self._admit()

    def _enqueue(self, job: Job) -> None:
        if job.aborted:
            return
        job.queued_s = self._loop.now_s
        self._waiting.append(job)
        self._admit()

    def _admit(self) -> None:
        if self._prefilling is not None or not self._waiting or self._batch_size >= self.spec.slots:
            return
        job = self._prefilling = self._waiting.popleft()
        job.scheduled_s = self._loop.now_s
        job.cached_tokens = self.cache.hit_tokens(job.session_id, job.input_tokens)
        uncached_s = (job.input_tokens - job.cached_tokens) / self.spec.prefill_tps
        self._loop.after((_PREFILL_BASE_S + uncached_s) * self._slowdown, partial(self._prefilled, job))

    def _prefilled(self, job: Job) -> None:
        if job.aborted:
            return
        self._prefilling = None
        job.first_token_s = self._loop.now_s
        self.cache.keep(job.session_id, job.input_tokens)
        self._advance()
        self._batch_size += 1
        self._admitted += 1
        heapq.heappush(self._decoding, (self._steps + job.output_tokens - 1, self._admitted, job))
        job.on_first_token()
        self._schedule_next()
        self._admit()

    def _advance(self) -> None:
        self._steps += (self._loop.now_s - self._steps_at_s) / self._step_s()
        self._steps_at_s = self._loop.now_s

    def _step_s(self) -> float:
        return (self.spec.step_base_s + self.spec.step_per_sequence_s * self._batch_size) * self._slowdown

    def _schedule_next(self) -> None:
        self._schedule += 1
        while self._decoding and self._decoding[0][2].aborted:
            heapq.heappop(self._decoding)
        if self._decoding:
            left = max(0.0, self._decoding[0][0] - self._steps)
            self._loop.after(left * self._step_s(), partial(self._complete_next, self._schedule))

    def _complete_next(self, schedule: int) -> None:
        if schedule != self._schedule:
            return
        self._advance()
        job = heapq.heappop(self._decoding)[2]
        self._batch_size -= 1
        job.completed_s = self._loop.now_s
        self.cache.keep(job.session_id, job.input_tokens + job.output_tokens)
        job.on_complete()
        self._schedule_next()
        self._admit()
