"""When each engine process ran and how busy it was."""

from typing import Any, Final

import polars as pl

from goodput.simulate.emit.day import Day
from goodput.simulate.story import NODE_USD_PER_H

_UTC_US: Final = pl.Datetime("us", "UTC")
_REPLICAS: Final[dict[str, Any]] = {
    "replica": pl.String,
    "pool": pl.String,
    "pod_uid": pl.String,
    "revision": pl.String,
    "weights": pl.String,
    "started_at": _UTC_US,
    "ended_at": _UTC_US,
    "up_s": pl.Float64,
    "busy_s": pl.Float64,
    "usd_per_h": pl.Float64,
    "preemptions": pl.Int64,
    "peak_kv_ratio": pl.Float64,
}


def replicas_frame(day: Day) -> pl.DataFrame:
    """Return `Truth.replicas`; processes that still ran when all was served ended then."""
    clock, rows = day.clock, []
    for one in day.served.incarnations:
        spec, counters, ended_s = one.engine.spec, one.engine.counters, min(one.ended_s, day.served.ended_s)
        rows.append(
            (
                one.replica,
                one.pool,
                day.ids.pod_uids[one],
                spec.revision,
                spec.weights,
                clock.at(one.started_s),
                clock.at(ended_s),
                ended_s - one.started_s,
                counters.busy_s,
                NODE_USD_PER_H[one.pool],
                counters.preemptions,
                one.engine.memory.peak_tokens / spec.kv_tokens,
            )
        )
    return pl.DataFrame(rows, schema=_REPLICAS, orient="row")
