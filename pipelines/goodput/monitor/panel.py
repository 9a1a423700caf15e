"""All series of one metric on one grid, and what is believed of their values: counts, scale and direction."""

from dataclasses import dataclass

import numpy as np

from goodput.monitor.grid import NAN, Floats, Grid, medians
from goodput.monitor.scales import off_scale, on_scale
from goodput.settings.metrics import METRICS, AlarmMetric

Labels = tuple[tuple[str, str], ...]
_LEAST_PEERS = 3


@dataclass(frozen=True)
class Panel:
    """All series of one metric on a grid, in the metric's own unit; NaN (0 for `requests`) where there is no row.

    `beside` is the median of the same quantity, `body` the lower quantile that its tail is charted against.
    """

    metric: str
    grid: Grid
    labels: tuple[Labels, ...]
    values: Floats
    requests: Floats | None
    beside: Floats | None
    body: Floats | None = None

    @property
    def kind(self) -> AlarmMetric:
        """Scale and direction of the metric."""
        return METRICS[self.metric]


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
