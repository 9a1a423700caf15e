"""Scenarios of `disruption_cost`: pools with a few disruptions of one kind, each of which costs something else."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from goodput.join.workloads import workload_rows
from goodput.measure.disruptions import options
from goodput.measure.nodes import DISRUPTION_COST
from goodput.plumbing.catalog import ALL
from goodput.plumbing.lake import Lake
from goodput.plumbing.node import Batch, Context
from goodput.plumbing.parameters import as_rows
from goodput.plumbing.sql_files import compute, connect
from goodput.settings.model import Quality, Settings, Workload
from measure.interval_drill.line import Lines, Trial, decided, line
from measure.interval_drill.loads import A_DAY, FLAT, LOADS, Loads
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
    loads: Loads | None = None  # one at each midnight, when the fewest come; without, as many requests in each window
    pools: int | None = None
    dearer: float = 1.0  # what replicas cost from the last disruption on, of what they did

    @property
    def name(self) -> str:
        """In words."""
        labels = "" if self.label_rate == 1 else f", labels {100 * self.label_rate:g} %"
        loads = "" if self.loads is None else f" by night, {self.loads.name}"
        dearer = "" if self.dearer == 1 else f", the last {100 * (self.dearer - 1):g} % dearer"
        return f"{self.disruptions} disruptions of {self.windows} windows{labels}{loads}{dearer}"

    @property
    def each(self) -> int:
        """Windows from one disruption to the next."""
        return EACH if self.loads is None else A_DAY

    def run(self, seed: int) -> Trial:
        """Intervals of what one such disruption costs beyond its accepted requests at the steady cost."""
        random = np.random.default_rng(seed)
        pools, usual = self.pools or POOLS, self.loads or FLAT
        shape = (pools, self.disruptions * self.each)
        number, place = np.divmod(np.broadcast_to(np.arange(shape[1]), shape), self.each)
        inside = (place >= self.each - self.windows - 1) & (place < self.each - 1)
        load = np.full(shape, self.requests) if self.loads is None else usual.arrivals(random, place / 12)
        dropped = random.normal(self.drop, self.drop_spread, (pools, self.disruptions))
        dearer = random.lognormal(-0.02, 0.2, (pools, self.disruptions))
        lost, dear = (np.take_along_axis(each, number, 1) for each in (dropped, dearer))
        passes = usual.passes(load, self.pass_rate)
        rate = np.clip(random.normal(np.where(inside, passes - lost, passes), self.spread), 0, 1)
        cost = usual.cost_usd(load) * np.where(inside, 1.4 * dear, 1.0)
        cost *= random.lognormal(-(self.cost_spread**2) / 2, self.cost_spread, shape)
        begins = (self.disruptions - 1) * self.each + self.each - self.windows - 1
        price = np.where(np.arange(shape[1]) >= begins, self.dearer, 1.0) + np.zeros(shape)
        cost *= price
        passing = random.binomial(load, rate)
        labelled = random.binomial(load, self.label_rate)
        accepted = random.hypergeometric(passing, load - passing, labelled)
        found = self._measured(load, cost, price, labelled, accepted)
        stem = "excess_cost_per_disruption"
        names = (f"{stem}_ci_low_usd", f"{stem}_ci_high_usd", f"{stem}_usd")
        # given the loads that came: of each disruption what it costs on average, and accepts
        steady_rate = _clipped(self.pass_rate, self.spread)
        paid = np.where(inside, usual.cost_usd(load) * price, 0).reshape(pools, self.disruptions, self.each).sum(2)
        truth = (paid * (1.4 - (self.pass_rate - self.drop) / steady_rate)).mean(1)
        low, high, point = (found[name].fill_null(np.nan).to_numpy() for name in names)
        told = ~np.isnan(point)
        if self.loads is not None:  # the others have no interval, and say why
            assert set(found["no_interval"].filter(pl.Series(~told))) <= {"load_unmatched"}
            low, high, point, truth = (of[told] for of in (low, high, point, truth))
        return Trial(low, high, point, truth)

    def _measured(
        self, load: np.ndarray, cost: np.ndarray, price: np.ndarray, labelled: np.ndarray, accepted: np.ndarray
    ) -> pl.DataFrame:
        settings = Settings(workloads={"qa": Workload(quality=Quality())})
        batch = Batch(DISRUPTION_COST, Lake(Path("none")), settings, {ALL: ""})
        start = START_S + np.broadcast_to(np.arange(cost.shape[1]), cost.shape) * BASE_S
        pool = np.char.add(
            "p", np.char.zfill(np.broadcast_to(np.arange(len(cost))[:, None], cost.shape).astype(str), 4)
        )
        rows = pl.DataFrame(
            {
                "window_start": start.ravel(),
                "pool": pool.ravel(),
                "cost_usd": cost.ravel(),
                "own_usd": cost.ravel(),
                "gpu_s": (BASE_S * cost / price).ravel(),
                "labelled": labelled.ravel(),
                "accepted": accepted.ravel(),
                "unlabelled": (load - labelled).ravel(),
                **{name: load.ravel() for name in ("need_label", "arrivals", "offered")},
            }
        ).with_columns(
            _moment(pl.col("window_start")),
            window_s=pl.lit(BASE_S),
            slice=pl.lit("pool"),
            observed_s=pl.lit(float(BASE_S)),
            partial=pl.lit(False),
            replica=pl.lit("r"),
            pool_usd=pl.lit(0.0),
        )
        by_workload = rows.with_columns(slice=pl.lit("workload_pool"), workload=pl.lit("qa"))
        begins = pl.DataFrame(
            {"place": [n * self.each + self.each - self.windows - 1 for n in range(self.disruptions)]}
        )
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
            connection.register("paid_time", shaped("paid_time", rows))
            connection.register("cache_by_replica", shaped("cache_by_replica", rows.head(0)))
            connection.register("disruptions", shaped("disruptions", events))
            (row,) = options(Context(batch.lake, settings), batch).to_pylist()
            observed = {"observed_from_s": 0.0, "observed_until_s": 1e10}
            connection.register("disruption_options", as_rows("disruption_options", {**row, **observed}))
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
BY_NIGHT = (
    Kind(7, windows=4, loads=LOADS[0], pools=250),
    Kind(7, windows=4, loads=LOADS[1], pools=250),
    Kind(4, windows=1, loads=LOADS[0], pools=250, label_rate=0.3),
    Kind(4, dearer=1.2),
)


def lines() -> Lines:
    """Every scenario."""
    for number, kind in enumerate(SCENARIOS):
        yield line("disruption_cost", kind.name, kind.run(9000 + 2 * number), kind.run(9001 + 2 * number))
    for number, kind in enumerate(BY_NIGHT):
        yield from decided(partial(_by_night, kind), 9500 + 2 * number)


def _by_night(kind: Kind, seed: int) -> Lines:
    yield line("disruption_cost", kind.name, kind.run(seed), kind.run(seed + 1))
