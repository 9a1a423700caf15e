"""Scenarios of `frontier`: load bins of a few windows each, whose pass rates vary from window to window."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from goodput.contracts import arrow_schema, contract_names
from goodput.join.workloads import workload_rows
from goodput.measure.frontier import options
from goodput.measure.slices import slice_options
from goodput.plumbing.graph import closure
from goodput.plumbing.parameters import register
from goodput.plumbing.sql_files import compute, connect
from goodput.settings.model import Quality, Settings, Workload
from measure.interval_drill.line import Lines, Trial, line
from measure.interval_drill.populations import shaped
from river import START_S

ROUTES = 1000
WINDOW_S = 300


@dataclass(frozen=True)
class Bins:
    """Every route has these bins of so many windows, each with a load of its own; the first one is judged."""

    windows: Sequence[int]
    requests: int = 200
    pass_rate: float = 0.85
    spread: float = 0.05  # standard deviation of a window's pass rate
    label_rate: float = 1.0
    cost_spread: float = 0.2  # of a window's cost, on the log scale

    @property
    def name(self) -> str:
        """In words."""
        labels = "" if self.label_rate == 1 else f", labels {100 * self.label_rate:g} %"
        return f"bins of {self.windows} windows, p {self.pass_rate:g} +- {self.spread:g}{labels}"

    def run(self, seed: int) -> dict[str, Trial]:
        """Intervals of the first bin's goodput ratio and cost per accepted, and both of such windows on average."""
        random = np.random.default_rng(seed)
        loads = self._load_windows(random)
        costs = random.lognormal(-(self.cost_spread**2) / 2, self.cost_spread, loads.height)
        found = self._measured(loads, _costs(loads, costs * self.requests))
        first = found.filter(pl.col("windows") == self.windows[0]).unique("route").sort("route")
        truth = {"frontier": self.pass_rate, "frontier price": 1 / self.pass_rate}
        return {
            name: Trial(*(first[column].fill_null(np.nan).to_numpy() for column in RATIO[name]), np.full(ROUTES, true))
            for name, true in truth.items()
            if name == "frontier" or self.windows[0] > 1  # one window shows nothing of how costs vary
        }

    def _load_windows(self, random: np.random.Generator) -> pl.DataFrame:
        place = np.repeat(np.arange(len(self.windows)), self.windows)
        shape = (ROUTES, place.size)
        arrivals = np.broadcast_to(np.round(self.requests * 1.3**place).astype(int), shape)
        size = self.pass_rate * (1 - self.pass_rate) / self.spread**2 - 1 if self.spread else 0
        rates = random.beta(self.pass_rate * size, (1 - self.pass_rate) * size, shape) if size else self.pass_rate
        passing = random.binomial(arrivals, rates)
        labelled = random.binomial(arrivals, self.label_rate)
        accepted = random.hypergeometric(passing, arrivals - passing, labelled)
        route = np.broadcast_to(np.arange(ROUTES)[:, None], shape)
        start = np.broadcast_to(np.arange(place.size), shape) * WINDOW_S + START_S
        return pl.DataFrame(
            {
                "start": start.ravel(),
                "route": [f"r{n:04}" for n in route.ravel()],
                "arrivals": arrivals.ravel(),
                "labelled": labelled.ravel(),
                "accepted": accepted.ravel(),
            }
        ).select(
            window_start=pl.from_epoch("start").dt.cast_time_unit("us").dt.replace_time_zone("UTC"),
            window_s=pl.lit(WINDOW_S),
            workload=pl.lit("qa"),
            pool=pl.lit("p1"),
            route="route",
            replicas=pl.lit(["a"]),
            arrivals="arrivals",
            ended="arrivals",
            succeeded="arrivals",
            accepted="accepted",
            need="arrivals",
            labelled="labelled",
            gates=pl.lit([], pl.List(pl.String)),
            gated_counts=pl.lit([], pl.List(pl.Int64)),
            failing_counts=pl.lit([], pl.List(pl.Int64)),
        )

    @staticmethod
    def _measured(load_windows: pl.DataFrame, goodput: pl.DataFrame) -> pl.DataFrame:
        settings = Settings(workloads={"qa": Workload(quality=Quality())})
        with connect() as connection:
            connection.register("load_windows", shaped("load_windows", load_windows))
            connection.register("goodput", shaped("goodput", goodput))
            register(connection, "workload_rules", workload_rows(settings))
            connection.register("disruptions", arrow_schema("disruptions").empty_table())
            register(connection, "slice_options", slice_options(settings))
            register(connection, "frontier_options", options(settings))
            for name in closure(["frontier_bins"], contract_names()):
                compute(connection, name)
            bins = "SELECT name AS route, * FROM frontier_bins WHERE slice = 'route'"
            return pl.DataFrame(connection.sql(bins).to_arrow_table())


def _costs(load_windows: pl.DataFrame, cost_usd: np.ndarray) -> pl.DataFrame:
    """What each window cost, as `goodput` has it."""
    return load_windows.select(
        "window_start",
        "window_s",
        "workload",
        "route",
        "labelled",
        "accepted",
        slice=pl.lit("workload_route"),
        need_label="need",
        goodput_rps=pl.lit(1.0),
        cost_usd=pl.Series(cost_usd),
    )


RATIO = {
    "frontier": ("goodput_ratio_ci_low", "goodput_ratio_ci_high", "goodput_ratio"),
    "frontier price": ("cost_per_accepted_ci_low_usd", "cost_per_accepted_ci_high_usd", "cost_per_accepted_usd"),
}

SCENARIOS = (
    *(Bins([windows, 6, 8]) for windows in (1, 2, 3, 10, 30)),
    Bins([2, 3]),
    Bins([3], spread=0.02, pass_rate=0.97),
    Bins([10, 6], label_rate=0.1),
    Bins([4, 6], spread=0.0),
)


def lines() -> Lines:
    """Every scenario."""
    for number, bins in enumerate(SCENARIOS):
        calibration, test = bins.run(3000 + 2 * number), bins.run(3001 + 2 * number)
        for name, held in test.items():
            yield line(name, bins.name, calibration[name], held)
