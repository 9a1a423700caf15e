"""Trend rules: a series against its own baseline. Series of a metric are scored together, then followed one by one."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from goodput.errors import Mistake
from goodput.monitor.alarm_context import AlarmContext
from goodput.monitor.follow import Accepted, Followable, Terms, follow
from goodput.monitor.grid import NAN, Floats
from goodput.monitor.judged_panels import JudgedPanel, judged_panels
from goodput.monitor.panel import Panel, natural, worse
from goodput.monitor.power import power_rows, standing_rows, unarmed
from goodput.monitor.rule_kind import Facts, Observed, Row, RuleKind
from goodput.monitor.rule_series import RuleSeries, selected
from goodput.monitor.states import Debounce
from goodput.monitor.trend_facts import trend_facts
from goodput.monitor.trend_words import trend_headline
from goodput.plumbing.alarm_actions import Action
from goodput.settings.alarms import threshold_of
from goodput.settings.metrics import HIGHEST_COUNT_SCORE, HIGHEST_SCORE
from goodput.settings.rule import Rule
from goodput.settings.watched import metric_of

_SECTIONS = (  # of docs/respond.md, by a part of a metric's name; the first that it has
    (("replica_",), "one-replica"),
    (("_queue_s",), "queue"),
    (("_ttft_s", "_tpot_s", "_e2e_s"), "latency"),
    (("goodput_ratio",), "goodput"),
    (("failed",), "failures"),
    (("retry_ratio",), "retries"),
    (("pass_ratio",), "quality"),
    (("cost_per_accepted_usd",), "cost"),
    (("kv_usage_ratio", "preemptions"), "kv-cache"),
    (("hit_ratio",), "cache-hits"),
)
_NEARLY = 0.999  # an average reaches the highest score only after a day of the worst


class Trend(RuleKind):
    """Fires while a series strays from its own baseline, in sigma of its own noise."""

    name: ClassVar[str] = "trend"
    takes = frozenset({"threshold", "worse"})
    learns_baseline: ClassVar[bool] = True
    shows_score: ClassVar[bool] = True
    inhibited_by: ClassVar[tuple[str, ...]] = ("absolute",)

    def mistakes(self, key: str, rule: Rule) -> Iterator[Mistake]:
        """A threshold that scores never reach, or always exceed; a metric of which nobody knows which way is worse."""
        metric = metric_of(rule.metric or "")
        if metric is not None and metric.worse is None and rule.worse is None:
            yield Mistake(f"{key}.worse", f"nobody says which way {rule.metric} is worse", '"up" or "down"')
        most = _NEARLY * HIGHEST_SCORE if metric is None or metric.chart == "level" else HIGHEST_COUNT_SCORE
        if rule.threshold is not None and not 0 < rule.threshold < most:
            does = "always fires" if rule.threshold <= 0 else "can never fire"
            right = f"above 0 and below {most:.3g} sigma, the highest score there is"
            yield Mistake(f"{key}.threshold", f"{rule.threshold} {does}", right)

    def series(self, observed: Observed) -> Iterator[RuleSeries]:
        """Each rule over each series of its metric that it selects, by what operators accepted as the new normal."""
        rules = observed.rules_of(self.name)
        for level, judged in judged_panels(observed, rules):
            for one in judged.values():
                mine = {name: rule for name, rule in rules.items() if rule.worse == one.panel.worse}
                found = selected(mine, {one.panel.metric: one.panel})
                yield from _followed([_unfollowed(name, rule, one, row) for name, rule, _, row in found], one, level)

    def headline(self, one: RuleSeries, facts: Facts) -> str:
        """How the series moved, since when, and where that leads."""
        return trend_headline(one, facts)

    def facts(self, one: RuleSeries, at: int, context: AlarmContext) -> Row:
        """Shape, slope and excess."""
        return trend_facts(one, at, context)

    def what_to_do(self, one: RuleSeries) -> str:
        """By what its metric is of."""
        metric = one.metric or ""
        section = next((name for words, name in _SECTIONS if any(word in metric for word in words)), "any-other-trend")
        return f"docs/respond.md#{section}"

    def lines(self, one: RuleSeries) -> tuple[Floats, Floats]:
        """What is usual, and that plus the threshold; of a replica where its peers would have had it."""
        assert one.trend is not None  # noqa: S101
        assert one.panel is not None  # noqa: S101
        assert one.chart is not None  # noqa: S101
        kind, usual, bound = one.panel.kind, one.trend.usual[0], one.chart.bound(one.trend.judged, one.threshold)[0]
        if kind.per == "replica":
            at_peers = worse(kind, one.values) - one.trend.residual[0]
            usual, bound = at_peers, at_peers + bound - usual
        return natural(kind, usual), natural(kind, bound)

    def unarmed(self, one: RuleSeries, until: int, fired: int, page_budget: int) -> str | None:
        """Too little traffic or history, or its budget of pages is spent."""
        return unarmed(one, until, fired, page_budget)

    def power(self, series: Sequence[RuleSeries], observed: Observed) -> Iterator[Row]:
        """What rules would have found in these series."""
        for level in (observed, *observed.longer):
            yield from power_rows([one for one in series if one.grid == level.grid], level)

    def standing(self, series: Sequence[RuleSeries], observed: Observed) -> Iterator[Row]:
        """Whether each may page now, and why not."""
        for level in (observed, *observed.longer):
            yield from standing_rows([one for one in series if one.grid == level.grid], level)


def _unfollowed(name: str, rule: Rule, one: JudgedPanel, row: int) -> RuleSeries:
    panel = one.panel
    parts = (name, Trend.name, rule.severity, rule.metric, panel.labels[row], threshold_of(rule, panel.grid.step_s))
    return RuleSeries(
        *parts,
        score=np.where(one.relieved[row], NAN, one.scores.score[row]),
        values=panel.values[row],
        episodes=(),
        requests=None if panel.requests is None else panel.requests[row],
        trend=one.scores.of(row),
        chart=one.chart,
        inputs=one.inputs,
        panel=panel,
        row=row,
        grid=panel.grid,
    )


def _followed(series: Sequence[RuleSeries], one: JudgedPanel, observed: Observed) -> list[RuleSeries]:
    """Rules over series of one panel, with their episodes: those that reach their threshold, or were accepted."""
    found = list(series)
    given: dict[int, Followable] = {}
    for n, plain in enumerate(series):
        accepts = [action for action in observed.accepts if action.matches(plain.named)]
        reached = bool(np.any(plain.score >= plain.threshold))
        if (reached or accepts) and plain.trend is not None:
            rule = observed.rules[plain.rule]
            terms = Terms(plain.threshold, Debounce(rule.for_windows, rule.clear_windows), one.relieved[plain.row])
            accepted = [spans for action in accepts if (spans := _in_windows(action, one.panel))]
            given[n] = Followable(one.inputs.of(plain.row), plain.trend, terms, accepted)
    for n, followed in zip(given, follow(one.chart, list(given.values()), observed.judged), strict=True):
        found[n] = replace(
            series[n],
            episodes=followed.episodes,
            accepted=followed.accepted,
            trend=followed.scores,
            score=np.where(one.relieved[series[n].row], NAN, followed.scores.score[0]),
        )
    return found


def _in_windows(action: Action, panel: Panel) -> Accepted | None:
    """What was accepted, in windows; None where it lies outside the series, or nothing lies in between."""
    grid = panel.grid
    since, at = ((int(t.timestamp()) - grid.start_s) // grid.step_s for t in (action.begins, action.said_at))
    at = min(at, grid.windows)
    return Accepted(since, at) if 0 <= since < at else None


KIND = Trend()
