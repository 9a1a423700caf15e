"""What rules are judged by, from rows of measured relations: panels in the windows of alarms, and in longer ones."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from goodput.monitor.calendar import Calendar, calendar
from goodput.monitor.grid import NAN, Floats, Grid
from goodput.monitor.judged_days import JudgedDays
from goodput.monitor.panel import Panel
from goodput.monitor.rule_kind import Observed
from goodput.monitor.series import panels
from goodput.monitor.windows import longer_windows_s, needs_requests
from goodput.plumbing.alarm_actions import Action
from goodput.settings.alarms import metrics_of, rules_of
from goodput.settings.model import Settings
from goodput.settings.watched import metric_of

RESTARTS = ("restart", "deployment")


def observe(
    rows: Mapping[str, pl.DataFrame],
    times: tuple[Grid, int],
    settings: Settings,
    decided: tuple[Sequence[Action], Sequence[Mapping[str, Any]]],
    judged: JudgedDays,
) -> Observed:
    """By `rows` of whole windows: those of a grid up to an instant in Unix seconds, with what operators `decided`.

    That is what they accepted, and rows of ops_events.
    """
    (grid, until_s), (accepts, operations) = times, decided
    metrics = metrics_of(rules_of(settings.alarms))
    thin = {name for name in metrics if (metric := metric_of(name)) is not None and needs_requests(metric)}
    goodput = rows.get("goodput")

    def within(of: Grid, watched: Set[str]) -> Observed:
        found = panels(rows, of, watched, settings.alarms.max_series)
        by_metric = {panel.metric: panel for panel in found}
        return Observed(settings, of, of.until(until_s), by_metric, _calendar(of, settings), {}, accepts, judged=judged)

    longer = [within(Grid(grid.start_s, grid.days, step_s), thin) for step_s in longer_windows_s(settings)]
    return replace(
        within(grid, metrics),
        ages=_ages(grid, operations),
        goodput=None if goodput is None else goodput.filter(pl.col("slice") == "workload_pool"),
        longer=[replace(one, panels=_thin(one)) for one in longer if one.panels],
    )


def _thin(observed: Observed) -> dict[str, Panel]:
    """Windows that are not over yet are left out."""
    return {name: panel.before(observed.until, is_thin=True) for name, panel in observed.panels.items()}


def _calendar(grid: Grid, settings: Settings) -> Calendar:
    alarms = settings.alarms
    excluded = [(int(s.begins.timestamp()), int(s.ends.timestamp())) for s in alarms.excluded]
    return calendar(grid, alarms.time_zone, alarms.days_off, excluded)


def _ages(grid: Grid, operations: Sequence[Mapping[str, Any]]) -> dict[str, Floats]:
    """Hours since the last restart by pool, at the end of each window."""
    restarted: dict[str, list[float]] = {}
    for row in operations:
        if row["kind"] in RESTARTS and row["pool"] is not None:
            restarted.setdefault(row["pool"], []).append(row["occurred_at"].timestamp())
    ends: Floats = grid.start_s + grid.step_s * np.arange(1, grid.windows + 1, dtype=np.float64)
    return {pool: _since(np.sort(np.array(times, dtype=np.float64)), ends) for pool, times in restarted.items()}


def _since(times: Floats, ends: Floats) -> Floats:
    last = np.searchsorted(times, ends, side="right") - 1
    return np.where(last >= 0, (ends - times[np.maximum(last, 0)]) / 3600, NAN)
