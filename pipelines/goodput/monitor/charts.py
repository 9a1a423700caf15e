"""Which chart series of a metric take, and what it is given of them."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from goodput.monitor.calendar import Calendar
from goodput.monitor.control_chart import ControlChart
from goodput.monitor.count_chart import CountChart
from goodput.monitor.counts import RATE, RATIO
from goodput.monitor.grid import NAN, Floats
from goodput.monitor.inputs import Inputs
from goodput.monitor.level_chart import LevelChart
from goodput.monitor.panel import Panel, scaled, worse
from goodput.monitor.tail_chart import LevelAndTailChart
from goodput.settings.metrics import FLOOR


def chart_of(panel: Panel) -> ControlChart:
    """How series of a metric are charted: counts as such, a p99 by its level and its tail, all else by its level."""
    kind = panel.kind
    if panel.trials is not None:
        return CountChart(RATIO) if kind.chart == "ratio" else CountChart(RATE, -1.0 if kind.worse == "down" else 1.0)
    if kind.quantile is None or kind.stands_in_for is not None:
        return LevelChart(kind.quantile)
    return LevelAndTailChart(kind.quantile)


def inputs_of(panel: Panel, calendar: Calendar, ages: Mapping[str, Floats]) -> Inputs:
    """The series on the scale of their metric, with what its chart needs beside them; `ages` by pool, in hours."""
    kind = panel.kind
    inputs = Inputs(panel.grid, calendar, scaled(panel), FLOOR[kind.scale], age_h=_ages(panel, ages))
    if panel.trials is not None:
        return replace(inputs, values=_where_counted(panel), events=_events(panel), trials=panel.trials)
    if kind.quantile is not None and panel.body is not None:
        return replace(inputs, requests=panel.requests, body=worse(kind, panel.body))
    return inputs


def _where_counted(panel: Panel) -> Floats:
    """A value where there are trials, also where its events are too few to have a place on the scale."""
    assert panel.trials is not None  # noqa: S101
    return np.where(panel.trials > 0, np.nan_to_num(panel.values), NAN)


def _events(panel: Panel) -> Floats:
    """Bad events: of a ratio that is worse when it falls those that it does not count."""
    assert panel.trials is not None  # noqa: S101
    ratio = panel.kind.chart == "ratio"
    bad = 1 - panel.values if ratio and panel.kind.worse == "down" else panel.values
    return np.clip(np.nan_to_num(bad * panel.trials), 0.0, panel.trials if ratio else np.inf)


def _ages(panel: Panel, ages: Mapping[str, Floats]) -> Floats | None:
    pools = [dict(labels).get("pool", "") for labels in panel.labels]
    if not ages.keys() & set(pools):
        return None
    unknown = np.full(panel.grid.windows, NAN)
    return np.stack([ages.get(pool, unknown) for pool in pools])
