"""Absolute rules: the value itself against a bound."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from goodput.errors import Mistake
from goodput.monitor.grid import NAN, Floats
from goodput.monitor.panel import Panel
from goodput.monitor.rule_kind import Facts, Observed, RuleKind
from goodput.monitor.rule_series import RuleSeries, selected, too_few_requests
from goodput.monitor.states import Debounce, episodes
from goodput.monitor.words import series_name, shown
from goodput.settings.rule import Rule
from goodput.settings.watched import metric_of

_CLEAR_OF_BOUND = 0.1  # an absolute alarm is over a tenth of its bound away from it


class Absolute(RuleKind):
    """Fires while values of the series lie beyond a bound, in the unit of the metric."""

    name: ClassVar[str] = "absolute"
    takes = frozenset({"above", "below"})

    def mistakes(self, key: str, rule: Rule) -> Iterator[Mistake]:
        """No bound, or one that no value or every value is beyond."""
        metric = metric_of(rule.metric or "")
        is_ratio = metric is not None and metric.scale == "logit"
        if (rule.above is None) == (rule.below is None):
            yield Mistake(key, "needs a bound", "either above or below")
        elif rule.above is not None and rule.above >= 1 and is_ratio:
            yield Mistake(f"{key}.above", f"{rule.above} can never fire: a ratio is at most 1", "less than 1")
        elif rule.above is not None and rule.above < 0:
            yield Mistake(f"{key}.above", f"{rule.above} always fires: {rule.metric} is never negative", "0 or more")
        elif rule.below is not None and rule.below <= 0:
            wrong = f"{rule.below} can never fire: {rule.metric} is never negative"
            yield Mistake(f"{key}.below", wrong, "more than 0")
        elif rule.below is not None and rule.below > 1 and is_ratio:
            yield Mistake(f"{key}.below", f"{rule.below} always fires: a ratio is at most 1", "at most 1")

    def series(self, observed: Observed) -> Iterator[RuleSeries]:
        """Each rule over each series of its metric that it selects."""
        for name, rule, panel, row in selected(observed.rules_of(self.name), observed.panels):
            yield _bounded(name, rule, panel, row)

    def unarmed(self, one: RuleSeries, until: int, _fired: int, _page_budget: int) -> str | None:
        """Too little traffic for its quantile."""
        return too_few_requests(one, until)

    def headline(self, one: RuleSeries, facts: Facts) -> str:
        """The value and its bound."""
        return (
            f"{series_name(one)} is {shown(one.metric, facts.get('value'))} (bound {shown(one.metric, one.threshold)})"
        )


def _believed(panel: Panel, row: int) -> Floats:
    values: Floats = panel.values[row]
    if panel.requests is None:
        return values
    return np.where(panel.requests[row] >= panel.kind.least_requests, values, NAN)


def _bounded(name: str, rule: Rule, panel: Panel, row: int) -> RuleSeries:
    values = _believed(panel, row)
    sign = 1.0 if rule.above is not None else -1.0
    bound = rule.above if rule.above is not None else rule.below
    assert bound is not None  # noqa: S101  (settings without a bound are refused)
    found = episodes(
        sign * values > sign * bound,
        sign * values <= sign * bound - _CLEAR_OF_BOUND * abs(bound),
        np.isfinite(values),
        Debounce(rule.for_windows, rule.clear_windows),
    )
    requests = None if panel.requests is None else panel.requests[row]
    parts = (name, Absolute.name, rule.severity, rule.metric, panel.labels[row], bound, values, values, tuple(found))
    return RuleSeries(*parts, requests=requests, bound=bound, panel=panel, row=row, grid=panel.grid)


KIND = Absolute()
