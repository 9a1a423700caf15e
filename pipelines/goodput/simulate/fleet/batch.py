"""The sequences of one engine that decode together, advanced by whole stretches of steps at once.

All of them gain the same tokens per step, so one step counter serves them all: a sequence is done when the counter
reaches the value noted for it. How long a step takes, and when a stretch ends, is the engine's work.
"""

import heapq

from goodput.simulate.fleet.events import NEVER
from goodput.simulate.fleet.job import Job

_NEARLY = 1e-6  # steps; a day has millions of them, and a float that counts them 9 digits more


class EngineBatch:
    """A batch whose sequences gain `tokens_per_step` tokens in each step."""

    def __init__(self, tokens_per_step: float) -> None:
        self._tokens_per_step = tokens_per_step
        self._steps = 0.0
        self._entries = 0
        self._ends: list[tuple[float, int, Job]] = []
        self.size = 0

    @property
    def growth(self) -> float:
        """Tokens that the batch gains in one step."""
        return self.size * self._tokens_per_step

    def advance(self, steps: float) -> None:
        """Let the step counter move on."""
        self._steps += steps

    def join(self, job: Job) -> None:
        """Decode what is left of a job from now on."""
        self._entries += 1
        job.entry, job.since_step = self._entries, self._steps
        steps = (job.output_tokens - job.generated) / self._tokens_per_step
        heapq.heappush(self._ends, (self._steps + steps, job.entry, job))
        self.size += 1

    def leave(self, job: Job) -> None:
        """Take a job out, done or not; its `generated` and `own_tokens` are what they have become."""
        gained = min((self._steps - job.since_step) * self._tokens_per_step, job.output_tokens - job.generated)
        job.generated += gained
        job.own_tokens += gained
        job.entry = 0
        self.size -= 1

    def steps_to_next_end(self) -> float:
        """Return how many steps from now the next job is done, NEVER when there is none."""
        while self._ends and self._ends[0][2].entry != self._ends[0][1]:
            heapq.heappop(self._ends)
        return self._ends[0][0] - self._steps if self._ends else NEVER

    def next_done(self) -> Job | None:
        """Return a job that is done by now, if any; it stays until it leaves."""
        return self._ends[0][2] if self.steps_to_next_end() <= _NEARLY else None
