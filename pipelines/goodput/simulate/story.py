"""The demo's story: which workloads, which replicas, when it surges and when one replica is slow.

Every number that shapes the fleet belongs here; how a fleet behaves does not.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tokens:
    """A lognormal token count: its median, its spread and the range that it is clipped to."""

    median: int
    sigma: float
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Workload:
    """What one kind of user asks for, how long they wait, and how its answers are judged."""

    name: str
    pool: str
    model: str
    routes: tuple[str, ...]
    share_ratio: float
    session_turns: float
    context_limit_tokens: int
    first_input: Tokens
    turn_input: Tokens
    output: Tokens
    temperature: float
    timeout_s: float
    evaluator: str
    pass_score: float
    pass_ratio: float
    labelled_ratio: float


@dataclass(frozen=True, slots=True)
class ReplicaSpec:
    """One engine process: where it runs and how fast it computes."""

    name: str
    pool: str
    model: str
    slots: int
    prefill_tps: float
    step_base_s: float
    step_per_sequence_s: float
    cache_tokens: int


@dataclass(frozen=True, slots=True)
class Period:
    """A part of the simulated time, as fractions of the whole: for one hour, 0.1 is six minutes."""

    begin: float
    end: float


REQUESTS_PER_HOUR = 7000
SWELL_RATIO = 0.2
SURGE = Period(0.45, 0.55)
SURGE_FACTOR = 2.9
SLOW = Period(0.68, 0.93)
SLOW_REPLICA = "vllm-chat-1"
SLOW_FACTOR = 2.8
FLAKY = Period(0.20, 0.25)
FLAKY_REFUSED_RATIO = 0.3

TENANTS = {"acme": 0.5, "globex": 0.3, "initech": 0.2}
MAX_RETRIES = 2
BACKOFF_S = 0.5
REFUSED_RATIO = 0.012
BROKEN_RATIO = 0.008
ABANDON_RATIO = 0.02
ABANDON_MEAN_S = 2.5
CUT_OFF_PASS_FACTOR = 0.8
JUDGED_AFTER_S = (300.0, 2400.0)

CHAT = Workload(
    name="chat",
    pool="chat",
    model="llama-3.1-8b",
    routes=("round-robin", "prefix-aware"),
    share_ratio=0.8,
    session_turns=6.0,
    context_limit_tokens=6000,
    first_input=Tokens(900, 0.6, 200, 4000),
    turn_input=Tokens(110, 0.8, 10, 1500),
    output=Tokens(170, 0.7, 4, 512),
    temperature=0.7,
    timeout_s=5.0,
    evaluator="helpfulness",
    pass_score=0.5,
    pass_ratio=0.95,
    labelled_ratio=0.35,
)
RAG = Workload(
    name="rag",
    pool="rag",
    model="llama-3.1-70b",
    routes=("sticky",),
    share_ratio=0.2,
    session_turns=2.5,
    context_limit_tokens=12_000,
    first_input=Tokens(3800, 0.35, 1200, 9000),
    turn_input=Tokens(1500, 0.5, 200, 5000),
    output=Tokens(210, 0.5, 16, 600),
    temperature=0.0,
    timeout_s=10.0,
    evaluator="groundedness",
    pass_score=0.7,
    pass_ratio=0.91,
    labelled_ratio=0.60,
)
WORKLOADS = (CHAT, RAG)

REPLICAS = (
    *(ReplicaSpec(f"vllm-chat-{i}", "chat", CHAT.model, 9, 3800.0, 0.014, 0.0016, 120_000) for i in range(3)),
    *(ReplicaSpec(f"vllm-rag-{i}", "rag", RAG.model, 6, 4800.0, 0.030, 0.0020, 90_000) for i in range(2)),
)
