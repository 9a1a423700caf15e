"""What each operation really did to its pool's cache and speed, measured on the attempts themselves."""

from datetime import datetime, timedelta
from typing import Any, Final

import polars as pl

from goodput.simulate.emit.day import Day

_BASE_S: Final = 300.0
_BASELINE_WINDOWS: Final = 12
_TOLERANCE_RATIO: Final = 0.10
_CAP_S: Final = 1200.0
_OPERATIONS: Final[dict[str, Any]] = {
    "number": pl.Int64,
    "kind": pl.String,
    "pool": pl.String,
    "replica": pl.String,
    "occurred_at": pl.Datetime("us", "UTC"),
    "finished_at": pl.Datetime("us", "UTC"),
    "baseline_hit_ratio": pl.Float64,
    "lowest_hit_ratio": pl.Float64,
    "lost_hit_tokens": pl.Float64,
    "baseline_p95_ttft_s": pl.Float64,
    "highest_p95_ttft_s": pl.Float64,
    "recovery_s": pl.Float64,
}


def operations_frame(day: Day, attempts: pl.DataFrame) -> pl.DataFrame:
    """Return `Truth.operations`: one row per operation, announced or not.

    Windows of 300 s count from the operation. The baseline is the hour before it; `recovery_s` ends with the first of
    two windows in a row whose hit ratio and p95 of ttft are both back within 10 % of it (NULL: not before the end).
    `lost_hit_tokens` is what the baseline's hit ratio would have saved until then, or for 1200 s.
    """
    rows = []
    for number, operation in enumerate(day.config.operations):
        occurred = day.clock.at(operation.at_s)
        finished_s = max((done.at_s for done in day.served.operations if done.number == number), default=operation.at_s)
        windows = _windows(attempts.filter(pl.col("pool") == operation.pool), occurred)
        before = windows.filter(pl.col("window").is_between(-_BASELINE_WINDOWS, -1))
        after = windows.filter(pl.col("window") >= 0)
        named = (number, operation.kind, operation.pool, operation.replica or None, occurred, day.clock.at(finished_s))
        rows.append((*named, *_effect(before, after)))
    return pl.DataFrame(rows, schema=_OPERATIONS, orient="row")


def _windows(attempts: pl.DataFrame, zero: datetime) -> pl.DataFrame:
    scheduled = attempts.filter(pl.col("cached_input_tokens").is_not_null())
    seconds = (pl.col("started_at") - pl.lit(zero, dtype=pl.Datetime("us", "UTC"))) / timedelta(seconds=1)
    return (
        scheduled.group_by(window=(seconds / _BASE_S).floor().cast(pl.Int64))
        .agg(
            pl.col("cached_input_tokens", "input_tokens").sum(),
            p95_ttft_s=pl.col("ttft_s").quantile(0.95, "linear"),
        )
        .with_columns(hit_ratio=pl.col("cached_input_tokens") / pl.col("input_tokens"))
        .sort("window")
    )


def _effect(before: pl.DataFrame, after: pl.DataFrame) -> tuple[float | None, ...]:
    if before.is_empty() or after.is_empty():
        return (None,) * 6
    hit_ratio = int(before["cached_input_tokens"].sum()) / int(before["input_tokens"].sum())
    p95_ttft_s = float(before.select(pl.col("p95_ttft_s").median()).item())
    recovered = (pl.col("hit_ratio") >= hit_ratio * (1 - _TOLERANCE_RATIO)) & (
        pl.col("p95_ttft_s") <= p95_ttft_s * (1 + _TOLERANCE_RATIO)
    )
    twice = after.filter(recovered & recovered.shift(-1).fill_null(value=False))
    recovery_s = float(twice["window"][0]) * _BASE_S if len(twice) else None
    until_s = _CAP_S if recovery_s is None else recovery_s
    disrupted = after.filter(pl.col("window") * _BASE_S < max(until_s, _BASE_S))
    lost = hit_ratio * int(disrupted["input_tokens"].sum()) - int(disrupted["cached_input_tokens"].sum())
    lowest = disrupted.select(pl.col("hit_ratio").min()).item()
    highest = disrupted.select(pl.col("p95_ttft_s").max()).item()
    return hit_ratio, lowest, lost, p95_ttft_s, highest, recovery_s
