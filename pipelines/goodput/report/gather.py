"""Asks the published database for the rows of every chart, and lets each chart answer for every choice of a reader.

Everything that a page can show is computed here, so that a page has nothing to compute.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import duckdb
import polars as pl

from goodput.plumbing.parameters import as_rows, register
from goodput.plumbing.sql_files import sql_file
from goodput.report.chart import Chart
from goodput.report.shown import Period, Slice

INNER = (
    "period_windows",
    "period_accepted",
    "unlabelled_excess",
    "period_totals",
    "p99_rises",
    "load_curves",
    "operation_quality",
    "operations_done",
    "parts_apart",
    "replica_paces",
    "spare_replicas",
    "alarm_episodes",
)  # relations that charts read, in their order


@dataclass(frozen=True)
class Gathered:
    """What a report is made of.

    `rows` are those of each chart by its name, instants in milliseconds since the Unix epoch. `answers` has a chart's
    sentence for every period and choice, None where it has no rows; `empties` what each says then.
    """

    periods: Sequence[Period]
    slices: Sequence[Slice]
    left_out: int
    totals: pl.DataFrame
    rows: Mapping[str, pl.DataFrame]
    answers: Mapping[str, Mapping[tuple[str, int], str | None]]
    empties: Mapping[str, str]


def gather(
    connection: duckdb.DuckDBPyConnection,
    charts: Sequence[Chart],
    periods: Sequence[Period],
    slices: Sequence[Slice],
    left_out: int = 0,
) -> Gathered:
    """All rows and answers of a report."""
    register(connection, "shown_periods", as_rows("shown_periods", *map(asdict, periods)))
    register(connection, "shown_slices", as_rows("shown_slices", *map(asdict, slices)))
    for name in INNER:
        connection.execute(f'CREATE OR REPLACE TEMP TABLE "{name}" AS {sql_file(name).text}')
    totals = _asked(connection, "SELECT * FROM period_totals ORDER BY ALL")
    found = {chart.name: _asked(connection, _rows_of(chart.name)) for chart in charts}
    answers = {chart.name: _answers(chart, found[chart.name], periods, slices) for chart in charts}
    empties = {chart.name: _empty(connection, chart) for chart in charts}
    return Gathered(periods, slices, left_out, totals, found, answers, empties)


def _rows_of(chart: str) -> str:
    """What asks for the rows of a chart; of one that others read too they are there."""
    return f'SELECT * FROM "{chart}" ORDER BY ALL' if chart in INNER else sql_file(chart).text  # noqa: S608


def _empty(connection: duckdb.DuckDBPyConnection, chart: Chart) -> str:
    """What a chart says that has no rows."""
    if chart.missing is None:
        return chart.empty
    relation, instead = chart.missing
    return instead if _asked(connection, sql_file(relation).text)["is_missing"].item() else chart.empty


def observed(gathered: Gathered) -> str:
    """The time of the longest period that telemetry has, where it is less than all of it."""
    facts = gathered.rows["trust_facts"].filter(pl.col("name") == "Telemetry", pl.col("limits").is_not_null())
    return f"Telemetry has {facts['says'][0]}." if facts.height else ""


def _asked(connection: duckdb.DuckDBPyConnection, text: str) -> pl.DataFrame:
    frame = pl.DataFrame(connection.sql(text).to_arrow_table())
    instants = pl.selectors.datetime()
    return frame.with_columns(instants.dt.epoch("ms"))


def _answers(
    chart: Chart, found: pl.DataFrame, periods: Sequence[Period], slices: Sequence[Slice]
) -> dict[tuple[str, int], str | None]:
    """The sentence for every choice; slices that a chart cannot tell apart share theirs."""
    by_key: dict[tuple[object, ...], str | None] = {}
    answers: dict[tuple[str, int], str | None] = {}
    for period in periods:
        for one in slices:
            key = (period.period if "period" in found.columns else None, *chosen(chart, one).items())
            if key not in by_key:
                rows = of_choice(chart, found, period, one)
                by_key[key] = chart.answer(rows.to_dicts()) if rows.height else None
            answers[period.period, one.choice] = by_key[key]
    return answers


def chosen(chart: Chart, one: Slice) -> dict[str, Any]:
    """What the rows of a chart must be for a choice: by column its value, or several of which it must be one."""
    wanted: dict[str, Any] = {}
    for column in chart.chosen_by:
        if column == "divided_by":
            wanted[column] = "route" if one.route is not None else "pool"
        elif column == "scope":
            wanted[column] = "all" if one.workload is None else "workload" if one.route is None else "route"
        elif getattr(one, column) is not None:
            wanted[column] = getattr(one, column)
        elif column == "pool" and one.pools is not None:
            wanted[column] = one.pools
    return wanted


def of_choice(chart: Chart, found: pl.DataFrame, period: Period, one: Slice) -> pl.DataFrame:
    """The rows of a chart that a choice of period and slice shows."""
    conditions = [_is(chart, column, value) for column, value in chosen(chart, one).items()]
    if "period" in found.columns:
        conditions.append(pl.col("period") == period.period)
    return found.filter(*conditions) if conditions else found


def _is(chart: Chart, column: str, value: Any) -> pl.Expr:
    matches = pl.col(column).is_in(value) if isinstance(value, tuple) else pl.col(column) == value
    return matches | pl.col(column).is_null() if chart.none_is_all else matches


def instant_ms(at: datetime) -> int:
    """An instant in milliseconds since the Unix epoch."""
    return int(at.timestamp() * 1000)
