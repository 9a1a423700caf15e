"""Series of a metric with their scores, in the shortest windows that they bear, and where another watches instead."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from goodput.monitor.charts import chart_of, inputs_of
from goodput.monitor.control_chart import ControlChart
from goodput.monitor.detector import least_windows, score
from goodput.monitor.grid import Flags
from goodput.monitor.inputs import Inputs, Scores
from goodput.monitor.panel import Panel, scaled
from goodput.monitor.rule_kind import Observed
from goodput.monitor.windows import in_longer, needs_requests, says_the_same
from goodput.settings.alarms import metrics_of
from goodput.settings.metrics import Worse
from goodput.settings.rule import Rule

Key = tuple[str, Worse | None]  # a metric, and which way is worse where its rule says so


@dataclass(frozen=True)
class JudgedPanel:
    """A panel with its scores; in `relieved` windows another metric, or a shorter window, watches instead."""

    panel: Panel
    inputs: Inputs
    chart: ControlChart
    scores: Scores
    relieved: Flags


def judged_panels(observed: Observed, rules: Mapping[str, Rule]) -> Iterator[tuple[Observed, dict[Key, JudgedPanel]]]:
    """Scores of the panels that rules look at, and of those that one of them stands in for, the shortest windows first.

    In longer windows there are only series that shorter ones leave unwatched at some time.
    """
    asked = {(rule.metric or "", rule.worse) for rule in rules.values()} | {(n, None) for n in metrics_of(rules)}
    shorter: list[JudgedPanel] = []
    for level in (observed, *observed.longer):
        there = [(name, worse) for name, worse in sorted(asked, key=str) if name in level.panels]
        panels = {(name, worse): replace(level.panels[name], worse=worse) for name, worse in there}
        if level is not observed:
            panels = {key: kept for key, panel in panels.items() if (kept := _unwatched(panel, shorter)) is not None}
        with ThreadPoolExecutor() as pool:  # numpy lets several go on at a time
            judged = pool.map(partial(_charted, observed=level), panels.values())
            charted = dict(zip(panels, judged, strict=True))
        found = {key: _relieved(one, charted, shorter) for key, one in charted.items()}
        shorter += found.values()
        yield level, found


def _charted(panel: Panel, observed: Observed) -> JudgedPanel:
    inputs, chart = inputs_of(panel, observed.calendar, observed.ages), chart_of(panel)
    nowhere = np.zeros(panel.values.shape, dtype=np.bool_)
    return JudgedPanel(panel, inputs, chart, score(inputs, chart, observed.judged), nowhere)


def _relieved(one: JudgedPanel, beside: Mapping[Key, JudgedPanel], shorter: Sequence[JudgedPanel]) -> JudgedPanel:
    relieved = _by_shorter(one.panel, shorter)
    other = beside.get((one.panel.kind.stands_in_for or "", None))
    if other is not None:
        relieved |= _armed(one.panel, other)
    return replace(one, relieved=relieved)


def _unwatched(panel: Panel, shorter: Sequence[JudgedPanel]) -> Panel | None:
    """Series that could be armed when nothing in shorter windows is; None without any."""
    if not needs_requests(panel.kind):
        return None
    enough = np.cumsum(np.isfinite(scaled(panel)), axis=1) >= least_windows(panel.grid)
    rows = np.flatnonzero((enough & ~_by_shorter(panel, shorter)).any(axis=1))
    return panel.of(rows) if len(rows) else None


def _by_shorter(panel: Panel, shorter: Sequence[JudgedPanel]) -> Flags:
    """Windows of each series in which shorter ones are armed that say the same."""
    found = np.zeros(panel.values.shape, dtype=np.bool_)
    for other in shorter:
        if other.panel.grid.step_s < panel.grid.step_s and says_the_same(panel.metric, other.panel.metric):
            found |= _armed(panel, other)
    return found


def _armed(panel: Panel, other: JudgedPanel) -> Flags:
    """Windows of each series in which the same one of another panel is armed, and had a verdict within a day."""
    armed = np.zeros(panel.values.shape, dtype=np.bool_)
    rows = other.panel.row_of
    mine = [row for row, labels in enumerate(panel.labels) if labels in rows]
    its = [rows[panel.labels[row]] for row in mine]
    watched = ~other.scores.learning[its] & _of_late(np.isfinite(other.scores.score[its]), other.panel.grid.a_day)
    armed[mine] = watched if other.panel.grid == panel.grid else in_longer(watched, other.panel.grid, panel.grid)
    return armed


def _of_late(there: Flags, windows: int) -> Flags:
    """Whether something was there in each window, or in one of those before it, so many in all."""
    at = np.arange(there.shape[1])
    last = np.maximum.accumulate(np.where(there, at, -windows), axis=1)
    return np.asarray(at - last < windows)
