"""`goodput compare` of two sides whose truth is known, a thousand times over: how often its intervals hold that."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
from scipy.stats import t

from goodput.ask.verdict import undecided_among
from goodput.contracts import contract_names
from goodput.plumbing.graph import closure
from goodput.plumbing.parameters import PARAMETERS
from goodput.plumbing.sql_files import compute, connect
from measure.interval_drill.compared_answers import INTERVALS, METRICS, SHOWN, SLICES
from measure.interval_drill.line import HELD, Line, Lines, exact_interval
from measure.interval_drill.populations import Cell, population, shaped
from river import START_S

RUNS = 1000
WINDOW_S = 300
USD_PER_TOKEN = 1e-5
MEAN_TOKENS = float(np.exp(5 + 0.8**2 / 2)) + 0.5  # of `populations`, rounded up


@dataclass(frozen=True)
class Compared:
    """Two sides, of the same cells unless side B has others, over so many base windows."""

    name: str
    cells: Sequence[Cell]
    other: Sequence[Cell] | None = None
    windows: int = 12
    few_failures: bool = False  # so few that an exact interval of the counts is the measure
    alike: float = 0.0  # correlation of what happens to both sides in one window, of cells that have a `spread`
    later: int = 0  # windows before side B begins: the last of A's are the first of B's
    idle: float = 0.0  # what idle time of the pool that serves both sides costs beside what the sides do

    @property
    def sides(self) -> Mapping[str, Sequence[Cell]]:
        """Cells of both sides."""
        return {"A": self.cells, "B": self.cells if self.other is None else self.other}

    def run(self, seed: int) -> Lines:
        """How often each metric's interval of B - A holds the truth.

        Of equal sides also how often no slice differs, and how often the verdict finds nothing.
        """
        calibration, _, _ = self.intervals(seed + 5)
        test, slices, shown = self.intervals(seed)
        for metric, found in test.items():
            truth = self.truth(metric)
            slack = 1e-9 * abs(truth)
            held = int(((found["low"] <= truth + slack) & (found["high"] >= truth - slack)).sum())
            valid = self.valid_width(calibration[metric]["value"].to_numpy() - truth)
            if self.few_failures and metric != "cost_per_accepted_usd":
                valid = self.exact_width(seed)
            yield Line("compare", f"{metric}: {self.name}", held, found.height, _width(found), valid)
        if self.other is None:
            held = int((slices["different"] == 0).sum())
            width = float(slices["width"].to_numpy().mean())
            yield Line("compare", f"no slice: {self.name}", held, slices.height, width, None, (HELD[0], 1.0))
            asked = shown.join(slices.select("run", "slices"), "run").drop("run").rows()
            held = sum(undecided_among(questions) == len(questions) for questions in asked)
            yield Line("compare", f"verdict: {self.name}", held, len(asked), width, None, (HELD[0], 1.0))

    def intervals(self, seed: int) -> tuple[dict[str, pl.DataFrame], pl.DataFrame, pl.DataFrame]:
        """Each metric's interval of B - A, one row a run; how many slices differ in each; how sure differences are."""
        with connect() as connection:
            rows = self.side_rows(seed)
            beside = [self.idle_rows(rows, seed)] if self.idle else []
            register(connection, pl.concat([rows, *beside], how="diagonal_relaxed"), self.windows + self.later)
            for name in closure(["compared_ratios", "compared_costs", "compared_shared"], contract_names()):
                compute(connection, name)
            asked = {metric: INTERVALS.format(metric=metric, relation=relation) for metric, relation in METRICS.items()}
            found = {metric: connection.sql(text).pl() for metric, text in asked.items()}
            return found, connection.sql(SLICES).pl(), connection.sql(SHOWN).pl()

    def valid_width(self, errors: np.ndarray) -> float:
        """Width of an interval that just holds, where the spread is known from as many windows and no better.

        Sides that lie in the same windows show as many differences; else each side has windows of its own.
        """
        df = (self.windows - 1) * (2 if self.later else 1)
        spread = np.sqrt(np.random.default_rng(1).chisquare(df, 100_000) / df).mean()
        return float(2 * np.quantile(np.abs(errors), 0.95) * spread * t.ppf(0.975, df) / 1.96)

    def exact_width(self, seed: int) -> float:
        """Mean width from exact (Clopper and Pearson's) intervals of both sides' labels, distances in quadrature."""
        counts = (
            self.side_rows(seed)
            .filter(pl.col("pass_quality").is_not_null())
            .group_by(side=pl.col("side").str.head(1), run=pl.col("side").str.tail(-1))
            .agg(pl.len(), passed=pl.col("pass_quality").sum())
        )
        ends = [exact_interval(passed, drawn) for drawn, passed in counts.select("len", "passed").iter_rows()]
        share = counts["passed"] / counts["len"]
        arms = counts.with_columns(
            below=share - pl.Series([low for low, _ in ends]), above=pl.Series([high for _, high in ends]) - share
        )
        a, b = (arms.filter(side=side).sort("run") for side in "AB")
        widths = (a["above"] ** 2 + b["below"] ** 2).sqrt() + (a["below"] ** 2 + b["above"] ** 2).sqrt()
        return float(widths.to_numpy().mean())

    def truth(self, metric: str) -> float:
        """B - A, of windows like these without end."""
        mix = [cell for cells in self.sides.values() for cell in cells]
        a, b = (_true(metric, cells, mix) for cells in self.sides.values())
        loaded = 1 + self.idle if metric == "cost_per_accepted_usd" else 1.0
        return loaded * (b - a)

    def side_rows(self, seed: int) -> pl.DataFrame:
        """Requests of both sides of every comparison, in the same windows but for those before side B begins."""
        fates = self.fates(seed + 8)
        frames = []
        for offset, (side, cells) in enumerate(self.sides.items()):
            drawn = population(seed + offset, RUNS * self.windows, WINDOW_S, cells, fates[side] if self.alike else None)
            run, window = np.divmod(drawn.window, self.windows)
            window += self.later * offset
            ended = pl.from_epoch(pl.Series(START_S + window * WINDOW_S + 1)).dt.cast_time_unit("us")
            lengths = np.random.default_rng(seed + offset).geometric(0.01, drawn.tokens.size)
            frames.append(
                pl.DataFrame(drawn.requests).with_columns(
                    side=pl.concat_str(pl.lit(side), pl.Series(run).cast(pl.String)),
                    request_key=pl.concat_str(pl.lit(side), "request_key"),
                    # and a pool of its own, whose idle time both sides carry by what they did
                    pool=pl.concat_str(pl.lit("p"), pl.Series(run).cast(pl.String)),
                    # what both sides share is compared: each comparison has workloads of its own
                    workload=pl.concat_str("workload", pl.Series(run).cast(pl.String)),
                    ended_at=ended.dt.replace_time_zone("UTC"),
                    cost_usd=pl.Series(drawn.tokens * USD_PER_TOKEN),
                    input_tokens=pl.Series(lengths),
                    bucket=pl.lit(None, pl.String),
                )
            )
        return pl.concat(frames)

    def fates(self, seed: int) -> dict[str, np.ndarray]:
        """A normal variable for each window of each side, correlated where both lie in it."""
        common, a, b = np.random.default_rng(seed).standard_normal((3, RUNS, self.windows))
        own = np.random.default_rng(seed + 1).standard_normal((RUNS, self.later))
        common_b = np.concatenate([common[:, self.later :], own], axis=1)
        share = abs(self.alike)
        of_a = np.sqrt(share) * common + np.sqrt(1 - share) * a
        of_b = np.sign(self.alike) * np.sqrt(share) * common_b + np.sqrt(1 - share) * b
        return {"A": of_a.ravel(), "B": of_b.ravel()}

    def idle_rows(self, side_rows: pl.DataFrame, seed: int) -> pl.DataFrame:
        """Idle time of each pool and window: on average so much beside what was done in all of them."""
        done = side_rows.group_by("pool").agg(usd=pl.col("cost_usd").sum() / self.windows).sort("pool")
        start = pl.DataFrame({"ended_at": side_rows["ended_at"].unique().sort()})
        rows = done.join(start, how="cross")
        varied = np.random.default_rng(seed + 9).gamma(10, 1 / 10, rows.height)
        return rows.select(
            "pool",
            "ended_at",
            bucket=pl.lit("idle"),
            is_known=pl.lit(False),
            cost_usd=pl.col("usd") * self.idle * pl.Series(varied),
        )


def _true(metric: str, cells: Sequence[Cell], mix: Sequence[Cell]) -> float:
    good = sum(cell.requests * cell.pass_rate for cell in cells)
    if metric == "goodput_ratio":
        return good / sum(cell.requests for cell in cells)
    if metric == "cost_per_accepted_usd":
        tokens = sum(cell.requests * (cell.pass_rate + (1 - cell.pass_rate) * cell.tokens_if_failed) for cell in cells)
        return tokens * MEAN_TOKENS * USD_PER_TOKEN / good
    rates = {cell.workload: cell.pass_rate for cell in cells}
    return sum(cell.requests * rates[cell.workload] for cell in mix) / sum(cell.requests for cell in mix)


def _width(found: pl.DataFrame) -> float:
    return float((found["high"] - found["low"]).to_numpy().mean())


def register(connection: duckdb.DuckDBPyConnection, side_rows: pl.DataFrame, windows: int) -> None:
    """Give a connection the rows of both sides and the windows in which there was telemetry."""
    connection.register("side_rows", shaped_as(side_rows, PARAMETERS["side_rows"].schema))
    sides = side_rows.select("side").drop_nulls().unique().with_columns(is_bounded=False)
    connection.register("side_spans", shaped_as(sides, PARAMETERS["side_spans"].schema))
    start = pl.Series(START_S + np.arange(windows) * WINDOW_S)
    overall = pl.DataFrame({"window_start": start}).select(
        pl.from_epoch("window_start").dt.cast_time_unit("us").dt.replace_time_zone("UTC"),
        window_s=pl.lit(WINDOW_S),
        slice=pl.lit("overall"),
    )
    connection.register("goodput", shaped("goodput", overall))
    served = side_rows.filter(pl.col("bucket").is_null()).select("request_key", "pool", gpu_s="cost_usd")
    connection.register("cost_ledger", shaped("cost_ledger", served))


def shaped_as(rows: pl.DataFrame, schema: pa.Schema) -> pa.Table:
    """Rows with the columns of a schema."""
    given = rows.to_arrow()
    names = set(given.column_names)
    return pa.table(
        {f.name: given[f.name].cast(f.type) if f.name in names else pa.nulls(given.num_rows, f.type) for f in schema}
    )
