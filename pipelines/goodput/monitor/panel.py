"""All series of one metric on one grid, and what is believed of their values: counts, scale and direction."""

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from goodput.monitor.grid import NAN, Floats, Grid, Ints, medians
from goodput.monitor.scales import off_scale, on_scale
from goodput.settings.metrics import AlarmMetric, Worse
from goodput.settings.watched import metric_of

Labels = tuple[tuple[str, str], ...]
_LEAST_PEERS = 3


@dataclass(frozen=True)
class Panel:
    """All series of one metric on a grid, in the metric's own unit; NaN (0 for counts) where there is no row.

    `beside` is the median of the same quantity, `body` the lower quantile that its tail is charted against, `trials`
    what values are ratios of, or the hours that they are rates in, `worse` which way is bad where a rule says so.
    `unwatched` are labels of series that are left out, because there are too many. `is_thin`: the windows are longer
    than those of alarms, for series of too little traffic.
    """

    metric: str
    grid: Grid
    labels: tuple[Labels, ...]
    values: Floats
    requests: Floats | None
    beside: Floats | None
    body: Floats | None = None
    trials: Floats | None = None
    worse: Worse | None = None
    unwatched: frozenset[Labels] = frozenset()
    is_thin: bool = False

    @cached_property
    def row_of(self) -> dict[Labels, int]:
        """Place of each series."""
        return {labels: row for row, labels in enumerate(self.labels)}

    def of(self, rows: Ints) -> "Panel":
        """Some of the series."""
        arrays = {part.name: getattr(self, part.name) for part in fields(self)}
        cut: dict[str, Any] = {name: part[rows] for name, part in arrays.items() if isinstance(part, np.ndarray)}
        return replace(self, labels=tuple(self.labels[row] for row in rows), **cut)

    def before(self, until: int, *, is_thin: bool) -> "Panel":
        """The same without what lies in windows from `until` on."""
        values = self.values.copy()
        values[:, until:] = NAN
        return replace(self, values=values, is_thin=is_thin)

    @property
    def kind(self) -> AlarmMetric:
        """Scale and direction of the metric."""
        known = metric_of(self.metric)
        assert known is not None  # noqa: S101  (rules about others are refused)
        return known if self.worse is None else replace(known, worse=self.worse)


def scaled(panel: Panel) -> Floats:
    """The panel on its metric's scale, more is worse; NaN where too few requests make the value believable.

    Of replicas, the difference from the median of the pool's replicas in the same window: what all of them do, the
    pool's own series shows.
    """
    kind = panel.kind
    values = worse(kind, panel.values)
    if panel.requests is not None:
        values = np.where(panel.requests >= kind.least_requests, values, NAN)
    return values - _peers(panel, values) if kind.per == "replica" else values


def worse(kind: AlarmMetric, values: Floats) -> Floats:
    """Values in the metric's own unit on its scale, where more is worse."""
    scaled = on_scale(kind, values)
    return -scaled if kind.worse == "down" else scaled


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
    return off_scale(kind, -scaled if kind.worse == "down" else scaled)
