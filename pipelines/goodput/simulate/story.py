"""The demo's story: which workloads, which replicas, what is done to them and when.

Every number that shapes the demo belongs here; how a fleet behaves does not. Places in time are fractions of the
simulated span, so that a demo of any length shows the same day.
"""

from dataclasses import replace
from typing import Final

from goodput.simulate.demand import ArrivalRate, Documents, SimulatedWorkload, Tokens
from goodput.simulate.fleet.config import EngineSpec, FleetConfig, Manners, Operation, PoolSpec

REQUESTS_PER_HOUR: Final = 4200.0  # 100,000 a day
TENANTS: Final = {"acme": 0.5, "globex": 0.3, "initech": 0.2}

ABANDON_MEAN_S: Final = 2.5
CUT_OFF_PASS_FACTOR: Final = 0.8  # an answer cut at its limit is worse
QUANTISED: Final = "fp8"
QUANTISED_PASS_FACTOR: Final = 0.35  # of a long answer by quantised weights: errors add up with length
JUDGED_AFTER_S: Final = (300.0, 2400.0)

_DAYTIME: Final = ArrivalRate(peak_at=0.55, width=0.17, height=2.6)
CHAT: Final = SimulatedWorkload(
    name="chat",
    pool="chat",
    routes=("round-robin", "prefix-aware"),
    share_ratio=0.68,
    rate=_DAYTIME,
    system_tokens=600,
    session_turns=6.0,
    context_limit_tokens=6000,
    first_input=Tokens(400, 0.7, 40, 3400),
    turn_input=Tokens(110, 0.8, 10, 1500),
    output=Tokens(230, 0.8, 4, 768),
    temperature=0.7,
    timeout_s=6.0,
    abandon_ratio=0.02,
    evaluator="helpfulness",
    pass_ratio=0.95,
    labelled_ratio=0.30,
)
RAG: Final = SimulatedWorkload(
    name="rag",
    pool="rag",
    routes=("sticky",),
    share_ratio=0.22,
    rate=_DAYTIME,
    system_tokens=400,
    session_turns=2.5,
    context_limit_tokens=14_000,
    first_input=Tokens(90, 0.6, 20, 600),
    turn_input=Tokens(110, 0.8, 20, 600),
    output=Tokens(210, 0.6, 16, 800),
    temperature=0.0,
    timeout_s=15.0,
    abandon_ratio=0.02,
    documents=Documents(60, 3, Tokens(900, 0.4, 300, 2400), 0.04, Tokens(8500, 0.15, 6500, 12_000)),
    evaluator="groundedness",
    pass_score=0.7,
    pass_ratio=0.92,
    labelled_ratio=0.30,
    long_answer_tokens=560,
)
BATCH: Final = SimulatedWorkload(
    name="batch",
    pool="chat",
    routes=("batch",),
    share_ratio=0.10,
    rate=ArrivalRate(peak_at=0.16, width=0.05, height=30.0),
    system_tokens=300,
    session_turns=1.0,
    context_limit_tokens=6000,
    first_input=Tokens(1800, 0.5, 300, 5000),
    turn_input=Tokens(100, 0.1, 50, 200),
    output=Tokens(160, 0.5, 20, 400),
    temperature=0.0,
    timeout_s=120.0,
    evaluator="valid_record",
    pass_ratio=0.97,
    labelled_ratio=0.30,
)
WORKLOADS: Final = (CHAT, RAG, BATCH)
BY_NAME: Final = {workload.name: workload for workload in WORKLOADS}

# An 8B model on a 24 GB card: 16 GB of weights read at 520 GB/s are 31 ms a step, and 2 GB are left for KV.
CHAT_ENGINE: Final = EngineSpec(
    model="llama-3.1-8b",
    prefill_tps=3000.0,
    step_base_s=0.031,
    step_per_sequence_s=0.0016,
    kv_read_s_per_token=2.2e-7,
    kv_tokens=17_000,
    max_sequences=24,
    draft_tokens=0,
    revision="1.4.0",
)
CHAT_NEXT: Final = "1.5.0"
# A 70B model on four cards, each of which reads 35 GB at 760 GB/s a step; three drafts add 1.35 tokens to each step.
RAG_ENGINE: Final = EngineSpec(
    model="llama-3.1-70b",
    prefill_tps=3200.0,
    step_base_s=0.046,
    step_per_sequence_s=0.0024,
    kv_read_s_per_token=1.6e-7,
    kv_tokens=30_000,
    max_sequences=12,
    draft_tokens=3,
    draft_acceptance=0.65,
    long_prompt_tokens=6_000,
    fragmentation_per_h=0.07,
    revision="3.0.0",
)
RAG_NEXT: Final = "3.1.0-fp8"
DEPLOYED_BEFORE_S: Final = {"chat": 15 * 86_400.0, "rag": 22 * 86_400.0}  # what each pool begins the day with
ROTATION_S: Final = 600.0  # the gateway's instances take a new salt one after the other
SLOW_REPLICA: Final = "vllm-chat-1"
# Part of the span in which the spans of a replica are lost on their way.
GAP: Final = ("vllm-rag-1", 0.62, 0.66)

NODE_GPUS: Final = {"chat": 1, "rag": 4}
NODE_USD_PER_H: Final = {"chat": 1.10, "rag": 7.60}
NODE_DISCOUNT_RATIO: Final = 0.2  # off the list price, by contract


def demo_fleet(span_s: float, seed: int) -> FleetConfig:
    """Return the fleet of the demo and all that is done to it within `span_s` seconds."""
    return FleetConfig(
        pools=(PoolSpec("chat", 5, CHAT_ENGINE), PoolSpec("rag", 3, RAG_ENGINE)),
        routes={
            "round-robin": "round-robin",
            "prefix-aware": "prefix-aware",
            "sticky": "sticky",
            "batch": "round-robin",
        },
        manners=Manners(refused_ratio=0.008, broken_ratio=0.005),
        operations=(
            Operation(0.28 * span_s, "slowdown", "chat", replica=SLOW_REPLICA, factor=2.2, until_s=0.40 * span_s),
            Operation(0.545 * span_s, "deployment", "chat", engine=replace(CHAT_ENGINE, revision=CHAT_NEXT)),
            Operation(0.64 * span_s, "scale_out", "chat"),
            Operation(0.72 * span_s, "salt_rotation", "chat", until_s=0.72 * span_s + ROTATION_S),
            Operation(
                0.80 * span_s,
                "deployment",
                "rag",
                engine=replace(RAG_ENGINE, revision=RAG_NEXT, weights=QUANTISED, step_base_s=0.034, prefill_tps=4100.0),
            ),
        ),
        seed=seed,
    )
