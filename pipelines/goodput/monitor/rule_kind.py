"""What a kind of alarm rule is: its settings, its series, its sentences, its evidence. One module of `rules` for each.

A module of that folder holds one object, KIND; that it is there makes the kind known. What most kinds have in common
is what a kind does by default.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from goodput.errors import Mistake
from goodput.monitor.alarm_context import AlarmContext
from goodput.monitor.calendar import Calendar
from goodput.monitor.grid import NAN, Floats, Grid
from goodput.monitor.judged_days import JudgedDays
from goodput.monitor.panel import Panel
from goodput.monitor.rule_series import RuleSeries
from goodput.monitor.where_to_look import evidence_sql
from goodput.monitor.words import quantity_of
from goodput.plumbing.alarm_actions import Action
from goodput.settings.alarms import rules_of
from goodput.settings.model import Settings
from goodput.settings.rule import Rule, kind_names
from goodput.settings.rule_kinds import rule_settings

if TYPE_CHECKING:
    import polars as pl

Facts = Mapping[str, Any]
Row = dict[str, Any]


@dataclass(frozen=True)
class Observed:
    """What rules are judged by: panels by metric, and windows of `grid` before `until`.

    `ages` holds hours since the last restart by pool, where restarts are known; `goodput` the rows of slice
    workload_pool at the windows of alarms and the shortest ones; `accepts` what operators accepted as normal,
    `judged` what days were judged to be before; `longer` is the same in longer windows, for series of thin traffic.
    """

    settings: Settings
    grid: Grid
    until: int
    panels: Mapping[str, Panel]
    calendar: Calendar
    ages: Mapping[str, Floats] = field(default_factory=dict)
    accepts: Sequence[Action] = ()
    goodput: "pl.DataFrame | None" = None
    judged: JudgedDays = field(default_factory=JudgedDays)
    longer: Sequence["Observed"] = ()

    @cached_property
    def rules(self) -> dict[str, Rule]:
        """All rules that are enabled, by name."""
        return rules_of(self.settings.alarms)

    def rules_of(self, kind: str) -> dict[str, Rule]:
        """Those of one kind."""
        return {name: rule for name, rule in self.rules.items() if rule.kind == kind}


class RuleKind:
    """One kind of rule; a new one says at least how it is judged (`series`) and what it states (`headline`).

    `learns_baseline`: it compares a series with its own past, so that an operator may accept a shift, pages have a
    budget, and of latencies that drift together only the first is reported. `inhibited_by` names kinds whose pages
    suppress alarms of this kind on the same metric and series.
    """

    name: ClassVar[str]
    model: type[Rule] = Rule
    takes: frozenset[str] = frozenset()
    beside: frozenset[str] = frozenset()
    learns_baseline: ClassVar[bool] = False
    shows_score: ClassVar[bool] = False
    page_inhibits_ticket: ClassVar[bool] = True
    inhibited_by: ClassVar[tuple[str, ...]] = ()

    def mistakes(self, _key: str, _rule: Rule) -> Iterator[Mistake]:
        """What is wrong with the values of a well-formed rule, at `key` of the settings."""
        yield from ()

    def series(self, observed: Observed) -> Iterator[RuleSeries]:
        """Scores, threshold and episodes of each rule of this kind over each series."""
        raise NotImplementedError

    def headline(self, one: RuleSeries, facts: Facts) -> str:
        """What happened to which series: the beginning of its summary."""
        raise NotImplementedError

    def quantity(self, one: RuleSeries) -> str:
        """What the values of the series are, with their unit."""
        return quantity_of(str(one.metric))

    def facts(self, _one: RuleSeries, _at: int, _context: AlarmContext) -> Row:
        """Facts of an alarm as of a window that only this kind knows."""
        return {}

    def what_to_do(self, _one: RuleSeries) -> str:
        """The section of docs/respond.md for whoever is notified."""
        return f"docs/respond.md#{self.name.replace('_', '-')}"

    def evidence_sql(self, one: RuleSeries, facts: Facts, at_s: int) -> str:
        """One statement over published relations that shows what the alarm saw."""
        return evidence_sql(one, facts, at_s)

    def lines(self, one: RuleSeries) -> tuple[Floats, Floats]:
        """What is usual and where the rule fires, by window, in the unit of the values; NaN: not known."""
        return np.full(len(one.score), NAN), np.full(len(one.score), NAN if one.bound is None else one.bound)

    def judged_by(self, _settings: Settings) -> Row:
        """Settings beside the rule and the calendar that change every verdict."""
        return {}

    def unarmed(self, _one: RuleSeries, _until: int, _fired: int, _page_budget: int) -> str | None:
        """Why an alarm that `fired` so often in 28 days cannot fire now; None: it can."""
        return None

    def power(self, _series: Sequence[RuleSeries], _observed: Observed) -> Iterator[Row]:
        """Rows of alarm_power by replaying its series; none where nothing of the kind can be replayed."""
        yield from ()

    def standing(self, _series: Sequence[RuleSeries], _observed: Observed) -> Iterator[Row]:
        """What of these rows is known without a replay, by `alarm_id`."""
        yield from ()


def rule_kind(name: str) -> RuleKind:
    """The kind called `name`, which is one of `kind_names`."""
    found = rule_settings(name)
    assert isinstance(found, RuleKind)  # noqa: S101  (what the folder of rules holds)
    return found


@cache
def rule_kinds() -> tuple[RuleKind, ...]:
    """All kinds, by name."""
    return tuple(rule_kind(name) for name in kind_names())
