"""Rows of published relations become series on a grid: values, counts and labels, side by side."""

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

import numpy as np
import polars as pl

from goodput.monitor.grid import DAY_S, NAN, Floats, Grid
from goodput.monitor.panel import Labels, Panel
from goodput.settings.metrics import AlarmMetric
from goodput.settings.watched import metric_of

_HOUR_S = 3600
_RECENT_DAYS = 7
_SHARE_A_FATE = 1000.0  # tokens: those of one prompt are found in a cache together, or are not
_PLACES = frozenset(("workload", "pool", "replica"))


@dataclass(frozen=True)
class _Watched:
    """Rows of the series that are watched, each with its window (`at`) and its series (`row` of `labels`).

    `unwatched` are the labels of those that are not.
    """

    rows: pl.DataFrame
    labels: tuple[Labels, ...]
    unwatched: frozenset[Labels]


def panels(rows: Mapping[str, pl.DataFrame], grid: Grid, metrics: Set[str], max_series: int) -> Iterator[Panel]:
    """Panels of those `metrics` whose relation is among `rows` (relation -> rows of wholly observed windows).

    Each has at most `max_series`, see docs/alarms.md#how-many-series-are-watched.
    """
    known: dict[object, _Watched] = {}  # metrics of one relation mostly watch the same series
    for name in sorted(metrics):
        metric = metric_of(name)
        frame = None if metric is None else rows.get(metric.relation)
        if metric is not None and frame is not None and metric.columns <= set(frame.columns):
            key = (metric.relation, metric.labels, metric.where)
            known[key] = known.get(key) or _watched(frame, metric, grid, max_series)
            panel = _panel(name, metric, known[key], grid)
            if panel is not None:
                yield panel


def _watched(frame: pl.DataFrame, metric: AlarmMetric, grid: Grid, max_series: int) -> _Watched:
    """The series of most windows of the last week, of as many those of most in all.

    Rows without a value count as well: whichever metric of a relation it is, the same series are watched.
    """
    where = (pl.col(column) == value for column, value in metric.where)
    every = frame.filter(pl.col("window_s") == grid.step_s, *where)
    last_week_s = grid.start_s + (grid.days - 1 - _RECENT_DAYS) * DAY_S
    is_recent = pl.col("window_start").dt.epoch("s") >= last_week_s
    windows = every.group_by(metric.labels).agg(recent=is_recent.sum(), windows=pl.len())
    order = windows.sort("recent", "windows", *metric.labels, descending=[True, True, *(False for _ in metric.labels)])
    others = order[max_series:].select(metric.labels)
    rows = every.join(others, on=list(metric.labels), how="anti", nulls_equal=True) if others.height else every
    names = rows.select(metric.labels).unique().sort(metric.labels)
    placed = (
        rows.join(names.with_row_index("row"), on=list(metric.labels), nulls_equal=True)
        .with_columns(at=(pl.col("window_start").dt.epoch("s") - grid.start_s) // grid.step_s)
        .filter((pl.col("at") >= 0) & (pl.col("at") < grid.windows))
    )
    labels = tuple(_labels(metric, row) for row in names.iter_rows())
    return _Watched(placed, labels, frozenset(_labels(metric, row) for row in others.iter_rows()))


def _panel(name: str, metric: AlarmMetric, watched: _Watched, grid: Grid) -> Panel | None:
    points = (
        watched.rows.filter(pl.col(metric.column).is_not_null() | metric.of_requests)
        .group_by("row", "at")
        .agg(**_measured(metric, grid))
    )
    if not points["value"].is_finite().any():
        return None
    rows, of_point = np.unique(points["row"].to_numpy(), return_inverse=True)
    where = (of_point, points["at"].to_numpy())

    def spread(column: str) -> Floats:
        found = np.full((len(rows), grid.windows), NAN)
        found[where] = points[column].cast(pl.Float64).fill_null(NAN).to_numpy()
        return np.where(np.isfinite(found), found, NAN)

    return Panel(
        name,
        grid,
        tuple(watched.labels[row] for row in rows),
        spread("value"),
        np.nan_to_num(spread("requests")) if metric.of_requests else None,
        spread("beside") if metric.beside else None,
        spread("body") if metric.body else None,
        None if metric.chart == "level" else np.nan_to_num(spread("trials")),
        unwatched=watched.unwatched,
    )


def _measured(metric: AlarmMetric, grid: Grid) -> dict[str, pl.Expr]:
    """What rows of one series and window make together."""
    value, of = pl.col(metric.column), pl.col(metric.of) if metric.of else None
    known, nothing = value.is_not_null(), pl.lit(NAN)
    if metric.chart == "level":
        weight = pl.col(metric.weight) if metric.weight else pl.lit(1.0)
        trials, mean = nothing, (value * weight).sum() / pl.when(known).then(weight).sum()
    else:
        hours = pl.lit(grid.step_s / _HOUR_S) if of is None else of / _HOUR_S
        each = hours if metric.chart == "rate" or of is None else of
        together = pl.when(known).then(each).sum()
        trials = together / _SHARE_A_FATE if (metric.of or "").endswith("_tokens") else together
        mean = (value if metric.counted else value * each).sum() / together
    requests = of.sum() if of is not None and metric.of_requests else nothing
    return {
        "value": mean,
        "requests": requests,
        "beside": pl.col(metric.beside).mean() if metric.beside else nothing,
        "body": pl.col(metric.body).mean() if metric.body else nothing,
        "trials": trials,
    }


def _labels(metric: AlarmMetric, row: tuple[object, ...]) -> Labels:
    """Labels of a series: a place that nobody reported is unknown, another word that is missing means all of them."""
    pairs = zip(metric.labels, row, strict=True)
    words = ((name, "unknown" if value is None else str(value), value) for name, value in pairs)
    return tuple((name, word) for name, word, value in words if value is not None or name in _PLACES)
