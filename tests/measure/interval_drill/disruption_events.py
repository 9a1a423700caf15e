"""Scenarios of `disruptions`: as many pools as events, each with a baseline and a disruption of a few windows."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from goodput.join.workloads import workload_rows
from goodput.measure.disruptions import caps, disrupt, options
from goodput.measure.nodes import DISRUPTIONS
from goodput.plumbing.catalog import ALL
from goodput.plumbing.lake import Lake
from goodput.plumbing.node import Batch, Context
from goodput.plumbing.parameters import as_rows
from goodput.plumbing.sql_files import connect
from goodput.settings.model import Quality, Settings, Workload
from measure.interval_drill.line import Lines, Trial, line
from measure.interval_drill.populations import shaped
from river import START_S

POOLS = 1000
BASE_S = 300


@dataclass(frozen=True)
class Event:
    """One disruption of so many windows; cost and pass rate vary from window to window."""

    windows: int
    baseline: int = 24
    requests: int = 200
    pass_rate: float = 0.9
    spread: float = 0.03
    cost_spread: float = 0.1
    label_rate: float = 1.0

    @property
    def name(self) -> str:
        """In words."""
        labels = "" if self.label_rate == 1 else f", labels {100 * self.label_rate:g} %"
        return f"excess, {self.windows} windows beside {self.baseline}{labels}"

    def run(self, seed: int) -> Trial:
        """Intervals of what each event cost beyond its accepted requests at the baseline's true cost."""
        random = np.random.default_rng(seed)
        shape = (POOLS, self.baseline + self.windows + 2)
        hit = np.broadcast_to(np.arange(shape[1]), shape) - self.baseline
        inside = (hit >= 0) & (hit < self.windows)
        rate = np.clip(random.normal(np.where(inside, self.pass_rate - 0.3, self.pass_rate), self.spread), 0, 1)
        passing = random.binomial(self.requests, rate)
        cost = np.where(inside, 1.4, 1.0) * random.lognormal(-(self.cost_spread**2) / 2, self.cost_spread, shape)
        labelled = random.binomial(self.requests, self.label_rate, shape)
        accepted = random.hypergeometric(passing, self.requests - passing, labelled)
        found = self._measured(cost, labelled, accepted, inside)
        truth = (cost * inside).sum(1) - (passing * inside).sum(1) / (self.requests * self.pass_rate)
        names = ("excess_cost_ci_low_usd", "excess_cost_ci_high_usd", "excess_cost_usd")
        return Trial(*(found[name].fill_null(np.nan).to_numpy() for name in names), truth)

    def _measured(
        self, cost: np.ndarray, labelled: np.ndarray, accepted: np.ndarray, inside: np.ndarray
    ) -> pl.DataFrame:
        settings = Settings(workloads={"qa": Workload(quality=Quality())})
        batch = Batch(Context(Lake(Path("none")), settings), DISRUPTIONS, {ALL: ""})
        start = START_S + np.broadcast_to(np.arange(cost.shape[1]) - self.baseline, cost.shape) * BASE_S
        pool = np.char.add("p", np.broadcast_to(np.arange(POOLS)[:, None], cost.shape).astype(str))
        share = np.divide(accepted, labelled, out=np.ones(cost.shape), where=labelled > 0)
        rows = pl.DataFrame(
            {
                "window_start": start.ravel(),
                "pool": pool.ravel(),
                "cost_usd": cost.ravel(),
                "labelled": labelled.ravel(),
                "accepted": accepted.ravel(),
                "rejected": (labelled - accepted).ravel(),
                "unlabelled": (self.requests - labelled).ravel(),
                "goodput_rps": (share * self.requests / BASE_S).ravel(),
                "cached_input_tokens": np.where(inside, 100, 600).ravel(),
            }
        ).with_columns(
            pl.from_epoch("window_start").dt.cast_time_unit("us").dt.replace_time_zone("UTC"),
            window_s=pl.lit(BASE_S),
            slice=pl.lit("pool"),
            need_label=pl.lit(self.requests),
            arrivals=pl.lit(self.requests),
            offered=pl.lit(self.requests),
            p95_ttft_s=pl.lit(1.0),
            partial=pl.lit(False),
            observed_s=pl.lit(float(BASE_S)),
            input_tokens=pl.lit(1000),
            replica=pl.concat_str(pl.lit("replica of "), "pool"),
        )
        by_workload = rows.with_columns(slice=pl.lit("workload_pool"), workload=pl.lit("qa"))
        events = rows.unique("pool").select(
            event_id="pool",
            kind=pl.lit("salt_rotation"),
            occurred_at=pl.from_epoch(pl.lit(START_S)).dt.cast_time_unit("us").dt.replace_time_zone("UTC"),
            pool="pool",
        )
        asked = {"from_s": START_S - 9 * 86400.0, "until_s": START_S + 9 * 86400.0}
        observed = {"observed_from_s": START_S - 9 * 86400.0, "observed_until_s": START_S + 9 * 86400.0}
        tables = {
            "goodput": pl.concat([rows, by_workload], how="diagonal"),
            "cache_by_replica": rows,
            "ops_events": events,
        }
        with connect() as connection:
            for name, table in tables.items():
                connection.register(name, shaped(name, table))
            (row,) = options(batch).to_pylist()
            connection.register("disruption_options", as_rows("disruption_options", {**row, **asked, **observed}))
            connection.register("disruption_caps", caps(settings))
            connection.register("workload_rules", workload_rows(settings))
            found = pl.DataFrame(disrupt(connection, batch))
        return found.sort(pl.col("event_id").str.slice(1).cast(pl.Int64))


SCENARIOS = (
    *(Event(windows) for windows in (1, 2, 3, 4)),
    Event(2, label_rate=0.3),
    Event(3, label_rate=0.01),
    Event(2, baseline=12, cost_spread=0.3),
    Event(2, baseline=4),
)


def lines() -> Lines:
    """Every scenario."""
    for number, event in enumerate(SCENARIOS):
        yield line("disruptions", event.name, event.run(5000 + 2 * number), event.run(5001 + 2 * number))
