"""Relation attempts, and the gate that binds most, beside their computation."""

from goodput.plumbing.workspace import Workspace
from oracle.compare import Comparison, keyed, microseconds, rows
from oracle.fleet import Row
from oracle.latency import first_token
from oracle.slices import DIMENSIONS
from oracle.truth import Truth
from oracle.windows import gate_failures

CUT = ("window_at", "window_s", "slice", "slice_value", *DIMENSIONS)
FACTS = (
    *(
        "request_key",
        "workload",
        "tenant",
        "session_id",
        "model",
        "replica",
        "engine_seen",
        "pool",
        "route",
        "streamed",
    ),
    *(
        "ttft_s",
        "e2e_s",
        "queue_s",
        "prefill_s",
        "decode_s",
        "itl_p95_s",
        "jitter_s",
        "input_tokens",
        "cached_input_tokens",
        "output_tokens",
    ),
    *("draft_tokens", "accepted_draft_tokens", "preemptions", "recomputed_tokens", "outcome", "finish_reason"),
    *("cache_write_tokens", "reasoning_tokens", "error_type", "http_status", "reported_cost_usd"),
)


def attempts(workspace: Workspace, truth: Truth, found: Comparison) -> None:
    """Relation attempts: merged facts, order and delivery."""
    published = keyed(rows(workspace, "SELECT * FROM attempts"), "attempt_id")
    for row in published.values():
        row |= {name: row[name] and round(row[name].timestamp() * 1e6) for name in ("started_at", "ended_at")}
    computed = {}
    for request in truth.requests:
        tries = sorted(request["tries"], key=lambda a: (a["tried_at"], a["attempt_id"]))
        for number, attempt in enumerate(tries):
            computed[attempt["attempt_id"]] = _attempt(attempt, request, number)
    found.rows("attempts", published, computed)


def _attempt(attempt: Row, request: Row, number: int) -> Row:
    known = {name: attempt[name] for name in FACTS}
    known["tpot_s"] = attempt["tpot_s"] if attempt["outcome"] == "ok" else None
    return known | {
        "attempt_index": number,
        "delivered": attempt["attempt_id"] == request["delivering_attempt_id"],
        "started_at": microseconds(attempt["started_at"]),
        "ended_at": microseconds(attempt["ended_at"]),
        "started_ns": attempt["started_at"],
        "ended_ns": attempt["ended_at"],
        "arrived_ns": attempt["arrived_at"],
        "first_token_ns": first_token(attempt),
        "reported_attempts": attempt["counted"] or None,
        "model_from": "record",
    }


def binding_gate(workspace: Workspace, truth: Truth, found: Comparison) -> None:
    """Relation binding_gate: rows of goodput that have one."""
    sql = "SELECT *, epoch(window_start)::BIGINT AS window_at FROM binding_gate"
    failures = gate_failures(truth.windows)
    computed = {}
    for key, row in truth.goodput.items():
        if row["binding_gate"] is not None:
            gate = failures[*key, row["binding_gate"]]
            counts = {name: gate[name] for name in ("failing", "gated", "fail_ratio")}
            sums = {name: row[name] for name in ("offered", "accepted")}
            computed[key] = {
                "gate": row["binding_gate"],
                "would_accept": row["binding_gate_requests"],
                **counts,
                **sums,
            }
    found.rows("binding_gate", keyed(rows(workspace, sql), *CUT), computed)
