"""The KV memory of one engine: prefixes that may be shared, and what belongs to one running sequence alone.

Who is admitted or preempted for want of it is for the engine to decide.
"""

from collections.abc import Sequence
from typing import Final

from goodput.simulate.fleet.config import EngineSpec
from goodput.simulate.fleet.kv_cache import KvCache, Run

WATERMARK_RATIO: Final = 0.99  # a prompt is not admitted into the last percent of memory
_NEARLY: Final = 1e-6  # tokens


class KvMemory:
    """Counts tokens; whatever is not in use holds prefixes that nobody uses, until it is needed."""

    def __init__(self, spec: EngineSpec) -> None:
        self.cache = KvCache(spec.block_tokens)
        self.peak_tokens = 0.0
        self._capacity_tokens = spec.kv_tokens
        self._own_tokens = 0.0  # of prompts in prefill, of answers

    @property
    def in_use_tokens(self) -> float:
        """Tokens that running sequences hold."""
        return self._own_tokens + self.cache.held_tokens

    @property
    def free_tokens(self) -> float:
        """Tokens that running sequences may still take."""
        return self._capacity_tokens - self.in_use_tokens

    @property
    def is_full(self) -> bool:
        """Whether no running sequence can take another token."""
        return self.free_tokens <= _NEARLY

    @property
    def usage_ratio(self) -> float:
        """Share of memory that running sequences hold, to a millionth: sums of fractions drift."""
        return round(self.in_use_tokens / self._capacity_tokens, 6)

    def own(self, tokens: float) -> None:
        """Give sequences so many tokens more (fewer when negative), at the cost of prefixes that nobody uses."""
        self._own_tokens += tokens
        self.cache.evict(self._capacity_tokens - self._own_tokens)
        self.peak_tokens = max(self.peak_tokens, self._own_tokens + self.cache.held_tokens + self.cache.idle_tokens)

    def has_room(self, tokens: float, runs: Sequence[Run]) -> bool:
        """Return whether a prompt fits that needs `tokens` beside the cached `runs`, which it would hold."""
        newly_held = sum(run.tokens for run in runs if run.holders == 0)
        return self.in_use_tokens + newly_held + tokens <= WATERMARK_RATIO * self._capacity_tokens
