"""One generation on one engine, and what an engine counts: plain records without behaviour."""

from collections.abc import Callable
from dataclasses import dataclass, field

from goodput.simulate.fleet.arrival import Prefix
from goodput.simulate.fleet.events import NEVER
from goodput.simulate.fleet.kv_cache import Run


@dataclass(slots=True, eq=False)
class Job:
    """One generation; times are in simulated seconds, NEVER until they have happened.

    `recomputed_tokens` are those whose KV was computed, lost to a preemption and computed again.
    """

    request_id: str
    prefix: Prefix
    input_tokens: int
    output_tokens: int
    on_first_token: Callable[[], None]
    on_complete: Callable[[], None]
    on_lost: Callable[[], None]
    finish_reason: str = "stop"
    received_s: float = NEVER
    queued_s: float = NEVER
    scheduled_s: float = NEVER
    first_token_s: float = NEVER
    completed_s: float = NEVER
    left_s: float = NEVER
    cached_tokens: int = 0
    prefilled_tokens: float = 0.0
    preemptions: int = 0
    recomputed_tokens: int = 0
    draft_tokens: int = 0
    accepted_draft_tokens: int = 0
    # What the engine notes while the job runs.
    held: list[Run] = field(default_factory=list)
    generated: float = 0.0
    since_step: float = 0.0
    own_tokens: float = 0.0
    computed_tokens: int = 0
    lost_tokens: float = 0.0
    entry: int = 0


@dataclass(slots=True)
class Counters:
    """What one engine process has counted since it started; tokens of running sequences are fractions."""

    preemptions: int = 0
    prefix_queries: int = 0
    prefix_hits: int = 0
    prompt_tokens: int = 0
    generated_tokens: float = 0.0
    draft_tokens: float = 0.0
    accepted_draft_tokens: float = 0.0
    stopped: int = 0
    cut: int = 0
    prefilled_tokens: float = 0.0
    busy_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One reading of an engine's gauges and counters."""

    at_s: float
    running: int
    waiting: int
    kv_usage_ratio: float
    preemptions: int
    prefix_queries: int
    prefix_hits: int
    prompt_tokens: int
    generated_tokens: int
    draft_tokens: int
    accepted_draft_tokens: int
    stopped: int
    cut: int
