"""One evaluation: series, settings and actions of operators in; the rows of alarms, alarm_events and alarm_power out.

Nothing is read or written here, and the clock is an argument: the same inputs give the same rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import polars as pl

from goodput.monitor.alarm_context import AlarmContext
from goodput.monitor.budget import Kept, thresholds_for
from goodput.monitor.causes import operations_of
from goodput.monitor.chart import alarm_series
from goodput.monitor.grid import Grid, grid_of
from goodput.monitor.judged_days import JudgedDays
from goodput.monitor.method import heartbeat
from goodput.monitor.observe import observe
from goodput.monitor.observed_transition import ObservedTransition
from goodput.monitor.reconcile import Event, Moment, reconcile
from goodput.monitor.rows import alarm_row, methods_of, observed_transition
from goodput.monitor.rule_kind import Observed, RuleKind, rule_kinds
from goodput.monitor.rule_series import RuleSeries, shown_labels
from goodput.monitor.silent_telemetry import NAMED, SilentTelemetry
from goodput.monitor.suppression import Suppression, Suppressors, silenced_at, suppressed_now, suppressions
from goodput.monitor.transitions import transitions
from goodput.plumbing.alarm_actions import Action, of_kind
from goodput.settings.model import Settings

Row = dict[str, Any]
_SATURATED = 0.95
_WINDOW = ["window_start", "window_s"]


@dataclass(frozen=True)
class Evidence:
    """Everything that verdicts are made of: `rows` by relation, `operations` as rows of ops_events.

    `seen_live` says that an earlier run found telemetry that was new; episodes that began before `settled` (where
    rows do not reach back far enough to judge them) stay as they were recorded; `newest` is when telemetry was last
    observed, which may be after the newest whole window.
    """

    rows: Mapping[str, pl.DataFrame]
    settings: Settings
    actions: Sequence[Action] = ()
    operations: Sequence[Row] = ()
    seen_live: bool = False
    settled: datetime | None = None
    newest: datetime | None = None


@dataclass(frozen=True)
class Evaluation:
    """The verdicts of one evaluation at `now`; days that were `judged` before are not judged again."""

    evidence: Evidence
    now: datetime
    judged: JudgedDays = field(default_factory=JudgedDays)

    @cached_property
    def _whole(self) -> dict[str, pl.DataFrame]:
        """Rows of windows that were wholly observed: of relations that do not say so, as goodput has it."""
        rows = self.evidence.rows
        whole = {name: frame.filter(~pl.col("partial")) for name, frame in rows.items() if "partial" in frame.columns}
        cut = [frame.filter("partial").select(_WINDOW) for frame in rows.values() if "partial" in frame.columns]
        others = {name: frame for name, frame in rows.items() if name not in whole}
        if cut:
            partial = pl.concat(cut).unique()
            others = {name: frame.join(partial, on=_WINDOW, how="anti") for name, frame in others.items()}
        return whole | others

    @cached_property
    def _starts(self) -> pl.Series:
        """Start of every window of the alarms' length, in Unix seconds."""
        step_s = self.evidence.settings.alarms.window_s
        frames = [frame.filter(pl.col("window_s") == step_s) for frame in self._whole.values()]
        return pl.concat([pl.Series("window_start", [], pl.Int64), *(f["window_start"].dt.epoch("s") for f in frames)])

    @cached_property
    def grid(self) -> Grid | None:
        """The grid of all windows; None before the first whole one."""
        first, last = (int(at) if isinstance(at, int) else None for at in (self._starts.min(), self._starts.max()))
        if first is None or last is None:
            return None
        return grid_of(first, last, self.evidence.settings.alarms.window_s)

    @cached_property
    def until(self) -> int:
        """Windows from the grid's first to the newest whole one."""
        newest = self._starts.max()
        assert self.grid is not None  # noqa: S101
        assert isinstance(newest, int)  # noqa: S101
        return (newest - self.grid.start_s) // self.grid.step_s + 1

    @cached_property
    def until_s(self) -> int:
        """End of the newest whole window, in Unix seconds."""
        assert self.grid is not None  # noqa: S101
        return self.grid.end_s(self.until - 1)

    @cached_property
    def _observed(self) -> Observed:
        assert self.grid is not None  # noqa: S101
        evidence = self.evidence
        decided = (of_kind(evidence.actions, "accept"), evidence.operations)
        return observe(self._whole, (self.grid, self.until_s), evidence.settings, decided, self.judged)

    @cached_property
    def rule_series(self) -> list[RuleSeries]:
        """Every rule over every series."""
        if self.grid is None:
            return []
        return [one for kind in rule_kinds() for one in kind.series(self._observed)]

    @cached_property
    def _context(self) -> AlarmContext:
        assert self.grid is not None  # noqa: S101
        operations, observed = operations_of(self.evidence.operations), self._observed
        longer = {one.grid.step_s: one.panels for one in observed.longer}
        return AlarmContext(_limits(self.evidence.settings), operations, self.rule_series, observed.panels, longer)

    @cached_property
    def _methods(self) -> dict[str, str]:
        return methods_of(self.rule_series, self.evidence.settings)

    @cached_property
    def _silences(self) -> list[Action]:
        return of_kind(self.evidence.actions, "silence")

    def _suppressed_now(self, one: RuleSeries) -> Suppression | None:
        return suppressed_now(self._suppressions[str(one.named["alarm_id"])], self.until_s, self.now.timestamp())

    @cached_property
    def _suppressions(self) -> dict[str, Any]:
        if self.grid is None:
            return {}
        alarms = self.evidence.settings.alarms
        operations = operations_of(self.evidence.operations)
        suppressors = Suppressors(self._silences, alarms.page_budget, operations, alarms.allowed_step_ratio)
        return suppressions(self.rule_series, suppressors)

    def alarms(self) -> list[Row]:
        """Rows of `alarms`: the state of every alarm at the newest window."""
        budget = self.evidence.settings.alarms.page_budget
        found = (
            alarm_row(one, self._context, self.until_s, self._suppressed_now(one), budget) for one in self.rule_series
        )
        return [*(row for row in found if row is not None), *self.clock_alarms()]

    def clock_alarms(self) -> list[Row]:
        """Those rows of `alarms` that the clock decides alone."""
        return [] if self.grid is None else [self._silent_telemetry.row()]

    @property
    def _silent_telemetry(self) -> SilentTelemetry:
        evidence, now_s = self.evidence, self.now.timestamp()
        since_s = max(self.until_s, evidence.newest.timestamp() if evidence.newest is not None else 0)
        silence = silenced_at(self._silences, NAMED, now_s)
        return SilentTelemetry(
            since_s, self.now, evidence.settings.alarms.silent_telemetry_s, evidence.seen_live, silence
        )

    def series(self) -> pl.DataFrame:
        """Rows of `alarm_series`."""
        return alarm_series((), 0) if self.grid is None else alarm_series(self.rule_series, self.until_s)

    def transitions(self) -> Iterator[ObservedTransition]:
        """Every transition that history holds, whether it was recorded before or not."""
        if self.grid is not None:
            methods = self._methods
            for one in self.rule_series:
                suppression = self._suppressed_now(one)
                for change in transitions(one, self._suppressions[str(one.named["alarm_id"])], self.until_s):
                    yield observed_transition(change, self._context, methods[one.rule], suppression)
        yield from self._clock_transitions()

    def _clock_transitions(self) -> Iterator[ObservedTransition]:
        if self.grid is not None:
            yield from self._silent_telemetry.transitions()
        yield heartbeat(self.now)

    def new_events(self, recorded: Sequence[Event]) -> list[Event]:
        """Rows to add to `alarm_events`, given those that are there."""
        methods = set(self._methods.values())
        return reconcile(recorded, list(self.transitions()), methods, self._moment, self._unwatched)

    def new_clock_events(self, recorded: Sequence[Event]) -> list[Event]:
        """Those rows of `new_events` that the clock decides alone: all there are of evidence judged before."""
        of_clock = [event for event in recorded if event["metric"] is None]
        return reconcile(of_clock, list(self._clock_transitions()), set(), self._moment)

    @property
    def _unwatched(self) -> set[tuple[str, str]]:
        """Metric and labels, as events have them, of series that are left out because there are too many."""
        every = () if self.grid is None else self._observed.panels.values()
        return {(panel.metric, shown_labels(labels)) for panel in every for labels in panel.unwatched}

    @property
    def _moment(self) -> Moment:
        until = self.now
        if self.grid is not None:
            until = datetime.fromtimestamp(self.until_s, UTC)
        return Moment(self.now, until, self.evidence.settings.alarms.max_age_s, self.evidence.settled)

    def power(self) -> list[Row]:
        """Rows of `alarm_power`."""
        return [row for kind, series in self._of_kind() for row in kind.power(series, self._observed)]

    def standing(self) -> list[Row]:
        """What of the rows of `alarm_power` is known without a replay, by `alarm_id`."""
        return [row for kind, series in self._of_kind() for row in kind.standing(series, self._observed)]

    def _of_kind(self) -> list[tuple[RuleKind, list[RuleSeries]]]:
        if self.grid is None:
            return []
        return [(kind, [one for one in self.rule_series if one.kind == kind.name]) for kind in rule_kinds()]

    def thresholds_for(self, budget: float) -> Iterator[Kept]:
        """By trend rule, the least threshold that keeps a budget of alarms in 1,000 series-days in alarms' windows."""
        if self.grid is not None:
            yield from thresholds_for(budget, [one for one in self.rule_series if not one.is_thin], self._observed)


def _limits(settings: Settings) -> dict[tuple[str, str], float]:
    """Where a series must not go, by workload ("": any) and metric: its gates, its objective, saturation."""
    limits = {("", "kv_usage_ratio"): _SATURATED}
    for name, workload in settings.workloads.items():
        for gate, bound in (("ttft", workload.ttft_s), ("tpot", workload.tpot_s), ("e2e", workload.e2e_s)):
            if bound is not None:
                limits |= {(name, f"p99_{gate}_s"): bound, (name, f"p95_{gate}_s"): bound}
    for slo in settings.slo.values():
        limits |= {(workload, "goodput_ratio"): slo.objective for workload in slo.workload or ("",)}
    return limits
