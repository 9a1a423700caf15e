"""Rows of published relations become series on a grid: values, counts and labels, side by side."""

from collections.abc import Iterator, Mapping, Set

import numpy as np
import polars as pl

from goodput.monitor.grid import NAN, Floats, Grid
from goodput.monitor.panel import Panel
from goodput.monitor.series_definitions import SERIES_DEFINITIONS, SeriesDefinition


def panels(rows: Mapping[str, pl.DataFrame], grid: Grid, metrics: Set[str]) -> Iterator[Panel]:
    """Panels of those `metrics` whose relation is among `rows` (relation -> rows of wholly observed windows)."""
    for source in SERIES_DEFINITIONS:
        frame = rows.get(source.relation) if source.metric in metrics else None
        if frame is not None and source.columns <= set(frame.columns):
            panel = _panel(source, frame, grid)
            if panel is not None:
                yield panel


def _panel(source: SeriesDefinition, frame: pl.DataFrame, grid: Grid) -> Panel | None:
    mine = frame.filter(
        pl.col("window_s") == grid.step_s, pl.col(source.value).is_not_null() | (source.requests is not None)
    ).filter(*(pl.col(name) == value for name, value in source.where))
    weight = pl.col(source.weight) if source.weight else pl.lit(1.0)
    measured = pl.when(pl.col(source.value).is_not_null()).then(weight)
    points = (
        mine.group_by(*source.labels, "window_start")
        .agg(
            value=(pl.col(source.value) * weight).sum() / measured.sum(),
            requests=pl.col(source.requests).sum() if source.requests else pl.lit(NAN),
            beside=pl.col(source.beside).mean() if source.beside else pl.lit(NAN),
            body=pl.col(source.body).mean() if source.body else pl.lit(NAN),
        )
        .with_columns(at=(pl.col("window_start").dt.epoch("s") - grid.start_s) // grid.step_s)
        .filter((pl.col("at") >= 0) & (pl.col("at") < grid.windows))
    )
    names = points.select(source.labels).unique().sort(source.labels)
    if not names.height or not points["value"].is_finite().any():
        return None
    points = points.join(names.with_row_index("row"), on=list(source.labels), nulls_equal=True)
    labels = tuple(tuple(zip(source.labels, map(_word, row), strict=True)) for row in names.iter_rows())
    values, requests, beside, body = (_spread(points, column, names.height, grid) for column in _SPREAD)
    return Panel(
        source.metric,
        grid,
        labels,
        values,
        np.nan_to_num(requests) if source.requests else None,
        beside if source.beside else None,
        body if source.body else None,
    )


_SPREAD = ("value", "requests", "beside", "body")


def _word(value: object) -> str:
    return "unknown" if value is None else str(value)


def _spread(points: pl.DataFrame, column: str, height: int, grid: Grid) -> Floats:
    spread = np.full((height, grid.windows), NAN)
    spread[points["row"].to_numpy(), points["at"].to_numpy()] = (
        points[column].cast(pl.Float64).fill_null(NAN).to_numpy()
    )
    return np.where(np.isfinite(spread), spread, NAN)
