"""Rules that need no model of a series: absolute bounds. What follows from empty windows is in `absence`."""

from collections.abc import Iterator, Mapping

import numpy as np

from goodput.monitor.grid import NAN, Floats
from goodput.monitor.series import Panel
from goodput.monitor.states import Patience, episodes
from goodput.monitor.watched import Watched, selects
from goodput.settings.alarms import Rule

_CLEAR_OF_BOUND = 0.1  # an absolute alarm is over a tenth of its bound away from it


def watched_bounds(panels: Mapping[str, Panel], rules: Mapping[str, Rule]) -> Iterator[Watched]:
    """All absolute rules: the value itself against a bound."""
    for name, rule in rules.items():
        panel = panels.get(rule.metric or "")
        if rule.kind == "absolute" and panel is not None:
            values = _believed(panel)
            for row, labels in enumerate(panel.labels):
                if selects(rule, labels):
                    yield _bounded(name, rule, panel, row, values[row])


def _believed(panel: Panel) -> Floats:
    if panel.requests is None:
        return panel.values
    return np.where(panel.requests >= panel.kind.least_requests, panel.values, NAN)


def _bounded(name: str, rule: Rule, panel: Panel, row: int, values: Floats) -> Watched:
    sign = 1.0 if rule.above is not None else -1.0
    bound = rule.above if rule.above is not None else rule.below
    assert bound is not None  # noqa: S101  (settings without a bound are refused)
    found = episodes(
        sign * values > sign * bound,
        sign * values <= sign * bound - _CLEAR_OF_BOUND * abs(bound),
        np.isfinite(values),
        Patience(rule.for_windows, rule.clear_windows),
    )
    requests = None if panel.requests is None else panel.requests[row]
    parts = (name, "absolute", rule.severity, rule.metric, panel.labels[row], bound, values, values, tuple(found))
    return Watched(*parts, requests=requests, bound=bound, panel=panel, row=row)
