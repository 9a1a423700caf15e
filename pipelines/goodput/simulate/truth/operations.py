"""What each operation really did to its pool, in the base windows of docs/semantics.md#disruptions.

Everything is measured on requests and attempts as they truly were: hits of prompts whose telemetry was lost count,
and a window is disturbed by whatever was announced in its pool. Costs are not reported here: what was accepted hangs on
gates, which are settings.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import polars as pl

from goodput.simulate.emit.day import Day
from goodput.simulate.fleet.config import Operation

BASE: Final = timedelta(seconds=300)
CAP: Final = timedelta(seconds=1200)
_BASELINE_WINDOWS: Final = 12
_TOLERANCE_RATIO: Final = 0.10
_UTC_US: Final = pl.Datetime("us", "UTC")
_OPERATIONS: Final[dict[str, Any]] = {
    "number": pl.Int64,
    "kind": pl.String,
    "pool": pl.String,
    "replica": pl.String,
    "announced": pl.Boolean,
    "occurred_at": _UTC_US,
    "finished_at": _UTC_US,
    "ended_at": _UTC_US,
    "baseline": pl.List(_UTC_US),
    "baseline_hit_ratio": pl.Float64,
    "lowest_hit_ratio": pl.Float64,
    "baseline_p95_ttft_s": pl.Float64,
    "highest_p95_ttft_s": pl.Float64,
}


def operations_frame(day: Day, attempts: pl.DataFrame, requests: pl.DataFrame) -> pl.DataFrame:
    """Return `Truth.operations`: one row per operation, announced or not.

    `baseline` are the starts of the windows that it is compared with: undisturbed ones before it, of each window within
    1200 s those with loads up to the nth nearest at or below and above its own, twelve shared out. `ended_at` is the
    start of the first of two windows in a row whose hit ratio and p95 of ttft are both back within 10 % of the
    baseline's, at most 1200 s after the operation.
    """
    pools = {pool.name: _windows(pool.name, attempts, requests) for pool in day.config.pools}
    rows = []
    for number, operation in enumerate(day.config.operations):
        finished_s = max((done.at_s for done in day.served.operations if done.number == number), default=operation.at_s)
        times = (day.clock.at(operation.at_s), day.clock.at(finished_s))
        named = (number, operation.kind, operation.pool, operation.replica or None, _is_announced(operation))
        rows.append((*named, *times, *_effect(pools[operation.pool], times[0], _disturbed(day, operation.pool))))
    return pl.DataFrame(rows, schema=_OPERATIONS, orient="row")


def _is_announced(operation: Operation) -> bool:
    return operation.kind != "slowdown"


def _disturbed(day: Day, pool: str) -> Sequence[datetime]:
    """When each announced operation of a pool began."""
    return [day.clock.at(one.at_s) for one in day.config.operations if one.pool == pool and _is_announced(one)]


def _windows(pool: str, attempts: pl.DataFrame, requests: pl.DataFrame) -> pl.DataFrame:
    """Base windows of a pool wholly within the traffic: arrivals, hit ratio of what was scheduled, p95 of ttft."""
    own, tried = requests.filter(pool=pool), attempts.filter(pool=pool)
    looked_up = tried.filter(pl.col("cached_input_tokens").is_not_null())
    first, last = requests["arrived_at"].min(), requests["ended_at"].max()
    return (
        own.group_by(start=pl.col("arrived_at").dt.truncate(BASE))
        .agg(arrivals=pl.len())
        .join(
            looked_up.group_by(start=pl.col("ended_at").dt.truncate(BASE)).agg(
                pl.col("cached_input_tokens", "input_tokens").sum()
            ),
            on="start",
        )
        .join(
            own.filter(pl.col("outcome") == "ok")
            .group_by(start=pl.col("ended_at").dt.truncate(BASE))
            .agg(p95_ttft_s=pl.col("ttft_s").quantile(0.95, "linear")),
            on="start",
        )
        .filter(pl.col("start") >= first, pl.col("start") + BASE <= last)
        .with_columns(hit_ratio=pl.col("cached_input_tokens") / pl.col("input_tokens"))
        .sort("start")
    )


def _effect(windows: pl.DataFrame, occurred: datetime, disturbed: Sequence[datetime]) -> tuple[Any, ...]:
    start = pl.col("start")
    after = windows.filter(start + BASE > occurred, start < occurred + CAP + BASE)
    inside = after.filter(start < occurred + CAP)
    before = windows.filter(
        start + BASE <= occurred, ~pl.any_horizontal(*((start < at + CAP) & (start + BASE > at) for at in disturbed))
    )
    if before.is_empty() or inside.is_empty():
        return (None,) * 6
    baseline = _with_loads(before, inside["arrivals"].to_list())
    hit_ratio, p95_ttft_s = baseline.select(
        pl.col("cached_input_tokens").sum() / pl.col("input_tokens").sum(), pl.col("p95_ttft_s").median()
    ).row(0)
    back = (pl.col("hit_ratio") >= hit_ratio * (1 - _TOLERANCE_RATIO)) & (
        pl.col("p95_ttft_s") <= p95_ttft_s * (1 + _TOLERANCE_RATIO)
    )
    recovered = after.filter(back & back.shift(-1).fill_null(value=False), start < occurred + CAP)["start"].to_list()
    ended = max(recovered[0], occurred) if recovered else occurred + CAP
    worst = inside.filter(start < max(ended, occurred + BASE)).select(
        pl.col("hit_ratio").min(), pl.col("p95_ttft_s").max()
    )
    lowest, highest = worst.row(0)
    return ended, baseline["start"].to_list(), hit_ratio, lowest, p95_ttft_s, highest


def _with_loads(windows: pl.DataFrame, loads: Sequence[int]) -> pl.DataFrame:
    each, there = -(-_BASELINE_WINDOWS // len(loads)), sorted(windows["arrivals"].to_list())
    ranges = []
    for load in loads:
        nearest = [n for n in there if n <= load][-each:] + [n for n in there if n > load][:each]
        ranges.append(pl.col("arrivals").is_between(min(nearest), max(nearest)))
    return windows.filter(pl.any_horizontal(*ranges))
