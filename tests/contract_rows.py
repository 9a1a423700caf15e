"""Rows that keep their contract, and Parquet files of them, for tests of the audit."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from goodput.contracts import arrow_schema

NINE = datetime(2026, 11, 20, 9, tzinfo=UTC)

# One row of each table that keeps its contract; columns not named are NULL.
GOOD: dict[str, dict[str, Any]] = {
    "requests": {
        "request_key": "r1",
        "workload": "qa",
        "arrived_at": NINE,
        "attempts": 1,
        "retry_count": 0,
        "delivering_attempt_id": "a1",
        "outcome": "ok",
        "needs_label": False,
        "tpot_na": False,
        "verdict": "slow",
    },
    "serving_records": {
        "record_id": "s1",
        "source_id": "f1",
        "line": 1,
        "position": 0,
        "dialect": "vllm",
        "layer": "engine",
        "started_ns": 1_795_165_200_000_000_000,
        "outcome": "ok",
    },
    "goodput": {
        "window_start": NINE,
        "window_s": 300,
        "slice": "overall",
        "definition": "full",
        "percentiles": "exact",
        "low_n": True,
        "partial": False,
        "computed_at": NINE,
        "revision": 0,
        **dict.fromkeys(("offered", "arrivals", "succeeded", "accepted"), 1),
        **dict.fromkeys(("failed", "ungated", "over_budget", "slow", "rejected", "unevaluable", "unlabelled"), 0),
        **dict.fromkeys(("queue_late", "retries_late", "prefill_late", "work_late"), 0),
        **dict.fromkeys(("n_ttft", "n_tpot", "n_e2e", "n_queue", "tpot_na", "binding_gate_requests"), 0),
        **dict.fromkeys(("need_label", "labelled", "quality_judged", "observed_s"), 0),
        **dict.fromkeys(("throughput_rps", "goodput_rps", "goodput_ci_low_rps", "goodput_ci_high_rps"), 0.5),
        **dict.fromkeys(("goodput_lower_rps", "goodput_upper_rps"), 0.5),
        **dict.fromkeys(("output_tps", "output_token_goodput_tps"), 8.0),
        **dict.fromkeys(("output_token_goodput_ci_low_tps", "output_token_goodput_ci_high_tps"), 8.0),
    },
}

Reshape = Callable[[pa.Table], pa.Table]


def write(folder: Path, table: str, *changes: Mapping[str, Any], reshape: Reshape | None = None) -> Path:
    """Write a Parquet file of `table`: its good row once for each given change of it."""
    made = pa.Table.from_pylist([{**GOOD[table], **change} for change in changes], schema=arrow_schema(table))
    path = folder / f"{len(list(folder.iterdir()))}.parquet"
    pq.write_table(reshape(made) if reshape else made, path)
    return path
