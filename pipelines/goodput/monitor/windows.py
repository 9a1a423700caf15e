"""In which windows a series is judged: the shortest in which it has requests enough for its quantile or price.

Longer windows stand in for the alarms' own where traffic is thin; they are those of `windows_s`, as published.
"""

import numpy as np

from goodput.monitor.grid import DAY_S, Flags, Grid
from goodput.settings.metrics import AlarmMetric
from goodput.settings.model import Settings
from goodput.settings.watched import metric_of

_LONGER_S = (3600, 6 * 3600, DAY_S)


def longer_windows_s(settings: Settings) -> tuple[int, ...]:
    """Lengths of the windows in which thin series are judged, the shortest first."""
    return tuple(s for s in _LONGER_S if s in settings.windows_s and s > settings.alarms.window_s)


def needs_requests(metric: AlarmMetric) -> bool:
    """Whether thin traffic keeps a metric from being judged in short windows; counts and gauges bear any.

    Replicas stand to their peers otherwise after each restart: days of that are no habit, so they have no longer ones.
    """
    return metric.least_requests > 0 and metric.chart == "level" and metric.per != "replica"


def says_the_same(one: str, other: str) -> bool:
    """Whether a series of one metric needs no other: it is the same metric, or one of them stands in for the other."""
    mine, its = metric_of(one), metric_of(other)
    stand_ins = {mine and mine.stands_in_for, its and its.stands_in_for}
    return one == other or bool(stand_ins & {one, other})


def in_longer(armed: Flags, shorter: Grid, longer: Grid) -> Flags:
    """Whether any of the windows in each longer one is armed; series x windows of two grids of the same days."""
    within: Flags = armed.reshape(len(armed), longer.windows, longer.step_s // shorter.step_s)
    return np.asarray(within.any(axis=2))


def length(step_s: int) -> str:
    """The length of a window in words."""
    if step_s == DAY_S:
        return "a day"
    return f"{step_s // 3600} h" if step_s >= 3600 else f"{step_s // 60} min"
