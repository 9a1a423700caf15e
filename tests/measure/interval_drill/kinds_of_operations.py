"""Scenarios of `disruption_cost`: pools with a few disruptions of one kind, each of which costs something else."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from goodput.join.workloads import workload_rows
from goodput.measure.disruptions import options
from goodput.measure.nodes import DISRUPTION_COST
from goodput.plumbing.catalog import ALL
from goodput.plumbing.lake import Lake
from goodput.plumbing.node import Batch, Context
from goodput.plumbing.sql_files import compute, connect
from goodput.settings.model import Quality, Settings, Workload
from measure.interval_drill.line import Lines, Trial, line
from measure.interval_drill.populations import shaped
from river import START_S

POOLS = 1000
BASE_S = 300
EACH = 20  # windows from one disruption to the next


@dataclass(frozen=True)
class Kind:
    """So many disruptions of a few windows each; cost and pass rate vary between disruptions and between windows."""

    disruptions: int
    windows: int = 2
    requests: int = 200
    pass_rate: float = 0.9
    drop: float = 0.3
    drop_spread: float = 0.1
    spread: float = 0.03
    cost_spread: float = 0.1
    label_rate: float = 1.0

    @property
    def name(self) -> str:
        """In words."""
        labels = "" if self.label_rate == 1 else f", labels {100 * self.label_rate:g} %"
        return f"{self.disruptions} disruptions of {self.windows} windows{labels}"

    def run(self, seed: int) -> Trial:
        """Intervals of what one such disruption costs beyond its accepted requests at the steady cost."""
        random = np.random.default_rng(seed)
        shape = (POOLS, self.disruptions * EACH)
        number, place = np.divmod(np.broadcast_to(np.arange(shape[1]), shape), EACH)
        inside = (place >= EACH - self.windows - 1) & (place < EACH - 1)
        dropped = random.normal(self.drop, self.drop_spread, (POOLS, self.disruptions))
        dearer = random.lognormal(-0.02, 0.2, (POOLS, self.disruptions))
        lost, dear = (np.take_along_axis(each, number, 1) for each in (dropped, dearer))
        rate = np.clip(random.normal(np.where(inside, self.pass_rate - lost, self.pass_rate), self.spread), 0, 1)
        cost = np.where(inside, 1.4 * dear, 1.0) * random.lognormal(-(self.cost_spread**2) / 2, self.cost_spread, shape)
        passing = random.binomial(self.requests, rate)
        labelled = random.binomial(self.requests, self.label_rate, shape)
        accepted = random.hypergeometric(passing, self.requests - passing, labelled)
        found = self._measured(cost, labelled, accepted)
        stem = "excess_cost_per_disruption"
        names = (f"{stem}_ci_low_usd", f"{stem}_ci_high_usd", f"{stem}_usd")
        share = (self.pass_rate - self.drop) / _clipped(self.pass_rate, self.spread)
        truth = np.full(POOLS, self.windows * (1.4 - share))
        return Trial(*(found[name].fill_null(np.nan).to_numpy() for name in names), truth)

    def _measured(self, cost: np.ndarray, labelled: np.ndarray, accepted: np.ndarray) -> pl.DataFrame:
        settings = Settings(workloads={"qa": Workload(quality=Quality())})
        batch = Batch(Context(Lake(Path("none")), settings), DISRUPTION_COST, {ALL: ""})
        start = START_S + np.broadcast_to(np.arange(cost.shape[1]), cost.shape) * BASE_S
        pool = np.char.add("p", np.char.zfill(np.broadcast_to(np.arange(POOLS)[:, None], cost.shape).astype(str), 4))
        rows = pl.DataFrame(
            {
                "window_start": start.ravel(),
                "pool": pool.ravel(),
                "cost_usd": cost.ravel(),
                "labelled": labelled.ravel(),
                "accepted": accepted.ravel(),
                "unlabelled": (self.requests - labelled).ravel(),
            }
        ).with_columns(
            _moment(pl.col("window_start")),
            window_s=pl.lit(BASE_S),
            slice=pl.lit("pool"),
            need_label=pl.lit(self.requests),
            arrivals=pl.lit(self.requests),
            offered=pl.lit(self.requests),
            observed_s=pl.lit(float(BASE_S)),
            partial=pl.lit(False),
        )
        by_workload = rows.with_columns(slice=pl.lit("workload_pool"), workload=pl.lit("qa"))
        begins = pl.DataFrame({"place": [n * EACH + EACH - self.windows - 1 for n in range(self.disruptions)]})
        events = rows.select("pool").unique().join(begins, how="cross")
        began = START_S + pl.col("place") * BASE_S
        events = events.select(
            event_id=pl.concat_str("pool", pl.lit("/"), "place"),
            kind=pl.lit("deployment"),
            pool="pool",
            occurred_at=_moment(began),
            ended_at=_moment(began + self.windows * BASE_S),
        )
        with connect() as connection:
            connection.register("goodput", shaped("goodput", pl.concat([rows, by_workload], how="diagonal")))
            connection.register("cache_by_replica", shaped("cache_by_replica", rows.head(0)))
            connection.register("disruptions", shaped("disruptions", events))
            connection.register("disruption_options", options(batch))
            connection.register("workload_rules", workload_rows(settings))
            for relation in DISRUPTION_COST.relations:
                compute(connection, relation)
            of_pools = "FROM disruption_cost WHERE kind IS NOT NULL AND pool IS NOT NULL ORDER BY pool"
            return pl.DataFrame(connection.sql(of_pools).to_arrow_table())


def _moment(at_s: pl.Expr) -> pl.Expr:
    return pl.from_epoch(at_s).dt.cast_time_unit("us").dt.replace_time_zone("UTC")


def _clipped(mean: float, spread: float) -> float:
    """Mean of a normal draw that is cut off at 1."""
    draws = np.random.default_rng(1).normal(mean, spread, 10**6)
    return float(np.minimum(draws, 1).mean())


SCENARIOS = (
    *(Kind(disruptions) for disruptions in (3, 4, 8)),
    Kind(5, label_rate=0.3),
    Kind(4, windows=1, label_rate=0.05),
)


def lines() -> Lines:
    """Every scenario."""
    for number, kind in enumerate(SCENARIOS):
        yield line("disruption_cost", kind.name, kind.run(9000 + 2 * number), kind.run(9001 + 2 * number))
