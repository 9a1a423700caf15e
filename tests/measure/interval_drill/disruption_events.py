"""Scenarios of `disruptions`: as many pools as events, each with a baseline and a disruption of a few windows."""

from dataclasses import dataclass
from functools import partial
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
from goodput.settings.model import Disruptions, Quality, Settings, Workload
from measure.interval_drill.line import Lines, Trial, decided, line
from measure.interval_drill.loads import A_DAY, FLAT, LOADS, Loads
from measure.interval_drill.populations import shaped
from river import START_S

POOLS = 1000
BASE_S = 300


@dataclass(frozen=True)
class Event:
    """One disruption of so many windows; cost and pass rate vary from window to window, and with the load.

    Without `loads` every window has as many requests. `lost`: of the requests that it lost instead of what it cost.
    """

    windows: int
    baseline: int = 24
    requests: int = 200
    pass_rate: float = 0.9
    spread: float = 0.03
    cost_spread: float = 0.1
    label_rate: float = 1.0
    loads: Loads | None = None
    lost: bool = False
    pools: int | None = None
    dearer: float = 1.0  # what replicas cost from the event on, of what they did
    has_effect: bool = True

    @property
    def name(self) -> str:
        """In words."""
        labels = "" if self.label_rate == 1 else f", labels {100 * self.label_rate:g} %"
        of = "lost" if self.lost else "excess"
        loads = "" if self.loads is None else f", {self.loads.name}"
        dearer = "" if self.dearer == 1 else f", {100 * (self.dearer - 1):g} % dearer"
        effect = "" if self.has_effect else ", no effect"
        return f"{of}, {self.windows} windows beside {self.baseline}{labels}{loads}{dearer}{effect}"

    def run(self, seed: int) -> Trial:
        """Intervals of what each event cost beyond its accepted requests at the true cost of such loads."""
        random = np.random.default_rng(seed)
        shape = (self.pools or POOLS, self.baseline + self.windows + (2 if self.loads is None else 0))
        place = np.broadcast_to(np.arange(shape[1]), shape) - self.baseline
        inside = (place >= 0) & (place < self.windows)
        usual = self.loads or FLAT
        begun = random.uniform(0, 24, (shape[0], 1))
        load = np.full(shape, self.requests) if self.loads is None else usual.arrivals(random, begun + place / 12)
        passes = usual.passes(load, self.pass_rate)
        rate = np.clip(random.normal(np.where(inside & self.has_effect, passes - 0.3, passes), self.spread), 0, 1)
        passing = random.binomial(load, rate)
        cost = usual.cost_usd(load) * np.where(inside & self.has_effect, 1.4, 1.0)
        cost *= random.lognormal(-(self.cost_spread**2) / 2, self.cost_spread, shape)
        price = np.where(place >= 0, self.dearer, 1.0)
        cost *= price
        labelled = random.binomial(load, self.label_rate)
        accepted = random.hypergeometric(passing, load - passing, labelled)
        found = self._measured(load, cost, price, labelled, accepted, inside=inside)
        steady = (load * passes * inside).sum(1)
        usual_price = (usual.cost_usd(load) * price * inside).sum(1) / steady
        accepted_in_all = (passing * inside).sum(1)
        truth = steady - accepted_in_all if self.lost else (cost * inside).sum(1) - accepted_in_all * usual_price
        names = LOST if self.lost else EXCESS
        low, high, point = (found[name].fill_null(np.nan).to_numpy() for name in names)
        told = ~np.isnan(point)
        if self.loads is not None:  # the others have no interval, and say why
            assert set(found["no_interval"].filter(pl.Series(~told))) <= {"load_unmatched", "few_windows"}
            low, high, point, truth = (of[told] for of in (low, high, point, truth))
        return Trial(low, high, point, truth)

    def _measured(
        self,
        load: np.ndarray,
        cost: np.ndarray,
        price: np.ndarray,
        labelled: np.ndarray,
        accepted: np.ndarray,
        *,
        inside: np.ndarray,
    ) -> pl.DataFrame:
        settings = Settings(
            workloads={"qa": Workload(quality=Quality())},
            disruptions=Disruptions(cap_s=max(1200.0, self.windows * BASE_S)),
        )
        batch = Batch(DISRUPTIONS, Lake(Path("none")), settings, {ALL: ""})
        start = START_S + np.broadcast_to(np.arange(cost.shape[1]) - self.baseline, cost.shape) * BASE_S
        pool = np.char.add("p", np.broadcast_to(np.arange(len(cost))[:, None], cost.shape).astype(str))
        share = np.divide(accepted, labelled, out=np.ones(cost.shape), where=labelled > 0)
        rows = pl.DataFrame(
            {
                "window_start": start.ravel(),
                "pool": pool.ravel(),
                "cost_usd": cost.ravel(),
                "own_usd": cost.ravel(),
                "gpu_s": (BASE_S * cost / price).ravel(),
                "labelled": labelled.ravel(),
                "accepted": accepted.ravel(),
                "rejected": (labelled - accepted).ravel(),
                "unlabelled": (load - labelled).ravel(),
                "goodput_rps": (share * load / BASE_S).ravel(),
                **{name: load.ravel() for name in ("need_label", "arrivals", "offered")},
                "cached_input_tokens": np.where(inside, 100, 600).ravel(),
            }
        ).with_columns(
            pl.from_epoch("window_start").dt.cast_time_unit("us").dt.replace_time_zone("UTC"),
            window_s=pl.lit(BASE_S),
            slice=pl.lit("pool"),
            p95_ttft_s=pl.lit(1.0),
            partial=pl.lit(False),
            observed_s=pl.lit(float(BASE_S)),
            input_tokens=pl.lit(1000),
            pool_usd=pl.lit(0.0),
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
            "paid_time": rows,
        }
        with connect() as connection:
            for name, table in tables.items():
                connection.register(name, shaped(name, table))
            (row,) = options(Context(batch.lake, settings), batch).to_pylist()
            connection.register("disruption_options", as_rows("disruption_options", {**row, **asked, **observed}))
            connection.register("disruption_caps", caps(settings))
            connection.register("workload_rules", workload_rows(settings))
            found = pl.DataFrame(disrupt(connection, batch))
        return found.sort(pl.col("event_id").str.slice(1).cast(pl.Int64))


EXCESS = ("excess_cost_ci_low_usd", "excess_cost_ci_high_usd", "excess_cost_usd")
LOST = ("lost_accepted_ci_low", "lost_accepted_ci_high", "lost_accepted")
WEEK_POOLS = 250  # of 2,016 windows each, drawn four times over
BY_LOAD = (
    *(Event(4, baseline=7 * A_DAY, loads=loads, cost_spread=0.02, pools=WEEK_POOLS) for loads in LOADS),
    *(Event(4, baseline=7 * A_DAY, loads=loads, pools=WEEK_POOLS, lost=True) for loads in LOADS[2:]),
    Event(36, baseline=3 * A_DAY, loads=LOADS[2], cost_spread=0.02, pools=WEEK_POOLS),
    Event(1, baseline=A_DAY, loads=LOADS[0], cost_spread=0.02, label_rate=0.3),
    Event(4, baseline=A_DAY // 2, loads=LOADS[2], cost_spread=0.02),
    Event(4, baseline=24, loads=LOADS[0], cost_spread=0.02),
    Event(3, baseline=24, loads=LOADS[1], lost=True),
    Event(2, baseline=8, loads=Loads("hardly varying load", lowest=1), cost_spread=0.02),
)
SCENARIOS = (
    *(Event(windows) for windows in (1, 2, 3, 4)),
    Event(2, label_rate=0.3),
    Event(3, label_rate=0.01),
    Event(2, baseline=12, cost_spread=0.3),
    Event(2, baseline=4),
    Event(2, dearer=1.2),
    Event(2, dearer=1.2, has_effect=False),
)


def lines() -> Lines:
    """Every scenario."""
    for number, event in enumerate(SCENARIOS):
        yield line("disruptions", event.name, event.run(5000 + 2 * number), event.run(5001 + 2 * number))
    for number, event in enumerate(BY_LOAD):
        yield from decided(partial(_by_load, event), 5500 + 2 * number)


def _by_load(event: Event, seed: int) -> Lines:
    yield line("disruptions", event.name, event.run(seed), event.run(seed + 1))
