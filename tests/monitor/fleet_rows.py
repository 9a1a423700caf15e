"""What the measure stage would publish of a simulated fleet, reckoned from what happened: the rows that alarms are of.

Nothing of the pipeline is used, so that a drill of alarms takes seconds; the whole pipeline has its own.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import polars as pl

from goodput.simulate.fleet.config import FleetConfig
from goodput.simulate.fleet.fleet import Served
from goodput.simulate.fleet.gateway import Attempt, Exchange
from monitor.fleet import START

_ATTEMPTS = {
    **dict.fromkeys(("workload", "pool", "replica"), pl.String),
    **{"ended_s": pl.Float64, "final": pl.Boolean, "ok": pl.Boolean},
    **dict.fromkeys(("ttft_s", "tpot_s", "e2e_s"), pl.Float64),
    **{"cached": pl.Int64, "input": pl.Int64},
}
_GATE_TTFT_S = {"chat": 1.5, "rag": 4.0}


def relations(served: Served, step_s: int) -> dict[str, pl.DataFrame]:
    """Rows of goodput, replica_windows and cache_by_replica for windows of one length."""
    tries = pl.DataFrame(list(_tries(served)), schema=_ATTEMPTS, orient="row").with_columns(_window("ended_s", step_s))
    samples = [(i.pool, i.replica, s.at_s, s.kv_usage_ratio) for i in served.incarnations for s in i.samples]
    gauges = pl.DataFrame(samples, schema=["pool", "replica", "at_s", "kv"], orient="row")
    last = tries["window_start"].max()
    found = {
        "goodput": _goodput(tries.filter("final"), step_s),
        "replica_windows": gauges.group_by(_window("at_s", step_s), "pool", "replica").agg(
            mean_kv_usage_ratio=pl.col("kv").mean()
        ),
        "cache_by_replica": tries.filter(pl.col("cached").is_not_null())
        .group_by("window_start", "pool", "replica")
        .agg(
            hit_ratio=pl.col("cached").sum() / pl.col("input").sum(),
            looked_up_tokens=pl.col("input").sum(),
            p95_ttft_miss_s=pl.col("ttft_s").filter(pl.col("cached") == 0).quantile(0.95, "linear"),
            n_ttft_miss=pl.col("ttft_s").filter(pl.col("cached") == 0).count(),
        ),
    }
    whole = pl.col("window_start") < last  # the window in which the simulation ends is none
    return {name: rows.filter(whole).with_columns(window_s=pl.lit(step_s)) for name, rows in found.items()}


def operations(config: FleetConfig) -> list[dict[str, Any]]:
    """Rows of ops_events: each operation when it begins."""
    return [
        {"kind": one.kind, "occurred_at": START + timedelta(seconds=one.at_s), "pool": one.pool}
        for one in config.operations
    ]


def _tries(served: Served) -> Iterator[tuple[Any, ...]]:
    for exchange in served.exchanges:
        for attempt in exchange.attempts:
            yield _try(exchange, attempt)


def _try(exchange: Exchange, attempt: Attempt) -> tuple[Any, ...]:
    asked, ok = exchange.arrival, attempt.outcome == "ok"
    ttft_s = attempt.first_chunk_s - asked.arrived_s if ok else None
    e2e_s = attempt.ended_s - asked.arrived_s if ok else None
    tpot_s = (e2e_s - ttft_s) / (asked.output_tokens - 1) if ttft_s and e2e_s and asked.output_tokens > 1 else None
    cached = attempt.job.cached_tokens if ok and attempt.job is not None else None
    final = attempt is exchange.attempts[-1]
    named = (asked.workload, asked.pool, attempt.incarnation.replica)
    return (*named, attempt.ended_s, final, ok, ttft_s, tpot_s, e2e_s, cached, asked.input_tokens)


def _window(column: str, step_s: int) -> pl.Expr:
    whole = (pl.col(column) // step_s * step_s).cast(pl.Int64)
    return (pl.lit(START) + pl.duration(seconds=whole)).cast(pl.Datetime("us", "UTC")).alias("window_start")


def _goodput(requests: pl.DataFrame, step_s: int) -> pl.DataFrame:
    good = pl.col("ok") & (pl.col("ttft_s") <= pl.col("workload").replace_strict(_GATE_TTFT_S, return_dtype=pl.Float64))
    latencies = ("ttft_s", "tpot_s", "e2e_s")
    quantiles = {
        f"p{share}_{name}": pl.col(name).quantile(share / 100, "linear") for name in latencies for share in (50, 95, 99)
    }
    counts = {f"n_{name.removesuffix('_s')}": pl.col(name).count() for name in latencies}
    return (
        requests.group_by("window_start", "workload", "pool")
        .agg(offered=pl.len(), accepted=good.sum(), **quantiles, **counts)
        .with_columns(
            slice=pl.lit("workload_pool"),
            partial=pl.lit(False),
            goodput_ratio=pl.col("accepted") / pl.col("offered"),
            goodput_rps=pl.col("accepted") / step_s,
            cost_per_accepted_usd=pl.lit(None, pl.Float64),
        )
    )
