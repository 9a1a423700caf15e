"""Scenarios of `quality`, divided cost in `waste`, `wasted_ratio` and price: every outcome and cost is known."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from goodput.contracts import arrow_schema
from goodput.join.workloads import workload_rows
from goodput.measure.cost_ledger import ledger_options
from goodput.measure.nodes import QUALITY, WASTE
from goodput.measure.slices import SETTINGS_TABLES
from goodput.plumbing.parameters import as_rows
from goodput.plumbing.sql_files import compute, connect
from goodput.settings.model import Quality, Settings, Slices, Workload
from measure.interval_drill.goodput_windows import KISH, Run, Scenario
from measure.interval_drill.line import WIDER, WIDER_TOKENS, Lines, Trial, decided, line
from measure.interval_drill.populations import Cell, Population, population, shaped
from measure.interval_drill.revised_labels import after_revision
from river import ALL_TIME, START_S, Parts, Stretch, at_ns, measure

WINDOWS = 1000
WINDOW_S = 300
USD_PER_TOKEN = 1e-4


@dataclass(frozen=True)
class Judged:
    """What each window holds, and how its labels are declared to be drawn."""

    name: str
    cells: Sequence[Cell]
    sampling: Literal["random", "session", "none"] = "random"
    bound: bool = False
    revised: float = 0.0  # share of the labels that said the opposite at first
    wasted: bool = False  # the share of wasted cost and the price in `goodput` as well

    def run(self, seed: int) -> dict[str, Trial]:
        """Intervals of the share of answers that pass, of what accepted ones cost, of wasted cost, of prices."""
        drawn = population(seed, WINDOWS, WINDOW_S, self.cells)
        named = {cell.workload: Workload(quality=Quality(sampling=self.sampling)) for cell in self.cells}
        settings = Settings(
            workloads=named, slices=Slices(by=["tenant"] if any(cell.tenant for cell in self.cells) else [])
        )
        if self.revised:
            drawn = replace(drawn, requests=after_revision(drawn.requests, settings, self.revised, seed))
        tables = {
            "requests": drawn.requests,
            "quality_labels": arrow_schema("quality_labels").empty_table(),
            "cost_ledger": _ledger(drawn),
            "grains": as_rows("grains", {"window_s": WINDOW_S}),
            "measured_range": as_rows("measured_range", ALL_TIME),
            "partition_size": as_rows("partition_size", {"rows": 0}),
            "size_options": as_rows("size_options", {"max_exact_requests": 1}),
            "workload_rules": workload_rows(settings),
            "ledger_options": ledger_options(settings),
            **{name: given(settings) for name, given in SETTINGS_TABLES.items()},
        }
        with connect() as connection:
            for name, table in tables.items():
                connection.register(name, table)
            for relation in (*QUALITY.relations, *WASTE.relations):
                compute(connection, relation)
            said = pl.DataFrame(connection.sql("FROM quality WHERE evaluator IS NULL").to_arrow_table())
            waste = connection.sql("FROM waste").to_arrow_table()
        spent = pl.DataFrame(waste).filter(slice="overall", bucket="accepted")
        found = {"waste": self._costs(drawn, spent)}
        if len(named) == 1:
            found["quality"] = self._shares(drawn, said)
        for name, slice_, column in (("route", "workload_route", "route"), ("tenant", "tenant", "slice_value")):
            if len({getattr(cell, name) for cell in self.cells}) > 1:
                rows = pl.DataFrame(waste).filter(slice=slice_, bucket="accepted")
                found[f"waste of a {name}"] = self._by_slice(
                    drawn, rows, column, [getattr(cell, name) for cell in self.cells]
                )
        if self.wasted:
            goodput = _goodput(settings, drawn.requests, waste)
            found["wasted_ratio"] = self._wasted(drawn, goodput)
            found["price"] = self._prices(drawn, goodput)
        return found

    def _shares(self, drawn: Population, said: pl.DataFrame) -> Trial:
        found = said.sort("window_start")
        at = _number(found)
        each = sum(cell.requests for cell in self.cells)
        truth = drawn.truth(WINDOWS)[at] / each
        low, high = (ends[at] / each for ends in self._exact(drawn, 1.0))
        return Trial(
            *_columns(found, "pass_ci_low_ratio", "pass_ci_high_ratio", "pass_ratio"), truth, exact=(low, high)
        )

    def _costs(self, drawn: Population, spent: pl.DataFrame) -> Trial:
        found = spent.sort("window_start")
        at = _number(found)
        truth = drawn.token_truth(WINDOWS)[at] * USD_PER_TOKEN
        scale = float(drawn.tokens.sum()) / WINDOWS * USD_PER_TOKEN
        columns = _columns(found, "ci_low_usd", "ci_high_usd", "usd")
        if any(cell.tokens_if_failed != 1 for cell in self.cells):
            return Trial(*columns, truth, scale)
        mean = float(drawn.tokens.mean()) * USD_PER_TOKEN
        low, high = (ends[at] * mean for ends in self._exact(drawn, KISH))
        return Trial(*columns, truth, scale, (low, high))

    @staticmethod
    def _wasted(drawn: Population, found: pl.DataFrame) -> Trial:
        cost = np.bincount(drawn.window, weights=drawn.tokens, minlength=WINDOWS)
        truth = 1 - drawn.token_truth(WINDOWS) / cost
        return Trial(*_columns(found, "wasted_ci_low_ratio", "wasted_ci_high_ratio", "wasted_ratio"), truth)

    @staticmethod
    def _by_slice(drawn: Population, spent: pl.DataFrame, column: str, of_cells: Sequence[str | None]) -> Trial:
        """Of every window what each route or tenant cost."""
        names = sorted({name for name in of_cells if name})
        of_row = np.array([names.index(name or "") for name in of_cells])[drawn.cell]
        usd = drawn.passed * drawn.tokens * USD_PER_TOKEN
        truth = np.bincount(drawn.window * len(names) + of_row, weights=usd, minlength=WINDOWS * len(names))
        found = spent.sort("window_start", column)
        at = _number(found) * len(names) + found[column].replace_strict(names, range(len(names))).to_numpy()
        scale = float(drawn.tokens.sum()) / WINDOWS / len(names) * USD_PER_TOKEN
        return Trial(*_columns(found, "ci_low_usd", "ci_high_usd", "usd"), truth[at], scale)

    @staticmethod
    def _prices(drawn: Population, found: pl.DataFrame) -> Trial:
        """What is spent is known to the cent: labels alone make a price unsure."""
        cost = np.bincount(drawn.window, weights=drawn.tokens, minlength=WINDOWS) * USD_PER_TOKEN
        price = "cost_per_accepted"
        columns = _columns(found, f"{price}_ci_low_usd", f"{price}_ci_high_usd", f"{price}_usd")
        return Trial(*columns, cost / drawn.truth(WINDOWS), float(cost.sum() / drawn.passed.sum()))

    def _exact(self, drawn: Population, unequal: float) -> tuple[np.ndarray, np.ndarray]:
        return Run(Scenario(self.name, self.cells, WINDOW_S, WINDOWS), drawn, pl.DataFrame()).exact(unequal)


def _number(found: pl.DataFrame) -> np.ndarray:
    """Which window each row is of."""
    start = found["window_start"].dt.epoch("s").to_numpy()
    return (start - start.min()) // WINDOW_S


def _columns(found: pl.DataFrame, *names: str) -> list[np.ndarray]:
    return [found[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in names]


def _goodput(settings: Settings, requests: pa.Table, waste: pa.Table) -> pl.DataFrame:
    """Windows of `goodput` with what was wasted, one a row."""
    with TemporaryDirectory() as folder:
        files = {name: str(Path(folder, f"{name}.parquet")) for name in ("requests", "waste")}
        pq.write_table(requests, files["requests"])
        pq.write_table(waste, files["waste"])
        stretch = Stretch(START_S, START_S + WINDOWS * WINDOW_S, (at_ns(-86400), at_ns(10**8)))
        parts = Parts([files["requests"]], waste=[files["waste"]])
        measured = measure(settings, parts, (WINDOW_S,), stretch).goodput
    return measured.filter(slice="overall").sort("window_start")


def _ledger(drawn: Population) -> pa.Table:
    """Every request bought for as much as its answer is long."""
    requests = pl.DataFrame(drawn.requests)
    rows = requests.select(
        window_start=(pl.col("ended_at").dt.epoch("s") // WINDOW_S * WINDOW_S * 1_000_000).cast(
            pl.Datetime("us", "UTC")
        ),
        window_s=pl.lit(WINDOW_S),
        attempt_id="request_key",
        request_key="request_key",
        bucket="verdict",
        basis=pl.lit("token_price"),
        workload="workload",
        model="model",
        pool="pool",
        route="route",
        usd=pl.Series(drawn.tokens * USD_PER_TOKEN),
        gpu_s=pl.lit(0.0),
        tokens=pl.Series(drawn.tokens),
        estimated=pl.lit(False),
        error_usd=pl.lit(0.0),
        common_error_usd=pl.lit(0.0),
    )
    return shaped("cost_ledger", rows)


def thin(workloads: int, cell: Cell, words: str) -> Judged:
    """As many workloads alike, whose failures cost more or less than what passes."""
    name = f"{workloads} workloads x n {cell.requests}, labels {100 * cell.label_rate:g} %, failures cost {words}"
    return Judged(name, [replace(cell, workload=f"w{i}") for i in range(workloads)], wasted=True)


SCENARIOS = (
    Judged("n 30, p 0.9, labels 30 %", [Cell(30, 0.9, 0.3)]),
    Judged("n 200, p 0.5, labels 30 %", [Cell(200, 0.5, 0.3)]),
    Judged("n 200, p 0.9, labels 10 %", [Cell(200, 0.9, 0.1)], wasted=True),
    Judged("n 600, p 0.999, labels 10 %", [Cell(600, 0.999, 0.1)]),
    Judged("n 200, p 0.8, labels 30 %, failures cost thrice", [Cell(200, 0.8, 0.3, tokens_if_failed=3.0)], wasted=True),
    Judged(
        "n 200, sessions of 5 alike, labels by session 30 %",
        [Cell(200, 0.8, 0.3, session=5, by_session=True)],
        "session",
    ),
    Judged("n 200, sessions of 5 alike, labels by request 30 %", [Cell(200, 0.8, 0.3, session=5)]),
    Judged("n 200, two routes, labels (0.6, 0.1)", [Cell(100, 0.6, 0.6), Cell(100, 0.95, 0.1, route="r2")]),
    Judged("n 400, two routes, one fails ten times as often", [Cell(200, 0.98, 0.3), Cell(200, 0.8, 0.3, route="r2")]),
    Judged(
        "n 400, two routes, labels (0.4, 0.1)",
        [Cell(200, 0.9, 0.4), Cell(200, 0.7, 0.1, route="r2", tokens_if_failed=2)],
    ),
    Judged("4 tenants x n 100, p 0.8, labels 30 %", [Cell(100, 0.8, 0.3, tenant=f"t{i}") for i in range(4)]),
    Judged("4 tenants x n 100, p 0.95 to 0.6", [Cell(100, p, 0.3, tenant=f"t{p}") for p in (0.95, 0.9, 0.8, 0.6)]),
    Judged("n 200, p 0.95, labels 30 %, failures cost thrice", [Cell(200, 0.95, 0.3, tokens_if_failed=3.0)]),
    Judged("n 600, p 0.9, labels 10 %, failures cost thrice", [Cell(600, 0.9, 0.1, tokens_if_failed=3.0)]),
    Judged(
        "n 200, p 0.8, labels 30 %, failures cost a third", [Cell(200, 0.8, 0.3, tokens_if_failed=1 / 3)], wasted=True
    ),
    Judged("n 200, windows alike, labels 30 %", [Cell(200, 0.85, 0.3, spread=0.1)]),
    Judged("n 200, all labelled", [Cell(200, 0.9, 1.0)]),
    Judged("n 200, p 0.8, labels 30 %, 3 of 10 revised", [Cell(200, 0.8, 0.3)], revised=0.3),
    Judged("n 200, failures judged 3 x as often, sampling none", [Cell(200, 0.8, 0.1, bias=3)], "none", bound=True),
    thin(8, Cell(40, 0.6, 0.1, tokens_if_failed=3), "thrice"),
    thin(8, Cell(40, 0.6, 0.1, tokens_if_failed=1 / 3), "a third"),
    thin(20, Cell(20, 0.9, 0.3, tokens_if_failed=3), "thrice"),
    Judged(
        "8 routes x n 40, labels 10 or 20 %, failures cost thrice",
        [Cell(40, 0.6, 0.1 + 0.1 * (i % 2), route=f"r{i}", tokens_if_failed=3.0) for i in range(8)],
    ),
)


def lines() -> Lines:
    """Every scenario of both relations."""
    for number, judged in enumerate(SCENARIOS):
        yield from decided(partial(_lines, judged), 8000 + 2 * number)


def _lines(judged: Judged, seed: int) -> Lines:
    calibration, test = judged.run(seed), judged.run(seed + 1)
    for name, held in test.items():
        widest = WIDER if name == "quality" else WIDER_TOKENS
        yield line(name, judged.name, calibration[name], held, bound=judged.bound, widest=widest)
