"""Times an evaluation of alarms that has one new hour to judge against one that judges everything.

Both are what `goodput run` does once its hour is published: read 1,000 series over five weeks, judge, write the tables.
What is compared is processor time, of all threads: wall time, at most as much, tells of whatever else the machine does.
"""

import math
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from benchmarks.child import in_turn
from benchmarks.table import Row, seconds
from goodput.alarms import judge
from goodput.contracts import arrow_schema
from goodput.measure.gates import gate_rows
from goodput.plumbing.database import publish
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.lake import Lake
from goodput.settings.model import Settings

POOLS = 125  # of which eight metrics each are watched
DAYS = 35
ROUNDS = 5
BUDGET_S = 120.0
SETTINGS = Settings()
_MONDAY = datetime(2026, 1, 5, tzinfo=UTC)


def rows(share: float) -> Iterator[Row]:
    """The newest hour of `share` of the pools against all of their hours."""
    pools = max(round(POOLS * share), 4)
    made = _rows(pools)
    with TemporaryDirectory(prefix="goodput-bench-") as name:
        lake = Lake(Path(name))
        lake.open()
        known = DAYS * 24 - ROUNDS - 1
        _publish(lake, made, 0, known)
        judge(lake, SETTINGS, _after(known))

        def hourly() -> float:
            nonlocal known
            _publish(lake, made, known, known + 1)
            known += 1
            begun = time.process_time()
            judge(lake, SETTINGS, _after(known))
            return time.process_time() - begun

        def whole() -> float:
            judged = lake.root / "judged.npz"
            kept, parts = judged.read_bytes(), dict(lake.catalog["alarms"].parts)
            judged.unlink()
            lake.catalog["alarms"].replace({"all": ()})
            begun = time.process_time()
            judge(lake, SETTINGS, _after(known))
            taken = time.process_time() - begun
            judged.write_bytes(kept)
            lake.catalog["alarms"].replace(parts)
            return taken

        taken_s = in_turn({"hour": hourly, "all": whole}, ROUNDS, BUDGET_S * share)
    what = f"alarms, a new hour of {8 * pools:,} series over five weeks"
    yield seconds(what, taken_s["hour"], "all judged again", taken_s["all"], at_most_s=1.5)


def _rows(pools: int) -> pl.DataFrame:
    """Hourly rows of pools whose latencies and failures stray, each quantity by itself, on days that are busier."""
    chance, shape = np.random.default_rng(1), (pools, DAYS * 24)
    busy = 1 - 0.5 * np.cos(np.arange(shape[1]) / 24 * 2 * math.pi)
    offered = chance.poisson(4000 * np.broadcast_to(busy, shape))
    failed = chance.binomial(offered, 0.01)
    columns = {"offered": offered, "failed": failed, "accepted": offered - failed}
    columns |= {"goodput_ratio": 1 - failed / offered, "goodput_rps": (offered - failed) / 3600}
    for gate, usual_s in (("ttft", 0.6), ("tpot", 0.03), ("e2e", 9.0)):
        body = usual_s * np.exp(0.1 * busy + chance.normal(0, 0.05, shape))
        columns |= {f"n_{gate}": offered, f"p50_{gate}_s": body / 2.5, f"p95_{gate}_s": body}
        columns[f"p99_{gate}_s"] = 1.6 * body * np.exp(chance.normal(0, 0.04, shape))
    starts = [_after(hour) for hour in range(shape[1])]
    frame = pl.DataFrame({name: values.reshape(-1) for name, values in columns.items()})
    return frame.with_columns(
        window_start=pl.Series(starts * pools, dtype=pl.Datetime("us", "UTC")),
        window_s=pl.lit(3600),
        slice=pl.lit("workload_pool"),
        workload=pl.lit("chat"),
        pool=pl.Series(np.repeat([f"pool-{at}" for at in range(pools)], shape[1])),
        partial=pl.lit(False),
    )


def _after(hour: int) -> datetime:
    return _MONDAY + timedelta(hours=hour)


def _publish(lake: Lake, made: pl.DataFrame, since: int, until: int) -> None:
    """Put the rows of these hours into the lake, a part for those of each day, and publish them."""
    schema = arrow_schema("goodput")
    new = made.filter(pl.col("window_start").is_between(_after(since), _after(until), closed="left"))
    widened = new.with_columns(pl.lit(None).alias(name) for name in schema.names if name not in made.columns)
    parts = {}
    for (first,), of_day in widened.group_by(pl.col("window_start").dt.truncate("1d")):
        hour = f"{max(first, _after(since)):%Y-%m-%dT%H}"
        table = of_day.select(schema.names).to_arrow().cast(schema)
        parts[hour] = (lake.write_part("goodput", hour, table, fingerprint(hour)),)
    lake.catalog["goodput"].replace(parts)
    publish(lake, gate_rows(SETTINGS))
