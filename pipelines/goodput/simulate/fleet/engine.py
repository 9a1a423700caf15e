"""One simulated engine process: queue, chunked prefill, continuous batch, KV memory with preemption.

What an engine does with the work it is given belongs here; who gives it and why does not. Nothing is simulated
step by step: between two events (a job arrives, is prefilled, done or dropped, memory is full) every rate is
constant, so each event first accounts for the stretch since the last one.
"""

from collections import deque
from typing import Final

from goodput.simulate.fleet.batch import EngineBatch
from goodput.simulate.fleet.config import EngineSpec
from goodput.simulate.fleet.events import NEVER, EventLoop
from goodput.simulate.fleet.job import Counters, Job, Sample
from goodput.simulate.fleet.kv_cache import Run
from goodput.simulate.fleet.kv_memory import KvMemory

FRONTEND_S: Final = 0.004  # HTTP, template and IPC, once per request
TOKENISE_S: Final = 2e-6  # per input token
SMALLEST_PREFILL: Final = 64  # tokens; below, a prefill is bound by kernel launches
_NEARLY: Final = 1e-6


class Engine:
    """An engine that prefills one prompt at a time beside a batch whose steps slow down as it grows."""

    def __init__(self, spec: EngineSpec, loop: EventLoop) -> None:
        self.spec = spec
        self.counters = Counters()
        self.memory = KvMemory(spec)
        self._loop = loop
        self._started_s = loop.now_s
        self._slowdown = 1.0
        self._waiting: deque[Job] = deque()
        self._running: dict[Job, None] = {}  # in the order in which they were admitted
        self._prefilling: Job | None = None
        self._prefill_left = 0.0
        self._prefill_whole = 1.0
        self._batch = EngineBatch(spec.tokens_per_step)
        self._at_s = loop.now_s
        self._step_s = 1.0
        self._plan = 0
        self._ended = False

    @property
    def load(self) -> int:
        """Jobs waiting or running."""
        return len(self._waiting) + len(self._running)

    def receive(self, job: Job) -> None:
        """Take a job from the network: tokenise it, then queue it."""
        job.received_s = self._loop.now_s
        self._loop.after(FRONTEND_S + TOKENISE_S * job.input_tokens, self._enqueue, job)

    def change_speed(self, factor: float) -> None:
        """Take `factor` times as long for a step from now on."""
        self._advance()
        self._slowdown *= factor
        self._replan()

    def drop(self, job: Job) -> None:
        """Forget a job wherever it stands; its memory is free at once."""
        self._advance()
        job.left_s = self._loop.now_s
        if job in self._running:
            self._stop(job)
        elif job in self._waiting:
            self._waiting.remove(job)
        self._replan()

    def kill(self) -> None:
        """Lose every job: the process ends."""
        self._ended = True
        for job in [*self._running, *self._waiting]:
            self.drop(job)
            job.on_lost()

    def sample(self) -> Sample:
        """Read gauges and counters as a scrape would."""
        self._advance()
        counted = self.counters
        return Sample(
            at_s=self._loop.now_s,
            running=len(self._running),
            waiting=len(self._waiting),
            kv_usage_ratio=self.memory.usage_ratio,
            preemptions=counted.preemptions,
            prefix_queries=counted.prefix_queries,
            prefix_hits=counted.prefix_hits,
            prompt_tokens=counted.prompt_tokens,
            generated_tokens=int(counted.generated_tokens + _NEARLY),
            draft_tokens=int(counted.draft_tokens),
            accepted_draft_tokens=int(counted.accepted_draft_tokens),
            stopped=counted.stopped,
            cut=counted.cut,
        )

    def _enqueue(self, job: Job) -> None:
        if self._ended:
            job.on_lost()
        elif job.left_s == NEVER:
            job.queued_s = self._loop.now_s
            self._waiting.append(job)
            self._advance()
            self._replan()

    def _advance(self) -> None:
        elapsed_s, self._at_s = self._loop.now_s - self._at_s, self._loop.now_s
        if not self._running:
            return
        self.counters.busy_s += elapsed_s
        steps = elapsed_s / self._step_s
        if self._batch.size:
            gained = steps * self._batch.growth
            self._batch.advance(steps)
            self.memory.own(gained)
            self.counters.generated_tokens += gained
            self.counters.draft_tokens += steps * self._batch.size * self.spec.draft_tokens
            self.counters.accepted_draft_tokens += gained - steps * self._batch.size
        if self._prefilling is not None:
            self._prefill_left -= steps * self.spec.chunk_tokens

    def _replan(self) -> None:
        """Admit what fits, then wait for whatever ends this stretch first."""
        self._admit()
        self._plan += 1
        if not self._running:
            return
        spec = self.spec
        step_s = spec.step_base_s + spec.step_per_sequence_s * self._batch.size
        step_s += spec.kv_read_s_per_token * self.memory.in_use_tokens
        steps = self._batch.steps_to_next_end()
        if self._prefilling is not None:
            step_s += spec.chunk_tokens / spec.prefill_tps
            steps = min(steps, self._prefill_left / spec.chunk_tokens)
        if self._batch.size:
            steps = min(steps, self.memory.free_tokens / self._batch.growth)
        self._step_s = step_s * self._slowdown
        self._loop.after(max(0.0, steps) * self._step_s, self._end_stretch, self._plan)

    def _end_stretch(self, plan: int) -> None:
        if plan != self._plan:
            return
        self._advance()
        if self._prefilling is not None and self._prefill_left <= _NEARLY * self.spec.chunk_tokens:
            self._end_prefill(self._prefilling)
        while job := self._batch.next_done():
            self._complete(job)
        if self._batch.size and self.memory.is_full:
            self._preempt(next(reversed(self._running)))
        self._replan()

    def _admit(self) -> None:
        if not self._waiting or self._ended or self._prefilling is not None:
            return
        if len(self._running) >= self.spec.max_sequences:
            return
        job = self._waiting[0]
        cached, runs = self.memory.cache.match(job.prefix, job.input_tokens)
        if not self.memory.has_room(job.input_tokens + job.generated - cached, runs):
            if self._running:
                return
            self.memory.cache.evict(0)
            cached, runs = 0, []
        self._start(self._waiting.popleft(), cached, runs)

    def _start(self, job: Job, cached: int, runs: list[Run]) -> None:
        self._running[job] = None
        self._prefilling = job
        self.memory.cache.hold(runs)
        job.held, job.own_tokens = runs, job.input_tokens + job.generated - cached
        self.memory.own(job.own_tokens)
        if job.scheduled_s == NEVER:
            job.scheduled_s, job.cached_tokens = self._loop.now_s, cached
            self.counters.prefix_queries += job.input_tokens
            self.counters.prefix_hits += cached
        self._prefill_left = max(SMALLEST_PREFILL, job.own_tokens) * self._fragmentation(job)
        self._prefill_whole = self._prefill_left

    def _fragmentation(self, job: Job) -> float:
        if job.input_tokens <= self.spec.long_prompt_tokens:
            return 1.0
        up_h = (self._loop.now_s - self._started_s) / 3600.0
        return float((1.0 + self.spec.fragmentation_per_h) ** up_h)

    def _end_prefill(self, job: Job) -> None:
        self._prefilling = None
        cached = round(job.input_tokens + job.generated - job.own_tokens)
        job.recomputed_tokens += max(0, job.computed_tokens - cached) + round(job.lost_tokens)
        job.lost_tokens = 0.0
        self.counters.prefilled_tokens += job.own_tokens
        job.prefilled_tokens += job.own_tokens
        self.memory.own(-job.own_tokens)
        self.memory.cache.fill(job.prefix, job.held)
        is_first = job.first_token_s == NEVER
        if is_first:
            job.first_token_s = self._loop.now_s
            job.generated = 1.0
        job.own_tokens = job.generated
        self.memory.own(job.own_tokens)
        if is_first:
            self.counters.generated_tokens += 1.0
            self.counters.prompt_tokens += job.input_tokens
            job.on_first_token()
        self._batch.join(job)

    def _complete(self, job: Job) -> None:
        self._batch.leave(job)
        steps = (job.output_tokens - 1) / self.spec.tokens_per_step
        job.draft_tokens = round(steps * self.spec.draft_tokens)
        job.accepted_draft_tokens = round(job.output_tokens - 1 - steps)
        self.memory.own(-(1.0 - self.spec.kv_leak_ratio) * job.own_tokens)
        job.own_tokens = 0.0
        if job.prefix:
            self.memory.cache.append(job.held[-1], job.prefix[-1][1], job.output_tokens)
        self._stop(job)
        job.completed_s = job.left_s = self._loop.now_s
        if job.finish_reason == "length":
            self.counters.cut += 1
        else:
            self.counters.stopped += 1
        job.on_complete()

    def _preempt(self, job: Job) -> None:
        """Evict a running job; it goes first when there is memory again, and computes its KV anew."""
        self.counters.preemptions += 1
        job.preemptions += 1
        was_prefilling, before = job is self._prefilling, job.prefilled_tokens
        self._stop(job)
        if was_prefilling:
            job.lost_tokens += job.prefilled_tokens - before
        else:
            job.computed_tokens = job.input_tokens + int(job.generated)
        self._waiting.appendleft(job)

    def _stop(self, job: Job) -> None:
        """Free what a running job holds."""
        if job is self._prefilling:
            self._prefilling = None
            prefilled = job.own_tokens * (1.0 - max(0.0, self._prefill_left) / self._prefill_whole)
            job.prefilled_tokens += prefilled
            self.counters.prefilled_tokens += prefilled
        elif job.entry:
            self._batch.leave(job)
        del self._running[job]
        self.memory.own(-job.own_tokens)
        job.own_tokens = 0.0
        self.memory.cache.release(job.held)
        job.held = []
