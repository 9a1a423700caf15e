"""What else a pool is asked for since a series left its usual value: another workload, or longer contexts.

A latency that another mix explains is no fault of the pool, and no deployment mends it; nothing here decides an alarm.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from goodput.monitor.grid import NAN, Floats, Grid, Ints, medians
from goodput.monitor.panel import Panel
from goodput.monitor.rule_series import RuleSeries

LONG_CONTEXTS = "replica_long_context_ratio"
_COUNTED = ("failed", "goodput_ratio", "p99_e2e_s", "p99_ttft_s")  # metrics by workload and pool that know requests
_DAYS = 7
_HOURS = 6
_SHARE = 0.1  # of the pool's requests, or of their input: less explains little
_STRAYS = 3.0  # times as far as the days before stray from each other


def mix_facts(one: RuleSeries, at: int, onset: int, panels: Mapping[str, Panel]) -> dict[str, Any]:
    """The workload whose share of the pool's requests grew most since `onset`, and long contexts' share of its input.

    Each is there only where it changed by a tenth, and by more than it does on the same hours of the days before.
    """
    pool = dict(one.labels).get("pool")
    assert one.inputs is not None  # noqa: S101
    if pool is None or "replica" in dict(one.labels) or one.is_thin:
        return {}
    since = np.arange(max(onset, 0), at + 1)[-one.inputs.grid.hours(_HOURS) :]
    before = list(_alike_before(since, one.inputs.calendar.classes, one.inputs.grid))
    grown = [(*moved, name) for name, share in _workloads(pool, panels) if (moved := _moved(share, since, before))]
    facts: dict[str, Any] = {}
    if grown:
        now, usual, workload = max(grown, key=lambda found: found[0] - found[1])
        facts |= {"mix_workload": workload, "mix_ratio": now, "usual_mix_ratio": usual}
    longer = _moved(_long_contexts(pool, panels), since, before)
    if longer:
        facts |= {"long_context_ratio": longer[0], "usual_long_context_ratio": longer[1]}
    return facts


def _alike_before(since: Ints, classes: Ints, grid: Grid) -> Iterator[Ints]:
    """The same windows of each of the days before, but of days of work and days off only those that are alike."""
    for day in range(1, _DAYS + 1):
        there = since - day * grid.a_day
        alike = there[(there >= 0) & (classes[np.maximum(there, 0)] == classes[since])]
        if len(alike):
            yield alike


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


def _long_contexts(pool: str, panels: Mapping[str, Panel]) -> Floats:
    """Long contexts' share of the input of the pool's replicas, by window: the median of them."""
    panel = panels.get(LONG_CONTEXTS)
    rows = [] if panel is None else _rows(panel, pool)
    return np.empty(0) if panel is None or not rows else medians(panel.values[rows].T)


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
