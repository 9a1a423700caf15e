"""Rows of published relations become series on a grid: values, counts and labels, side by side.

What is believed of a value (counts, scale, direction) is applied here; what it means for an alarm is not.
"""

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

import numpy as np
import polars as pl

from goodput.monitor.grid import NAN, Floats, Grid, medians
from goodput.monitor.scales import off_scale, on_scale
from goodput.monitor.sources import SOURCES, SeriesSource
from goodput.settings.metrics import METRICS, AlarmMetric

Labels = tuple[tuple[str, str], ...]
_LEAST_PEERS = 3


@dataclass(frozen=True)
class Panel:
    """All series of one metric on a grid, in the metric's own unit; NaN (0 for `requests`) where there is no row."""

    metric: str
    grid: Grid
    labels: tuple[Labels, ...]
    values: Floats
    requests: Floats | None
    beside: Floats | None

    @property
    def kind(self) -> AlarmMetric:
        """Scale and direction of the metric."""
        return METRICS[self.metric]


def panels(rows: Mapping[str, pl.DataFrame], grid: Grid, metrics: Set[str]) -> Iterator[Panel]:
    """Panels of those `metrics` whose relation is among `rows` (relation -> rows of wholly observed windows)."""
    for source in SOURCES:
        frame = rows.get(source.relation) if source.metric in metrics else None
        if frame is not None and source.columns <= set(frame.columns):
            panel = _panel(source, frame, grid)
            if panel is not None:
                yield panel


def _panel(source: SeriesSource, frame: pl.DataFrame, grid: Grid) -> Panel | None:
    mine = frame.filter(
        pl.col("window_s") == grid.step_s, pl.col(source.value).is_not_null() | (source.requests is not None)
    ).filter(*(pl.col(name) == value for name, value in source.where))
    weight = pl.col(source.weight) if source.weight else pl.lit(1.0)
    told = pl.when(pl.col(source.value).is_not_null()).then(weight)
    cells = (
        mine.group_by(*source.labels, "window_start")
        .agg(
            value=(pl.col(source.value) * weight).sum() / told.sum(),
            requests=pl.col(source.requests).sum() if source.requests else pl.lit(NAN),
            beside=pl.col(source.beside).mean() if source.beside else pl.lit(NAN),
        )
        .with_columns(at=(pl.col("window_start").dt.epoch("s") - grid.start_s) // grid.step_s)
        .filter((pl.col("at") >= 0) & (pl.col("at") < grid.windows))
    )
    names = cells.select(source.labels).unique().sort(source.labels)
    if not names.height or not cells["value"].is_finite().any():
        return None
    cells = cells.join(names.with_row_index("row"), on=list(source.labels), nulls_equal=True)
    labels = tuple(tuple(zip(source.labels, map(_word, row), strict=True)) for row in names.iter_rows())
    values, requests, beside = (_spread(cells, column, names.height, grid) for column in _SPREAD)
    return Panel(
        source.metric,
        grid,
        labels,
        values,
        np.nan_to_num(requests) if source.requests else None,
        beside if source.beside else None,
    )


_SPREAD = ("value", "requests", "beside")


def _word(value: object) -> str:
    return "unknown" if value is None else str(value)


def _spread(cells: pl.DataFrame, column: str, height: int, grid: Grid) -> Floats:
    spread = np.full((height, grid.windows), NAN)
    spread[cells["row"].to_numpy(), cells["at"].to_numpy()] = cells[column].cast(pl.Float64).fill_null(NAN).to_numpy()
    return np.where(np.isfinite(spread), spread, NAN)


def scaled(panel: Panel) -> Floats:
    """The panel on its metric's scale, more is worse; NaN where too few requests make the value believable.

    Of replicas, the difference from the median of the pool's replicas in the same window: what all of them do, the
    pool's own series tells.
    """
    kind = panel.kind
    values = worse(kind, panel.values)
    if panel.requests is not None:
        values = np.where(panel.requests >= kind.least_requests, values, NAN)
    return values - _peers(panel, values) if kind.per == "replica" else values


def worse(kind: AlarmMetric, values: Floats) -> Floats:
    """Values in the metric's own unit on its scale, where more is worse."""
    scaled = on_scale(kind.scale, values)
    return scaled if kind.worse == "up" else -scaled


def sampling_error(panel: Panel) -> Floats | None:
    """What the number of requests alone makes a ratio stray, on its scale; None where that is not known."""
    if panel.kind.scale != "arcsine" or panel.requests is None:
        return None
    return np.asarray(1 / np.sqrt(np.maximum(panel.requests, 1)))


def _peers(panel: Panel, values: Floats) -> Floats:
    pools = np.array([dict(label).get("pool", "") for label in panel.labels])
    middle = np.full(values.shape, NAN)
    for pool in np.unique(pools):
        rows = pools == pool
        enough = np.isfinite(values[rows]).sum(axis=0) >= _LEAST_PEERS
        middle[rows] = np.where(enough, medians(values[rows].T), NAN)
    return middle


def natural(kind: AlarmMetric, scaled: Floats) -> Floats:
    """Back from `worse` to the metric's own unit."""
    return off_scale(kind.scale, scaled if kind.worse == "up" else -scaled)
