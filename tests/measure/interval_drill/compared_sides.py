"""Scenarios of `goodput compare`: two sides with the same truth, or none, compared hundreds of times."""

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
from measure.interval_drill.line import Line, Lines
from measure.interval_drill.populations import Cell, population, shaped
from river import START_S

RUNS = 500
WINDOW_S = 300
AT_MOST = 0.07  # of comparisons of a side with itself that may find a difference


@dataclass(frozen=True)
class Same:
    """Two sides of the same cells, over so many base windows."""

    name: str
    cells: Sequence[Cell]
    other: Sequence[Cell] | None = None  # of side B, where its mix or labels differ
    windows: int = 12

    def run(self, seed: int, metric: str) -> Line:
        """How often the interval of B - A of a metric holds 0."""
        with connect() as connection:
            register(connection, self.side_rows(seed), self.windows)
            for name in closure(["compared_sides"], contract_names()):
                compute(connection, name)
            apart = connection.sql(
                f"""SELECT difference(a.{metric}, b.{metric}) AS d FROM compared_sides AS a JOIN compared_sides AS b
                ON a.side LIKE 'A%' AND b.side = 'B' || substr(a.side, 2)"""
            ).to_arrow_table()
        found = pl.DataFrame(apart).unnest("d")
        held = int(((found["low"] <= 0) & (found["high"] >= 0)).sum())
        valid = 2 * float(np.quantile(np.abs(found["value"].to_numpy()), 0.95))
        width = float((found["high"] - found["low"]).mean())  # type: ignore[arg-type, operator]
        return Line("compare", f"{metric}: {self.name}", held, found.height, width, valid)

    def side_rows(self, seed: int) -> pl.DataFrame:
        """Requests of both sides of every comparison, all in the same windows."""
        sides = {"A": self.cells, "B": self.cells if self.other is None else self.other}
        frames = []
        for offset, (side, cells) in enumerate(sides.items()):
            drawn = population(seed + offset, RUNS * self.windows, WINDOW_S, cells)
            run, window = np.divmod(drawn.window, self.windows)
            ended = pl.from_epoch(pl.Series(START_S + window * WINDOW_S + 1)).dt.cast_time_unit("us")
            frames.append(
                pl.DataFrame(drawn.requests).with_columns(
                    side=pl.concat_str(pl.lit(side), pl.Series(run).cast(pl.String)),
                    ended_at=ended.dt.replace_time_zone("UTC"),
                    cost_usd=pl.lit(0.01),
                    input_tokens=pl.Series(drawn.tokens).cast(pl.Int64),
                    bucket=pl.lit(None, pl.String),
                )
            )
        return pl.concat(frames)


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


def shaped_as(rows: pl.DataFrame, schema: pa.Schema) -> pa.Table:
    """Rows with the columns of a schema."""
    given = rows.to_arrow()
    names = set(given.column_names)
    return pa.table(
        {f.name: given[f.name].cast(f.type) if f.name in names else pa.nulls(given.num_rows, f.type) for f in schema}
    )


SCENARIOS = (
    Same("random labels 30 %", [Cell(50, 0.85, 0.3)]),
    Same("sessions alike, all labelled", [Cell(50, 0.85, 1.0, session=5)]),
    Same("sessions alike, labels by session 30 %", [Cell(50, 0.85, 0.3, session=5, by_session=True)]),
    Same("windows alike, all labelled", [Cell(50, 0.85, 1.0, spread=0.1)]),
    Same(
        "two workloads, labels by the other's rate",
        [Cell(40, 0.95, 0.5, workload="a"), Cell(40, 0.6, 0.05, workload="b")],
        [Cell(40, 0.95, 0.05, workload="a"), Cell(40, 0.6, 0.5, workload="b")],
    ),
    Same(
        "two workloads in another mix",
        [Cell(40, 0.95, 0.3, workload="a"), Cell(20, 0.6, 0.3, workload="b")],
        [Cell(20, 0.95, 0.3, workload="a"), Cell(40, 0.6, 0.3, workload="b")],
    ),
)


def lines() -> Lines:
    """Every scenario, for quality and for goodput where the mix is the same."""
    for number, same in enumerate(SCENARIOS):
        yield same.run(7000 + 10 * number, "quality_ratio")
        if "mix" not in same.name:
            yield same.run(7005 + 10 * number, "goodput_ratio")
