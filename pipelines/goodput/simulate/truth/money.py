"""Where the fleet's dollars really went, by the contract of docs/semantics.md#money and nothing but the simulation.

A node is paid from its replica's first start to the end of the span. The seconds of a base window in which an attempt
was under way at the replica are busy, whatever the engine did in them; the others are idle. What the busy ones cost is
shared among these attempts by the work that the engine really did for each: tokens prefilled (recomputed ones
included), a tenth of those cached, five times those generated, half of those drafted, spread evenly over the attempt.
Aborted attempts count with what was generated until then, of which telemetry may know nothing. The verdicts of
requests are no business of this module: they follow from gates, which are settings.
"""

from typing import Any, Final

import polars as pl

from goodput.simulate.emit.bills import nodes
from goodput.simulate.emit.day import Day
from goodput.simulate.fleet.config import EngineSpec
from goodput.simulate.fleet.job import Job
from goodput.simulate.story import NODE_USD_PER_H

BASE_S: Final = 300
CACHED_WEIGHT: Final = 0.1
DECODE_WEIGHT: Final = 5.0
DRAFT_WEIGHT: Final = 0.5
_BASE_US: Final = BASE_S * 1_000_000
_NODES: Final[dict[str, Any]] = {"replica": pl.String, "pool": pl.String, "from_us": pl.Int64, "until_us": pl.Int64}
_WINDOW: Final = ["replica", "window"]


def drafts(job: Job, spec: EngineSpec) -> tuple[float, float]:
    """Return the tokens that were drafted for a job, and how many of them were kept."""
    after_first = max(0.0, job.generated - 1.0)
    steps = after_first / spec.tokens_per_step
    return steps * spec.draft_tokens, after_first - steps


def work(job: Job, spec: EngineSpec) -> tuple[float, float, float]:
    """Return the work that an engine did for a job in weighted tokens; of it what was redone, and drafted in vain."""
    drafted, kept = drafts(job, spec)
    whole = job.prefilled_tokens + CACHED_WEIGHT * job.cached_tokens + DECODE_WEIGHT * job.generated
    return whole + DRAFT_WEIGHT * drafted, float(job.recomputed_tokens), DRAFT_WEIGHT * (drafted - kept)


def money_frame(day: Day, attempts: pl.DataFrame) -> pl.DataFrame:
    """Return `Truth.money`, given `Truth.attempts`."""
    pieces = _pieces(attempts)
    busy = pieces.group_by(_WINDOW).agg(_union_us() / _BASE_US)
    paid = _paid(day).join(busy, on=_WINDOW, how="left").with_columns(pl.col("busy").fill_null(0.0))
    usd = pl.col("usd_per_window") * pl.col("busy") * pl.col("part")
    shared = pieces.join(paid, on=_WINDOW).select(
        *_WINDOW,
        "pool",
        "request_id",
        "attempt_index",
        usd=usd * (1.0 - pl.col("redone") - pl.col("in_vain")),
        preemption_usd=usd * pl.col("redone"),
        speculation_usd=usd * pl.col("in_vain"),
    )
    idle = paid.select(*_WINDOW, "pool", idle_usd=pl.col("usd_per_window") * (pl.col("paid") - pl.col("busy")))
    at = pl.from_epoch(pl.col("window") * BASE_S, "s").dt.cast_time_unit("us").dt.replace_time_zone("UTC")
    whole = pl.concat([shared, idle], how="diagonal").select(at.alias("window_start"), pl.all().exclude("window"))
    usd_columns = ("usd", "preemption_usd", "speculation_usd", "idle_usd")
    return whole.with_columns(pl.col(usd_columns).fill_null(0.0)).sort("window_start", "replica", "request_id")


def _pieces(attempts: pl.DataFrame) -> pl.DataFrame:
    """Cut attempts at base windows: `part` is the share of an attempt in the replica's work in the window."""
    first, last = pl.col("started_us") // _BASE_US, (pl.col("ended_us") - 1) // _BASE_US
    cut = (
        attempts.select(
            "request_id",
            "attempt_index",
            "replica",
            "work",
            started_us=pl.col("started_at").dt.epoch("us"),
            ended_us=pl.col("ended_at").dt.epoch("us"),
            redone=(pl.col("redone_work") / pl.col("work")).fill_nan(0.0),
            in_vain=(pl.col("vain_work") / pl.col("work")).fill_nan(0.0),
        )
        .with_columns(window=pl.int_ranges(first, last + 1))
        .explode("window")
        .with_columns(
            from_us=pl.max_horizontal("started_us", pl.col("window") * _BASE_US),
            until_us=pl.min_horizontal("ended_us", (pl.col("window") + 1) * _BASE_US),
        )
    )
    inside_us = pl.col("until_us") - pl.col("from_us")
    here = pl.col("work") * inside_us / (pl.col("ended_us") - pl.col("started_us"))
    all_here = here.sum().over(_WINDOW)
    by_time = inside_us / inside_us.sum().over(_WINDOW)
    return cut.with_columns(part=pl.when(all_here > 0).then(here / all_here).otherwise(by_time))


def _union_us() -> pl.Expr:
    """How long at least one piece of the group lasted."""
    begin, end = pl.col("from_us").sort(), pl.col("until_us").sort_by("from_us")
    so_far = end.cum_max().shift(1).fill_null(0)
    return (end - pl.max_horizontal(begin, so_far)).clip(0).sum().alias("busy")


def _paid(day: Day) -> pl.DataFrame:
    """What each node cost in each base window, and the part of the window that it was paid for."""
    clock, until_us = day.clock, day.clock.ns(day.span_s) // 1000
    rows = [(replica, pool, clock.ns(since_s) // 1000, until_us) for replica, pool, since_s in nodes(day.served)]
    window = pl.col("window") * _BASE_US
    return (
        pl.DataFrame(rows, schema=_NODES, orient="row")
        .with_columns(window=pl.int_ranges(pl.col("from_us") // _BASE_US, (pl.col("until_us") - 1) // _BASE_US + 1))
        .explode("window")
        .select(
            *_WINDOW,
            "pool",
            paid=(pl.min_horizontal("until_us", window + _BASE_US) - pl.max_horizontal("from_us", window)) / _BASE_US,
            usd_per_window=pl.col("pool").replace_strict(NODE_USD_PER_H) / 3600.0 * BASE_S,
        )
    )
