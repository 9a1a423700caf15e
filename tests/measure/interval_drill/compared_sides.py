"""Scenarios of `goodput compare`: two sides with the same truth, or another one, compared a thousand times."""

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa

from goodput.plumbing.contracts import contract_names
from goodput.plumbing.graph import closure
from goodput.plumbing.parameters import PARAMETERS
from goodput.plumbing.sql_files import compute, connect
from measure.interval_drill.line import HELD, Line, Lines
from measure.interval_drill.populations import Cell, population, shaped
from river import START_S

RUNS = 1000
WINDOW_S = 300
AT_MOST = 0.07  # of comparisons of a side with itself that may find a difference, or a slice that differs
USD_PER_TOKEN = 1e-5
MEAN_TOKENS = float(np.exp(5 + 0.8**2 / 2)) + 0.5  # of `populations`, rounded up
METRICS = ("quality_ratio", "goodput_ratio", "cost_per_accepted_usd")

_INTERVALS = """
    SELECT substr(a.side, 2)::INTEGER AS run, '{metric}' AS metric,
        estimates_apart(a.{metric}, b.{metric}, student_beyond(welch_df(a.{metric}, b.{metric}), 0.025)) AS apart
    FROM (FROM {relation} WHERE starts_with(side, 'A')) AS a
    JOIN (FROM {relation} WHERE starts_with(side, 'B')) AS b ON substr(a.side, 2) = substr(b.side, 2)
    WHERE a.{metric} IS NOT NULL AND b.{metric} IS NOT NULL
"""
_SLICES = """
    WITH metrics AS (
        SELECT side[1] AS side, side[2:]::INTEGER AS run, dimension, place, unnest([
            {metric: 'quality', estimate: quality_ratio}, {metric: 'goodput', estimate: goodput_ratio}], max_depth := 2)
        FROM compared_ratios WHERE dimension <> 'all'
    ),
    paired AS (
        SELECT run, a.estimate AS a, b.estimate AS b, 0.025 / count(*) OVER (PARTITION BY run) AS tail
        FROM (FROM metrics WHERE side = 'A') AS a JOIN (FROM metrics WHERE side = 'B') AS b USING (run, dimension, place, metric)
        WHERE a.estimate IS NOT NULL AND b.estimate IS NOT NULL
    ),
    apart AS (SELECT run, estimates_apart(a, b, student_beyond(welch_df(a, b), tail)) AS apart FROM paired)
    SELECT run, count_if(apart.low > 0 OR apart.high < 0) AS different, max(apart.high - apart.low) AS width
    FROM apart GROUP BY run
"""


@dataclass(frozen=True)
class Compared:
    """Two sides, of the same cells unless side B has others, over so many base windows."""

    name: str
    cells: Sequence[Cell]
    other: Sequence[Cell] | None = None
    windows: int = 12

    @property
    def sides(self) -> dict[str, Sequence[Cell]]:
        """Cells of both sides."""
        return {"A": self.cells, "B": self.cells if self.other is None else self.other}

    def truth(self, metric: str) -> float:
        """B - A, of windows like these without end."""
        mix = [cell for cells in self.sides.values() for cell in cells]
        a, b = (_true(metric, cells, mix) for cells in self.sides.values())
        return b - a

    def run(self, seed: int) -> Lines:
        """How often each metric's interval of B - A holds the truth, and, of equal sides, how often any slice differs."""
        with connect() as connection:
            register(connection, self.side_rows(seed), self.windows)
            for name in closure(["compared_ratios", "compared_costs"], contract_names()):
                compute(connection, name)
            for metric in METRICS:
                yield self._line(connection, metric)
            if self.other is None:
                slices = connection.sql(_SLICES).pl()
                held = int((slices["different"] == 0).sum())
                name = f"no slice differs: {self.name}"
                yield Line("compare", name, held, slices.height, _mean(slices["width"]), None, (HELD[0], 1.0))

    def _line(self, connection: duckdb.DuckDBPyConnection, metric: str) -> Line:
        relation = "compared_costs" if metric == "cost_per_accepted_usd" else "compared_ratios"
        if relation == "compared_ratios":
            relation = "(FROM compared_ratios WHERE dimension = 'all')"
        found = connection.sql(_INTERVALS.format(metric=metric, relation=relation)).pl().unnest("apart")
        truth = self.truth(metric)
        slack = 1e-9 * abs(truth)
        held = int(((found["low"] <= truth + slack) & (found["high"] >= truth - slack)).sum())
        valid = 2 * float(np.quantile(np.abs(found["value"].to_numpy() - truth), 0.95))
        return Line("compare", f"{metric}: {self.name}", held, found.height, _mean(found["high"] - found["low"]), valid)

    def side_rows(self, seed: int) -> pl.DataFrame:
        """Requests of both sides of every comparison, all in the same windows."""
        frames = []
        for offset, (side, cells) in enumerate(self.sides.items()):
            drawn = population(seed + offset, RUNS * self.windows, WINDOW_S, cells)
            run, window = np.divmod(drawn.window, self.windows)
            ended = pl.from_epoch(pl.Series(START_S + window * WINDOW_S + 1)).dt.cast_time_unit("us")
            frames.append(
                pl.DataFrame(drawn.requests).with_columns(
                    side=pl.concat_str(pl.lit(side), pl.Series(run).cast(pl.String)),
                    ended_at=ended.dt.replace_time_zone("UTC"),
                    cost_usd=pl.Series(drawn.tokens * USD_PER_TOKEN),
                    input_tokens=pl.Series(np.random.default_rng(seed + offset + 2).geometric(0.01, drawn.tokens.size)),
                    bucket=pl.lit(None, pl.String),
                )
            )
        return pl.concat(frames)


def _true(metric: str, cells: Sequence[Cell], mix: Sequence[Cell]) -> float:
    good = sum(cell.requests * cell.pass_rate for cell in cells)
    if metric == "goodput_ratio":
        return good / sum(cell.requests for cell in cells)
    if metric == "cost_per_accepted_usd":
        tokens = sum(cell.requests * (cell.pass_rate + (1 - cell.pass_rate) * cell.tokens_if_failed) for cell in cells)
        return tokens * MEAN_TOKENS * USD_PER_TOKEN / good
    rates = {cell.workload: cell.pass_rate for cell in cells}
    return sum(cell.requests * rates[cell.workload] for cell in mix) / sum(cell.requests for cell in mix)


def _mean(values: pl.Series) -> float:
    return float(values.to_numpy().mean())


def register(connection: duckdb.DuckDBPyConnection, side_rows: pl.DataFrame, windows: int) -> None:
    """Give a connection the rows of both sides and the windows in which there was telemetry."""
    connection.register("side_rows", shaped_as(side_rows, PARAMETERS["side_rows"].schema))
    start = pl.Series(START_S + np.arange(windows) * WINDOW_S)
    overall = pl.DataFrame({"window_start": start}).select(
        pl.from_epoch("window_start").dt.cast_time_unit("us").dt.replace_time_zone("UTC"),
        window_s=pl.lit(WINDOW_S),
        slice=pl.lit("overall"),
    )
    connection.register("goodput", shaped("goodput", overall))
    connection.register("cost_ledger", shaped("cost_ledger", pl.DataFrame()))


def shaped_as(rows: pl.DataFrame, schema: pa.Schema) -> pa.Table:
    """Rows with the columns of a schema."""
    given = rows.to_arrow()
    names = set(given.column_names)
    return pa.table(
        {f.name: given[f.name].cast(f.type) if f.name in names else pa.nulls(given.num_rows, f.type) for f in schema}
    )


def _workloads(
    label_rates: tuple[float, float, float], pass_rates: tuple[float, float, float] = (0.97, 0.85, 0.6)
) -> list[Cell]:
    return [
        Cell(40, pass_rate, label_rate, workload=name)
        for name, pass_rate, label_rate in zip("abc", pass_rates, label_rates, strict=True)
    ]


SCENARIOS = (
    Compared("random labels 30 %", [Cell(50, 0.85, 0.3)]),
    Compared("sessions alike, all labelled", [Cell(50, 0.85, 1.0, session=5)]),
    Compared("sessions alike, labels by session 30 %", [Cell(50, 0.85, 0.3, session=5, by_session=True)]),
    Compared("windows alike, all labelled", [Cell(50, 0.85, 1.0, spread=0.1)]),
    Compared("windows and sessions alike, 30 %", [Cell(50, 0.85, 0.3, session=5, spread=0.1)]),
    Compared("three workloads of other rates, labels 60, 20, 5 %", _workloads((0.6, 0.2, 0.05))),
    Compared(
        "two workloads, labels by the other's rate",
        [Cell(40, 0.95, 0.5, workload="a"), Cell(40, 0.6, 0.05, workload="b")],
        [Cell(40, 0.95, 0.05, workload="a"), Cell(40, 0.6, 0.5, workload="b")],
    ),
    Compared(
        "two workloads in another mix",
        [Cell(40, 0.95, 0.3, workload="a"), Cell(20, 0.6, 0.3, workload="b")],
        [Cell(20, 0.95, 0.3, workload="a"), Cell(40, 0.6, 0.3, workload="b")],
    ),
    Compared("failures cost three times as much, 30 %", [Cell(50, 0.85, 0.3, tokens_if_failed=3)]),
    Compared("hardly any failure, 10 %", [Cell(50, 0.99, 0.1)]),
    Compared("3 windows, 30 %", [Cell(100, 0.85, 0.3)], windows=3),
    Compared("3 windows alike, all labelled", [Cell(100, 0.85, 1.0, spread=0.1)], windows=3),
    Compared("4 windows, sessions alike, 30 %", [Cell(100, 0.85, 0.3, session=5)], windows=4),
    Compared("6 windows, 30 %", [Cell(100, 0.85, 0.3)], windows=6),
    Compared("6 windows alike, 30 %", [Cell(100, 0.85, 0.3, spread=0.1)], windows=6),
    Compared("B passes 7 % less, 30 %", [Cell(50, 0.85, 0.3)], [Cell(50, 0.78, 0.3)]),
    Compared(
        "B passes less and failures cost more, windows alike",
        [Cell(50, 0.85, 0.3, spread=0.1, tokens_if_failed=3)],
        [Cell(50, 0.7, 0.3, spread=0.1, tokens_if_failed=3)],
    ),
    Compared(
        "B is worse in one of three workloads",
        _workloads((0.6, 0.2, 0.1)),
        _workloads((0.3, 0.3, 0.3), (0.97, 0.7, 0.6)),
    ),
)


def lines() -> Lines:
    """Every scenario."""
    for number, scenario in enumerate(SCENARIOS):
        yield from scenario.run(7000 + 10 * number)
