"""What a fleet is made of: engines, pools, routes, client manners and the operations done to it.

Shapes and the physics behind their numbers belong here; the numbers of one fleet stand in its story.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Policy = Literal["round-robin", "prefix-aware", "sticky"]
OperationKind = Literal["deployment", "scale_out", "salt_rotation", "slowdown"]


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """How one engine process computes.

    A step decodes one token of every running sequence and prefills up to `chunk_tokens` of one prompt beside them
    (chunked prefill). It takes `step_base_s` (the weights are read once per step), `step_per_sequence_s` for each
    sequence (sampling, scheduling), `kv_read_s_per_token` for each token of KV in use (attention reads it all) and,
    while a prompt is prefilled, `chunk_tokens / prefill_tps` (prefill is bound by compute). With speculative
    decoding a step drafts `draft_tokens` per sequence, of which those before the first refusal are kept.
    `kv_tokens` is what is left of GPU memory after the weights, shared by running sequences and cached prefixes in
    blocks of `block_tokens`. Where `fragmentation_per_h` is set, a prompt longer than `long_prompt_tokens` needs a
    contiguous workspace that takes so much longer to find, compounded per hour since the process started; shorter
    prompts never notice. `kv_leak_ratio` of the KV of each answer is never freed while the process runs. After a
    start, steps take `warm_up_factor` as long for `warm_up_s` (graph capture).
    """

    model: str
    prefill_tps: float
    step_base_s: float
    step_per_sequence_s: float
    kv_tokens: int
    max_sequences: int
    kv_read_s_per_token: float = 0.0
    chunk_tokens: int = 512
    block_tokens: int = 16
    draft_tokens: int = 0
    draft_acceptance: float = 0.0
    long_prompt_tokens: int = 1 << 30
    fragmentation_per_h: float = 0.0
    kv_leak_ratio: float = 0.0
    restart_s: float = 75.0
    warm_up_s: float = 20.0
    warm_up_factor: float = 1.6
    revision: str = "1.0.0"
    weights: str = "fp16"

    @property
    def tokens_per_step(self) -> float:
        """Expected tokens that a sequence gains per step: one, and each draft whose forerunners were accepted."""
        return 1.0 + sum(self.draft_acceptance**n for n in range(1, self.draft_tokens + 1))


@dataclass(frozen=True, slots=True)
class PoolSpec:
    """Replicas that serve one model; they are named `vllm-<pool>-<n>`."""

    name: str
    replicas: int
    engine: EngineSpec


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing done to a pool at `at_s`.

    deployment: every replica in turn drains, stops and comes back with `engine` (as it was when None) and a cold
    cache. scale_out: `count` more replicas. salt_rotation: by `until_s` all prompts hash to other blocks. slowdown:
    `replica` computes `factor` times slower until `until_s`.
    """

    at_s: float
    kind: OperationKind
    pool: str
    engine: EngineSpec | None = None
    count: int = 1
    replica: str = ""
    factor: float = 1.0
    until_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Manners:
    """How clients and their gateway behave: what fails on the way, and how it is tried again."""

    max_retries: int = 2
    backoff_s: float = 0.5
    refused_ratio: float = 0.0
    broken_ratio: float = 0.0
    drain_s: float = 30.0


@dataclass(frozen=True, slots=True)
class FleetConfig:
    """A whole fleet; `routes` maps the route that an arrival names to the policy that picks its replica."""

    pools: tuple[PoolSpec, ...]
    routes: Mapping[str, Policy]
    manners: Manners = Manners()
    operations: tuple[Operation, ...] = field(default=())
    sample_every_s: float = 60.0
    seed: int = 0
