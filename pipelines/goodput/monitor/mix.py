"""What else a pool is asked for since a series left its usual value: another workload, or longer contexts.

A latency that another mix explains is no fault of the pool, and no deployment mends it; nothing here decides an alarm.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from goodput.monitor.alarm_context import AlarmContext
from goodput.monitor.grid import NAN, Floats, Grid, Ints, medians
from goodput.monitor.panel import Panel
from goodput.monitor.rule_series import RuleSeries

LONG_CONTEXTS = "replica_long_context_ratio"
_COUNTED = (
    "failed",
    "goodput_ratio",
    "p99_e2e_s",
    "p99_ttft_s",
    "p95_e2e_s",
    "p95_ttft_s",
)  # metrics by workload and pool that know requests
_HOURS = 6
_SHARE = 0.1  # of the pool's requests, or of their input: less explains little
_STRAYS = 3.0  # times as far as the days before stray from each other


def mix_facts(one: RuleSeries, at: int, onset: int, context: AlarmContext) -> dict[str, Any]:
    """The workload whose share of the pool's requests grew most since `onset`, and long contexts' share of its input.

    Requests are counted in the windows of the series, long contexts in those of alarms that lie within. Each is there
    only where it changed by a tenth, and by more than it does on the same hours of the days before.
    """
    pool = dict(one.labels).get("pool")
    assert one.inputs is not None  # noqa: S101
    if pool is None or "replica" in dict(one.labels):
        return {}
    grid = one.grid
    since = np.arange(onset, at + 1)[-grid.hours(_HOURS) :]
    before = list(
        _alike_before(since, one.inputs.calendar.classes, [d * grid.a_day for d in grid.days_before(onset, at)])
    )
    panels = context.longer.get(grid.step_s, {}) if one.is_thin else context.panels
    grown = [(*moved, name) for name, share in _workloads(pool, panels) if (moved := _moved(share, since, before))]
    facts: dict[str, Any] = {}
    if grown:
        now, usual, workload = max(grown, key=lambda found: found[0] - found[1])
        facts |= {"mix_workload": workload, "mix_ratio": now, "usual_mix_ratio": usual}
    contexts = context.panels.get(LONG_CONTEXTS)
    if contexts is not None:
        now_within, *before_within = (_within(windows, grid, contexts.grid) for windows in (since, *before))
        longer = _moved(_long_contexts(pool, contexts), now_within, before_within)
        if longer:
            facts |= {"long_context_ratio": longer[0], "usual_long_context_ratio": longer[1]}
    return facts


def _alike_before(since: Ints, classes: Ints, windows_before: Sequence[int]) -> Iterator[Ints]:
    """The same windows of each of the days before, but of days of work and days off only those that are alike."""
    for windows in windows_before:
        there = since - windows
        alike = there[(there >= 0) & (classes[np.maximum(there, 0)] == classes[since])]
        if len(alike):
            yield alike


def _within(windows: Ints, longer: Grid, shorter: Grid) -> Ints:
    """The windows of one grid that lie within those of another of the same days."""
    each = longer.step_s // shorter.step_s
    return np.asarray((windows[:, None] * each + np.arange(each)).ravel())


def _workloads(pool: str, panels: Mapping[str, Panel]) -> Iterator[tuple[str, Floats]]:
    """Each workload's share of the pool's requests, by window."""
    counted = next((panels[name] for name in _COUNTED if name in panels), None)
    requests = None if counted is None else counted.requests if counted.trials is None else counted.trials
    if counted is None or requests is None:
        return
    rows = _rows(counted, pool)
    total = np.nan_to_num(requests[rows]).sum(axis=0)
    for row in rows:
        share = np.divide(np.nan_to_num(requests[row]), total, out=np.full(len(total), NAN), where=total > 0)
        yield dict(counted.labels[row]).get("workload", ""), share


def _long_contexts(pool: str, panel: Panel) -> Floats:
    """Long contexts' share of the input of the pool's replicas, by window: the median of them."""
    rows = _rows(panel, pool)
    return medians(panel.values[rows].T) if rows else np.empty(0)


def _rows(panel: Panel, pool: str) -> list[int]:
    return [row for row, labels in enumerate(panel.labels) if dict(labels).get("pool") == pool]


def _moved(share: Floats, since: Ints, before: Sequence[Ints]) -> tuple[float, float] | None:
    """A share now and as usual; None where it is much as usual, or nobody knows."""
    if not len(share) or not before:
        return None
    now, *every = (float(medians(share[None, windows])[0]) for windows in (since, *before))
    days = np.array([day for day in every if np.isfinite(day)])
    if not len(days):
        return None
    usual, strays = float(np.median(days)), float(days.std())
    if not abs(now - usual) >= max(_SHARE, _STRAYS * strays):
        return None
    return round(now, 4), round(usual, 4)
