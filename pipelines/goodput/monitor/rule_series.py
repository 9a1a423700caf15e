"""One rule over one series: scores, threshold and episodes, before any word of them.

How each kind of rule computes them is in its module of `rules`; what becomes of an episode is decided later.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from goodput.globs import matches_any
from goodput.monitor.control_chart import ControlChart
from goodput.monitor.grid import NAN, Floats, Grid, medians
from goodput.monitor.inputs import Inputs, Scores
from goodput.monitor.panel import Labels, Panel, natural
from goodput.monitor.states import Episode
from goodput.plumbing.fingerprint import fingerprint
from goodput.settings.rule import Rule


@dataclass(frozen=True)
class RuleSeries:
    """One rule over one series. Arrays are by window of `grid`; `score` is compared with `threshold`, NaN: no verdict.

    `bound` is the value at which a rule fires that knows no baseline, in the unit of `values`; `trend` are the scores
    of one that does, by `chart` of the series of `inputs` in `row`.
    """

    rule: str
    kind: str
    severity: str
    metric: str | None
    labels: Labels
    threshold: float
    score: Floats
    values: Floats
    episodes: tuple[Episode, ...]
    requests: Floats | None = None
    bound: float | None = None
    trend: Scores | None = None
    chart: ControlChart | None = None
    inputs: Inputs | None = None
    panel: Panel | None = None
    row: int = 0
    accepted: frozenset[Episode] = field(default=frozenset())
    grid: Grid = field(kw_only=True)

    @cached_property
    def named(self) -> dict[str, str | None]:
        """What the alarm is called by: its identity and the labels that actions and rules match."""
        labels = dict(self.labels)
        return {
            "alarm_id": alarm_id(self.rule, self.labels, self.grid.step_s if self.is_thin else None),
            "rule": self.rule,
            "severity": self.severity,
            "metric": self.metric,
            **{name: labels.get(name) for name in ("workload", "pool", "replica")},
            "labels": shown_labels(self.labels),
        }

    @property
    def is_thin(self) -> bool:
        """Whether it has too little traffic for the windows of alarms, so that its own are longer."""
        return self.panel is not None and self.panel.is_thin

    @property
    def usual(self) -> Floats:
        """What is usual in each window, in the metric's own unit; NaN where nothing is known to be."""
        if self.trend is None or self.panel is None or self.panel.kind.per == "replica":
            return np.full(len(self.score), NAN)
        return natural(self.panel.kind, self.trend.usual[0])


def alarm_id(rule: str, labels: Labels, longer_s: int | None = None) -> str:
    """Identity of an alarm, the same in every run: 12 hex digits of its rule and series, and of longer windows."""
    return fingerprint(rule, labels, *(() if longer_s is None else (longer_s,)))[:12]


def shown_labels(labels: Labels) -> str:
    """Labels as tables of alarms have them."""
    return json.dumps(dict(labels))


def began_s(one: RuleSeries, at: int) -> int:
    """When the condition that holds in a window began to, in Unix seconds."""
    begun = [episode.pending for episode in one.episodes if episode.pending <= at]
    return one.grid.end_s(max(begun, default=at) - 1)


def spans(one: RuleSeries) -> Iterator[tuple[Episode, int, int | None]]:
    """Episodes that fired, each with when it began to fire and when that was over."""
    for episode in one.episodes:
        if episode.firing is not None:
            ends_s = None if episode.resolved is None else one.grid.end_s(episode.resolved)
            yield episode, one.grid.end_s(episode.firing), ends_s


def selects(rule: Rule, labels: Labels) -> bool:
    """Whether a rule is about a series: each label that it names matches a glob."""
    given = dict(labels)
    wanted = rule.wanted.items()
    return all(matches_any(given.get(name, ""), globs) for name, globs in wanted if globs)


def selected(rules: Mapping[str, Rule], panels: Mapping[str, Panel]) -> Iterator[tuple[str, Rule, Panel, int]]:
    """Each rule, by its name, with the panel of its metric and the row of each series there that it selects."""
    for name, rule in rules.items():
        panel = panels.get(rule.metric or "")
        for row, labels in enumerate(() if panel is None else panel.labels):
            if panel is not None and selects(rule, labels):
                yield name, rule, panel, row


def too_few_requests(one: RuleSeries, until: int) -> str | None:
    """Says that most windows of the last day have too few requests for their quantile, where they do."""
    if one.panel is None or one.requests is None or one.panel.trials is not None:
        return None
    least = one.panel.kind.least_requests
    newest = one.requests[max(until - one.grid.a_day, 0) : until]
    requests = newest[newest > 0]
    if not len(requests) or medians(requests) >= least:
        return None
    if requests.max() < least:
        return f"too little traffic: at most {requests.max():.0f} requests a window, {least} are needed"
    enough = (requests >= least).sum()
    return f"too little traffic: {enough} of {len(requests)} windows have the {least} requests that are needed"
