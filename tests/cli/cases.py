"""What a small fleet published, by hand: one request of each verdict, its records, labels and sources."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

Row = dict[str, Any]
START = datetime(2026, 11, 20, 9, tzinfo=UTC)
START_NS = 1_795_165_200 * 10**9
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SHARED_TRACE = "0af7651916cd43dd8448eb211c80319c"
TABLES = ("goodput", "sources", "quarantine", "restatements", "ops_events")
LABELS = {"unlabelled": "estimate", "sampling": "random"}
GATES = [
    {"workload": "qa", "gate": "retries", "bound": 1.0},
    {"workload": "qa", "gate": "ttft", "bound": 1.0},
    {"workload": "qa", "gate": "tpot", "bound": 0.05},
    {"workload": "qa", "gate": "quality", "bound": 0.5, "unit": "request", **LABELS},
    {"workload": "chat", "gate": "ttft", "bound": 0.3},
    {"workload": "chat", "gate": "tpot", "bound": 0.05},
    {"workload": "chat", "gate": "e2e", "bound": 2.0},
]


def after(minute: int, seconds: float = 0) -> datetime:
    return START + timedelta(minutes=minute, seconds=seconds)


def after_ns(minute: int, milliseconds: int = 0) -> int:
    return START_NS + (minute * 60_000 + milliseconds) * 10**6


def request(key: str, minute: int, verdict: str, **given: object) -> Row:
    passed = {"pass_success": True, "pass_retries": True, "pass_ttft": True, "pass_tpot": True}
    return {
        "request_key": key,
        "workload": "qa",
        "arrived_at": after(minute),
        "ended_at": after(minute, 2),
        "attempts": 1,
        "retry_count": 0,
        "delivering_attempt_id": f"{key}/0",
        "outcome": "ok",
        "verdict": verdict,
        "needs_label": verdict in {"accepted", "rejected", "unlabelled"},
        "tpot_na": False,
        **passed,
        **given,
    }


def attempt(key: str, index: int, minute: int, record_ids: list[str], **given: object) -> Row:
    return {
        "attempt_id": f"{key}/{index}",
        "request_key": key,
        "attempt_index": index,
        "delivered": True,
        "source": "s-bench",
        "dialect": "table",
        "record_ids": record_ids,
        "started_at": after(minute),
        "arrived_ns": after_ns(minute),
        "started_ns": after_ns(minute),
        "workload": "qa",
        "outcome": "ok",
        **given,
    }


def record(record_id: str, minute: int, line: int, **given: object) -> Row:
    return {
        "record_id": record_id,
        "source_id": "s-bench",
        "line": line,
        "position": 0,
        "dialect": "table",
        "layer": "client",
        "started_ns": after_ns(minute),
        "outcome": "ok",
        **given,
    }


def label(label_id: str, key: str, minute: int, line: int, **given: object) -> Row:
    return {
        "label_id": label_id,
        "subject_kind": "request",
        "subject_id": key,
        "request_key": key,
        "evaluator": "groundedness",
        "labelled_at": after(minute),
        "withdrawn": False,
        "current": True,
        "source": "s-labels",
        "line": line,
        **given,
    }


REQUESTS = [
    request(
        "req-accepted",
        0,
        "accepted",
        ended_at=after(0, 4.4),
        ttft_s=0.4,
        e2e_s=4.4,
        tpot_s=0.04,
        model="llama",
        pool="blue",
        route="chat",
        replica="pod-7",
        session_id="s-1",
        tenant="acme",
        output_tokens=101,
        finish_reason="stop",
        pass_quality=True,
    ),
    request(
        "req-slow",
        1,
        "slow",
        ttft_s=0.5,
        e2e_s=1.11,
        tpot_s=0.061,
        output_tokens=11,
        pass_tpot=False,
        sole_failing_gate="tpot",
    ),
    request(
        "req-failed",
        2,
        "failed",
        ended_at=after(2, 30),
        outcome="timeout",
        ttft_s=None,
        pass_success=False,
        pass_ttft=None,
        pass_tpot=None,
        e2e_s=30.0,
        error_type="UpstreamTimeout",
    ),
    request(
        "req-over",
        3,
        "over_budget",
        attempts=3,
        retry_count=2,
        delivering_attempt_id="req-over/2",
        pass_retries=False,
        ttft_s=0.9,
        e2e_s=2.0,
        tpot_s=0.02,
    ),
    request(
        "req-rejected",
        4,
        "rejected",
        ttft_s=0.2,
        e2e_s=1.0,
        tpot_s=0.01,
        pass_quality=False,
        sole_failing_gate="quality",
    ),
    request("req-unevaluable", 5, "unevaluable", e2e_s=1.0, pass_ttft=None, pass_tpot=None),
    request("req-unlabelled", 6, "unlabelled", ttft_s=0.2, tpot_s=0.01),
    request(
        "req-in-flight",
        7,
        "in_flight",
        ended_at=None,
        outcome="unknown",
        pass_success=None,
        pass_ttft=None,
        pass_tpot=None,
    ),
    request(
        "req-short",
        8,
        "accepted",
        workload="chat",
        ttft_s=0.25,
        e2e_s=0.25,
        output_tokens=1,
        tpot_na=True,
        pass_retries=None,
        pass_tpot=None,
        pass_e2e=True,
    ),
    request(
        "req-barely",
        9,
        "slow",
        workload="chat",
        ttft_s=0.30000002,
        e2e_s=2.5,
        pass_retries=None,
        tpot_s=0.02,
        pass_ttft=False,
        pass_e2e=False,
    ),
    request(
        "[red]evil\x1b[2J",
        10,
        "ungated",
        workload="unassigned",
        pass_retries=None,
        pass_ttft=None,
        pass_tpot=None,
    ),
]

ATTEMPTS = [
    attempt(
        "req-accepted",
        0,
        0,
        [f"{TRACE}:c000000000000001", f"{TRACE}:a000000000000002", f"{TRACE}:e000000000000003"],
        source="s-spans",
        dialect="gen_ai_client",
        trace_id=TRACE,
        span_id="c000000000000001",
        response_id="chatcmpl-1",
        first_token_ns=after_ns(0, 400),
        ended_ns=after_ns(0, 4400),
        ended_at=after(0, 4.4),
        ttft_s=0.4,
        e2e_s=4.4,
        queue_s=0.05,
        tpot_s=0.04,
        session_id="s-1",
        tenant="acme",
        replica="pod-7",
        finish_reason="stop",
        input_tokens=900,
        cached_input_tokens=512,
        output_tokens=101,
    ),
    attempt(
        "req-slow",
        0,
        1,
        ["req-slow/0"],
        ended_at=after(1, 2),
        ttft_s=0.5,
        e2e_s=1.11,
        tpot_s=0.061,
        output_tokens=11,
    ),
    attempt(
        "req-failed",
        0,
        2,
        ["req-failed/0"],
        ended_at=after(2, 30),
        outcome="timeout",
        e2e_s=30.0,
        error_type="UpstreamTimeout",
        http_status=504,
    ),
    attempt(
        "req-over",
        0,
        3,
        ["req-over/0"],
        delivered=False,
        ended_at=after(3, 0.5),
        outcome="error",
        http_status=503,
    ),
    attempt(
        "req-over",
        1,
        3,
        ["req-over/1"],
        delivered=False,
        ended_at=after(3, 0.7),
        outcome="error",
        http_status=503,
    ),
    attempt("req-over", 2, 3, ["req-over/2"], ended_at=after(3, 2), ttft_s=0.1, e2e_s=1.2),
    attempt(
        "req-rejected",
        0,
        4,
        ["req-rejected/0"],
        trace_id=SHARED_TRACE,
        span_id="b000000000000001",
        ended_at=after(4, 1),
    ),
    attempt("req-unevaluable", 0, 5, ["req-unevaluable/0"], ended_at=after(5, 1), e2e_s=1.0),
    attempt(
        "req-unlabelled",
        0,
        6,
        ["req-unlabelled/0"],
        trace_id=SHARED_TRACE,
        span_id="b000000000000002",
        ended_at=after(6, 1),
    ),
    attempt("req-in-flight", 0, 7, ["req-in-flight/0"], outcome="unknown"),
    attempt(
        "req-short",
        0,
        8,
        ["req-short/0"],
        workload="chat",
        ended_at=after(8, 0.25),
        streamed=False,
        ttft_s=0.25,
        e2e_s=0.25,
        output_tokens=1,
    ),
    attempt("req-barely", 0, 9, ["req-barely/0"], workload="chat", ended_at=after(9, 2.5)),
]

RECORDS = [
    record(
        f"{TRACE}:c000000000000001",
        0,
        7,
        source_id="s-spans",
        position=2,
        dialect="gen_ai_client",
        layer="client",
        trace_id=TRACE,
        span_id="c000000000000001",
        response_id="chatcmpl-1",
        first_token_ns=after_ns(0, 400),
        ended_ns=after_ns(0, 4400),
        ttft_s=0.4,
        e2e_s=4.4,
        session_id="s-1",
        tenant="acme",
        finish_reason="stop",
        input_tokens=898,
        output_tokens=100,
    ),
    record(
        f"{TRACE}:a000000000000002",
        0,
        3,
        source_id="s-spans",
        position=1,
        dialect="gateway",
        layer="gateway",
        trace_id=TRACE,
        span_id="a000000000000002",
        parent_span_id="c000000000000001",
        started_ns=after_ns(0, 10),
        ended_ns=after_ns(0, 4390),
        e2e_s=4.38,
        tenant="acme-proxy",
        outcome="unknown",
        replica="10.0.0.7",
    ),
    record(
        f"{TRACE}:e000000000000003",
        0,
        1,
        source_id="s-spans",
        dialect="vllm",
        layer="engine",
        trace_id=TRACE,
        span_id="e000000000000003",
        parent_span_id="a000000000000002",
        started_ns=after_ns(0, 20),
        ended_ns=after_ns(0, 4380),
        ttft_s=0.3,
        e2e_s=4.36,
        queue_s=0.05,
        replica="pod-7",
        input_tokens=900,
        cached_input_tokens=512,
        output_tokens=101,
    ),
    record(
        f"{TRACE}:e000000000000003",
        0,
        99,
        source_id="t-copy",
        dialect="vllm",
        layer="engine",
        trace_id=TRACE,
        span_id="e000000000000003",
        queue_s=0.05,
    ),
    record("req-slow/0", 1, 5, ttft_s=0.5, e2e_s=1.11, output_tokens=11),
    record("req-failed/0", 2, 6, outcome="timeout", e2e_s=30.0, error_type="UpstreamTimeout", http_status=504),
    record("req-over/0", 3, 7, outcome="error", http_status=503),
    record("req-over/1", 3, 8, outcome="error", http_status=503),
    record("req-over/2", 3, 9, ttft_s=0.1, e2e_s=1.2),
    record("req-rejected/0", 4, 10),
    record("req-unevaluable/0", 5, 11, e2e_s=1.0),
    record("req-unlabelled/0", 6, 12),
    record("req-in-flight/0", 7, 13, outcome="unknown"),
    record("req-short/0", 8, 14, streamed=False, ttft_s=0.1, e2e_s=0.25, output_tokens=1),
    record("req-barely/0", 9, 15, source_id="s-gone"),
]

LABELS = [
    label("l-1", "req-accepted", 20, 1, score=0.2, passed=False, current=False),
    label("l-2", "req-accepted", 30, 2, score=0.9, passed=True),
    label(
        "l-3",
        "req-accepted",
        40,
        3,
        evaluator="tone",
        label="rude",
        passed=False,
        withdrawn=True,
        current=False,
    ),
    label("l-4", "req-rejected", 20, 4, score=0.25, passed=False),
    label("l-5", "req-rejected", 20, 5, evaluator="toxicity", label="safe", passed=True),
]


def source(source_id: str, path: str, counts: tuple[int, int, int, int, int], **given: object) -> Row:
    names = ("rows_read", "rows_kept", "rows_duplicate", "rows_quarantined", "rows_ignored")
    return {
        "source_id": source_id,
        "path": path,
        "landing": "/data/landing",
        "reader": "otlp",
        "status": "read",
        "size_bytes": 1000,
        **dict(zip(names, counts, strict=True)),
        "ignored": "{}",
        "torn_tail_bytes": 0,
        "ingested_at": after(60),
        **given,
    }


SOURCES = [
    source("s-spans", "spans.jsonl", (40, 36, 2, 0, 2), ignored='{"not_a_request": 2}'),
    source("t-copy", "spans-copy.jsonl", (3, 1, 2, 0, 0), torn_tail_bytes=12),
    source("s-bench", "bench.csv", (12, 11, 0, 1, 0), reader="bench"),
    source("s-labels", "labels.jsonl", (5, 5, 0, 0, 0), reader="judge"),
    source("s-refused", "notes.zst", (0, 0, 0, 0, 0), status="refused", reason="unpacks to more than 1 GiB"),
    source("s-lost", "lost.jsonl", (5, 3, 1, 0, 0)),
]
QUARANTINED = [
    {
        "source_id": "s-bench",
        "path": "bench.csv",
        "line": 4,
        "position": 0,
        "table_name": "attempts",
        "rule": "ttft_s_out_of_range",
        "reason": "ttft_s breaks ttft_s >= 0: -0.5",
        "excerpt": "1795165200,-0.5,\x1b[31m",
    },
]
WINDOWS = [
    {
        "window_start": after(minute),
        "window_s": 300,
        "slice": "overall",
        "offered": 100,
        "accepted": 70 + minute,
        "goodput_rps": (70 + minute) / 300,
        "goodput_ratio": None if minute else 0.7,
    }
    for minute in (0, 5)
]

ROWS: Mapping[str, list[Row]] = {
    "requests": REQUESTS,
    "attempts": ATTEMPTS,
    "serving_records": RECORDS,
    "quality_labels": LABELS,
    "sources": SOURCES,
    "quarantine": QUARANTINED,
    "goodput": WINDOWS,
    "restatements": [],
    "cost_ledger": [],
    "ops_events": [],
}
