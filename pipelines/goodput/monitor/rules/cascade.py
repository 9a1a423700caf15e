"""Cascades: a KV cache that is nearly full preempts, computes again what it had, and so runs fewer requests at a time.

Each of the three alone is a busy replica. Together they feed each other: what was preempted comes back and is longer.
"""

from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np

from goodput.errors import Mistake
from goodput.monitor.alarm_context import AlarmContext
from goodput.monitor.grid import NAN, Floats, medians
from goodput.monitor.mix import LONG_CONTEXTS
from goodput.monitor.panel import Panel
from goodput.monitor.rule_kind import Facts, Observed, Row, RuleKind
from goodput.monitor.rule_series import RuleSeries, selected
from goodput.monitor.states import Debounce, episodes
from goodput.monitor.words import mix_clause, series_name, shown
from goodput.settings.rule import Rule

KV, PREEMPTIONS = "replica_kv_usage_ratio", "replica_preemptions"
RUNNING = "replica_mean_running_requests"
_LEAST_AN_HOUR = 6.0  # preemptions: fewer cost next to nothing
_RISE = 2.0  # times the usual rate of the day before
_FALL = 0.9  # of the most that ran in the three windows before
_TOGETHER = 3.0  # signs


class Cascade(RuleKind):
    """Fires while a replica's KV cache is nearly full, its preemptions rise and its running requests fall together."""

    name: ClassVar[str] = "cascade"
    takes = frozenset({"above", "below"})
    beside = frozenset({PREEMPTIONS, RUNNING, LONG_CONTEXTS})

    def mistakes(self, key: str, rule: Rule) -> Iterator[Mistake]:
        """Another metric, or no share of the cache that is nearly full."""
        if rule.metric != KV:
            yield Mistake(f"{key}.metric", f"a cascade begins with the KV cache, not with {rule.metric!r}", KV)
        if rule.above is None or not 0 < rule.above < 1 or rule.below is not None:
            yield Mistake(f"{key}.above", "says from which use on the cache is nearly full", "such as 0.9")

    def series(self, observed: Observed) -> Iterator[RuleSeries]:
        """Each rule over each replica that it selects."""
        for name, rule, panel, row in selected(observed.rules_of(self.name), observed.panels):
            of = {metric: _of(observed.panels, metric, panel, row) for metric in (PREEMPTIONS, RUNNING)}
            yield _judged(name, rule, panel, row, of)

    def facts(self, one: RuleSeries, at: int, context: AlarmContext) -> Row:
        """What the replica did at the window and what it usually does, and how much of its work is long contexts."""
        found: Row = {}
        for name, metric in (
            ("preemptions_an_hour", PREEMPTIONS),
            ("running", RUNNING),
            ("long_context_ratio", LONG_CONTEXTS),
        ):
            values = _of(context.panels, metric, one.panel, one.row)
            before = values[None, max(at - one.grid.a_day, 0) : at]
            found[name] = _number(values[at])
            found[f"usual_{name}"] = _number(medians(before)[0]) if before.size else None
        return found

    def headline(self, one: RuleSeries, facts: Facts) -> str:
        """All three signs, and the long contexts that fill the cache."""
        return (
            f"{series_name(one)} is {shown(one.metric, facts.get('value'))}: "
            f"{facts.get('preemptions_an_hour', 0):.0f} preemptions an hour and {facts.get('running', 0):.1f} requests "
            f"running instead of {facts.get('usual_running', 0):.1f}{mix_clause(facts)}"
        )


def _of(panels: Mapping[str, Panel], metric: str, panel: Panel | None, row: int) -> Floats:
    """Values of another metric of the same replica; NaN where there are none."""
    other = panels.get(metric)
    assert panel is not None  # noqa: S101
    at = None if other is None else other.row_of.get(panel.labels[row])
    if other is None or at is None:
        return np.full(panel.values.shape[1], NAN)
    values: Floats = other.values[at]
    return values


def _judged(name: str, rule: Rule, panel: Panel, row: int, of: Mapping[str, Floats]) -> RuleSeries:
    kv, preempted, running = panel.values[row], np.nan_to_num(of[PREEMPTIONS]), of[RUNNING]
    assert rule.above is not None  # noqa: S101  (settings without a bound are refused)
    before = np.nan_to_num(medians(_lagged(preempted, panel.grid.a_day)))
    most = np.nan_to_num(_lagged(running, panel.grid.hours(3))).max(axis=1)
    full, falls = kv >= rule.above, running <= _FALL * most
    rises = (preempted >= _LEAST_AN_HOUR) & (preempted >= _RISE * before)
    known = np.isfinite(kv) & np.isfinite(running)
    signs = np.where(known, full.astype(np.float64) + rises + falls, NAN)
    over, clear = signs >= _TOGETHER, ~(full & (preempted >= _LEAST_AN_HOUR))
    found = tuple(episodes(over, clear, known, Debounce(rule.for_windows, rule.clear_windows)))
    parts = (name, Cascade.name, rule.severity, rule.metric, panel.labels[row], _TOGETHER, signs, kv, found)
    return RuleSeries(*parts, bound=rule.above, panel=panel, row=row, grid=panel.grid)


def _lagged(values: Floats, windows: int) -> Floats:
    """The `windows` values before each one, NaN before the first."""
    padded = np.concatenate([np.full(windows, NAN), values])
    return np.lib.stride_tricks.sliding_window_view(padded, windows)[: len(values)]


def _number(value: float) -> float | None:
    return float(f"{value:.4g}") if np.isfinite(value) else None


KIND = Cascade()
