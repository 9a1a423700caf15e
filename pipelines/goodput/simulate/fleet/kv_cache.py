"""The prefix cache of one engine: which runs of prompts it holds, which of them are in use, which go first.

Token counts alone; when computing or evicting happens is for the engine to decide.
"""

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from goodput.simulate.fleet.arrival import Prefix


@dataclass(slots=True, eq=False)
class Run:
    """The first `tokens` tokens of one run that are cached, and how many sequences hold them."""

    key: Hashable
    tokens: int = 0
    holders: int = 0


class KvCache:
    """Least recently used runs go first, of one sequence the tail before the head; held runs never."""

    def __init__(self, block_tokens: int) -> None:
        self._block_tokens = block_tokens
        self._runs: dict[Hashable, Run] = {}
        self._idle: OrderedDict[Hashable, Run] = OrderedDict()
        self.held_tokens = 0
        self.idle_tokens = 0

    def match(self, prefix: Prefix, input_tokens: int) -> tuple[int, list[Run]]:
        """Return how many leading tokens are cached, in whole blocks and never the last token, and their runs."""
        cached, runs = 0, []
        for key, tokens in prefix:
            run = self._runs.get(key)
            if run is None:
                break
            runs.append(run)
            cached += min(run.tokens, tokens)
            if run.tokens < tokens:
                break
        cached = min(cached, input_tokens - 1)
        return cached - cached % self._block_tokens, runs

    def hold(self, runs: Sequence[Run]) -> None:
        """Keep runs from being evicted until they are released."""
        for run in runs:
            if run.holders == 0:
                self._idle.pop(run.key, None)
                self.idle_tokens -= run.tokens
                self.held_tokens += run.tokens
            run.holders += 1

    def release(self, runs: Sequence[Run]) -> None:
        """Let go of held runs; those that nobody holds may be evicted, the last of them first."""
        for run in reversed(runs):
            run.holders -= 1
            if run.holders == 0:
                self._idle[run.key] = run
                self.idle_tokens += run.tokens
                self.held_tokens -= run.tokens

    def fill(self, prefix: Prefix, held: list[Run]) -> None:
        """Cache a whole prompt whose first runs are `held`; the rest is held too and added there."""
        for number, (key, tokens) in enumerate(prefix):
            run = self._runs.setdefault(key, Run(key))
            if number >= len(held):
                self.hold([run])
                held.append(run)
            self.held_tokens += max(0, tokens - run.tokens)
            run.tokens = max(tokens, run.tokens)

    def append(self, run: Run, after_tokens: int, tokens: int) -> None:
        """Cache an answer behind the prompt that it continues, unless the run already goes on otherwise."""
        if run.tokens == after_tokens:
            run.tokens += tokens
            self.held_tokens += tokens

    def evict(self, to_tokens: float) -> None:
        """Evict what nobody holds until all runs together have at most `to_tokens`, or all are held."""
        while self._idle and self.idle_tokens + self.held_tokens > to_tokens:
            run = next(iter(self._idle.values()))
            over = int(self.idle_tokens + self.held_tokens - to_tokens) + 1
            gone = min(run.tokens, over)
            run.tokens -= gone
            self.idle_tokens -= gone
            if run.tokens == 0:
                del self._idle[run.key], self._runs[run.key]
