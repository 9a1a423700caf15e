"""Trend rules over all series of their metric: scored together; followed one by one where a threshold is reached."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from goodput.monitor.calendar import Calendar
from goodput.monitor.detector import Inputs, Scores, score
from goodput.monitor.grid import NAN, Flags, Floats
from goodput.monitor.series import Panel, sampling_error, scaled
from goodput.monitor.states import Patience
from goodput.monitor.trend import Accepted, Terms, follow
from goodput.monitor.watched import Watched, selects
from goodput.plumbing.alarm_actions import Action
from goodput.settings.alarms import Rule, threshold_of
from goodput.settings.metrics import FLOOR


@dataclass(frozen=True)
class Judged:
    """A panel with its scores; in `relieved` windows another metric watches instead."""

    panel: Panel
    inputs: Inputs
    scores: Scores
    relieved: Flags


def judged(panels: Mapping[str, Panel], calendar: Calendar, ages: Mapping[str, Floats]) -> dict[str, Judged]:
    """Scores of all panels by metric; `ages` holds hours since the last restart by pool, where restarts are known."""
    found: dict[str, Judged] = {}
    for name, panel in panels.items():
        floor = FLOOR[panel.kind.scale]
        inputs = Inputs(panel.grid, calendar, scaled(panel), floor, sampling_error(panel), _ages(panel, ages))
        found[name] = Judged(panel, inputs, score(inputs), np.zeros(panel.values.shape, dtype=np.bool_))
    return {name: replace(one, relieved=_relieved(one.panel, found)) for name, one in found.items()}


def _ages(panel: Panel, ages: Mapping[str, Floats]) -> Floats | None:
    pools = [dict(labels).get("pool", "") for labels in panel.labels]
    if not ages.keys() & set(pools):
        return None
    unknown = np.full(panel.grid.windows, NAN)
    return np.stack([ages.get(pool, unknown) for pool in pools])


def _relieved(panel: Panel, found: Mapping[str, Judged]) -> Flags:
    relieved = np.zeros(panel.values.shape, dtype=np.bool_)
    other = found.get(panel.kind.stands_in_for or "")
    if other is not None:
        rows = {labels: row for row, labels in enumerate(other.panel.labels)}
        mine = [row for row, labels in enumerate(panel.labels) if labels in rows]
        relieved[mine] = ~other.scores.learning[[rows[panel.labels[row]] for row in mine]]
    return relieved


def watched_trends(
    found: Mapping[str, Judged], rules: Mapping[str, Rule], accepts: Sequence[Action]
) -> Iterator[Watched]:
    """All trend rules over all series of their metric, with what operators accepted as the new normal."""
    for name, rule in rules.items():
        one = found.get(rule.metric or "")
        if rule.kind == "trend" and one is not None:
            threshold = threshold_of(rule, one.panel.grid.step_s)
            reached = np.any((one.scores.score >= threshold) & ~one.relieved, axis=1)
            for row, labels in enumerate(one.panel.labels):
                if selects(rule, labels):
                    plain = _plain(name, rule, threshold, one, row)
                    said = [_in_windows(a, one.panel) for a in accepts if a.matches(plain.named)]
                    yield _followed(plain, rule, one, [a for a in said if a]) if reached[row] or said else plain


def _plain(name: str, rule: Rule, threshold: float, one: Judged, row: int) -> Watched:
    panel = one.panel
    parts = (name, "trend", rule.severity, rule.metric, panel.labels[row], threshold)
    return Watched(
        *parts,
        score=np.where(one.relieved[row], NAN, one.scores.score[row]),
        values=panel.values[row],
        episodes=(),
        requests=None if panel.requests is None else panel.requests[row],
        trend=Scores(*(part[row : row + 1] for part in vars(one.scores).values())),
        panel=panel,
        row=row,
    )


def _followed(plain: Watched, rule: Rule, one: Judged, accepts: Sequence[Accepted]) -> Watched:
    relieved = one.relieved[plain.row]
    assert plain.trend is not None  # noqa: S101
    terms = Terms(plain.threshold, Patience(rule.for_windows, rule.clear_windows), relieved)
    followed = follow(one.inputs.of(plain.row), plain.trend, terms, accepts)
    return replace(
        plain,
        episodes=followed.episodes,
        accepted=followed.accepted,
        trend=followed.scores,
        score=np.where(relieved, NAN, followed.scores.score[0]),
    )


def _in_windows(action: Action, panel: Panel) -> Accepted | None:
    """What was accepted, in windows; None where it lies outside the series, or nothing lies in between."""
    grid = panel.grid
    since, at = ((int(t.timestamp()) - grid.start_s) // grid.step_s for t in (action.begins, action.said_at))
    at = min(at, grid.windows)
    return Accepted(since, at) if 0 <= since < at else None
