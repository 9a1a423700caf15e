"""Rows of the relation goodput as the measure stage gives them, made of hourly p99s: one pool a series."""

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl

MONDAY = datetime(2026, 1, 5, tzinfo=UTC)


def goodput_rows(
    p99: np.ndarray,
    requests: np.ndarray,
    *,
    workload: str = "chat",
    ratio: np.ndarray | None = None,
    p95: np.ndarray | None = None,
) -> pl.DataFrame:
    """One row per hour and pool in which there are requests; medians stay, p95 is 0.6 of p99 or as given."""
    series, hours = np.nonzero(requests > 0)
    starts = [MONDAY + timedelta(hours=int(hour)) for hour in hours]
    n = requests[series, hours].astype(np.int64)
    values = p99[series, hours]
    below = 0.6 * values if p95 is None else p95[series, hours]
    good = np.full(len(n), 0.99) if ratio is None else ratio[series, hours]
    return pl.DataFrame(
        {
            "window_start": pl.Series(starts, dtype=pl.Datetime("us", "UTC")),
            "window_s": pl.Series([3600] * len(n), dtype=pl.Int32),
            "slice": ["workload_pool"] * len(n),
            "workload": [workload] * len(n),
            "pool": [f"pool-{row}" for row in series],
            "offered": n,
            "accepted": n,
            "goodput_ratio": good,
            "goodput_rps": good * n / 3600,
            "goodput_upper_rps": good * n / 3600,
            "need_label": np.zeros(len(n), dtype=np.int64),
            "labelled": np.zeros(len(n), dtype=np.int64),
            "cost_per_accepted_usd": pl.Series([None] * len(n), dtype=pl.Float64),
            "partial": [False] * len(n),
            **{
                f"{q}_{name}_s": quantile
                for name in ("ttft", "tpot", "e2e")
                for q, quantile in (("p99", values), ("p95", below))
            },
            **{f"p50_{name}_s": np.full(len(n), 0.249) for name in ("ttft", "tpot", "e2e")},
            **{f"n_{name}": n for name in ("ttft", "tpot", "e2e")},
        }
    )
