"""Rows of goodput of pools with little traffic: every request is drawn, and cut into windows of 1, 6 and 24 hours."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from monitor.latencies import noise
from monitor.noise import A_DAY, FIVE_MINUTES, NORMAL, Profile, traffic
from monitor.rows import MONDAY

QUANTILES = (50, 95, 99)
WINDOWS_S = (3600, 6 * 3600, 86400)


@dataclass(frozen=True)
class Thin:
    """Pools of so few requests an hour; their latency drifts by so much an hour from an hour on."""

    per_hour: float
    days: int
    profile: Profile = NORMAL
    drift: float = 0.0
    onset_hour: int = 0


def thin_rows(rng: np.random.Generator, fleet: Thin, series: int) -> pl.DataFrame:
    """Latencies are lognormal around a level that strays; one pool a series."""
    shape = (series, fleet.days * A_DAY * FIVE_MINUTES)
    hours = np.arange(shape[1]) / FIVE_MINUTES
    level = noise(rng, shape, fleet.profile) + np.log1p(fleet.drift) * np.maximum(hours - fleet.onset_hour, 0)
    drawn = rng.poisson(traffic(series, fleet.days, FIVE_MINUTES, 0.6) * fleet.per_hour / FIVE_MINUTES)
    frames = [_windows(rng, level[row], drawn[row], f"pool-{row}") for row in range(series)]
    return pl.concat(frames).sort("window_s", "window_start", "pool")


def _windows(rng: np.random.Generator, level: np.ndarray, drawn: np.ndarray, pool: str) -> pl.DataFrame:
    at = np.repeat(np.arange(len(level)), drawn)
    requests = pl.DataFrame({"at": at * 300, "x": 0.25 * np.exp(level[at] + 0.5 * rng.normal(size=len(at)))})
    return pl.concat([_cut(requests, step_s, pool) for step_s in WINDOWS_S])


def _cut(requests: pl.DataFrame, step_s: int, pool: str) -> pl.DataFrame:
    quantiles = {f"p{q}_ttft_s": pl.col("x").quantile(q / 100, "higher") for q in QUANTILES}
    windows = requests.group_by(at=pl.col("at") // step_s * step_s).agg(n=pl.len().cast(pl.Int64), **quantiles)
    start_us = (pl.col("at") + int(MONDAY.timestamp())) * 1_000_000
    return windows.select(
        window_start=start_us.cast(pl.Datetime("us", "UTC")),
        window_s=pl.lit(step_s, pl.Int32),
        slice=pl.lit("workload_pool"),
        workload=pl.lit("chat"),
        pool=pl.lit(pool),
        **{name: pl.col("n") for name in ("offered", "accepted", "n_ttft")},
        goodput_ratio=pl.lit(0.99),
        goodput_rps=0.99 * pl.col("n") / step_s,
        partial=pl.lit(value=False),
        **{name: pl.col(name) for name in quantiles},
    )
