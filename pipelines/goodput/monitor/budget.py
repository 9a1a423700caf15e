"""Which threshold keeps a budget of alarms on what alike series did in their last weeks, and what it still finds.

Alarms are counted true or false: nobody says which were which. Baselines are those of the thresholds that are in use.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from goodput.monitor.grid import Floats, Ints
from goodput.monitor.power import DRIFTS, replayed_span
from goodput.monitor.replayed import Drifts, Replay, replayed
from goodput.monitor.rule_kind import Observed
from goodput.monitor.rule_series import RuleSeries
from goodput.monitor.states import Debounce, episodes
from goodput.settings.metrics import HIGHEST_COUNT_SCORE, HIGHEST_SCORE

_LEAST, _STEP = 1.5, 0.1
_REPLAYED_SERIES = 200  # of a kind: enough for a median


@dataclass(frozen=True)
class Kept:
    """A rule over all its series: how often it fires in `days` series-days at thresholds now and for the budget.

    `threshold` is None where no threshold that scores can reach keeps it; `delays_s` are medians by the name of a drift
    at that threshold, None where half of the drifts are not found within two days.
    """

    rule: str
    series: int
    days: float
    now: float
    fired_now: int
    threshold: float | None
    fired: int
    delays_s: dict[str, float | None]


def thresholds_for(budget: float, series: Sequence[RuleSeries], observed: Observed) -> Iterator[Kept]:
    """By trend rule the least threshold at which it fires at most `budget` times in 1,000 series-days."""
    span = replayed_span(observed)
    by_rule: dict[str, list[RuleSeries]] = {}
    for one in series:
        if one.trend is not None and np.isfinite(one.score[slice(*span)]).any():
            by_rule.setdefault(one.rule, []).append(one)
    for rule, some in by_rule.items():
        yield _kept(budget, rule, some, observed)


def _kept(budget: float, rule: str, series: Sequence[RuleSeries], observed: Observed) -> Kept:
    span, settings = slice(*replayed_span(observed)), observed.rules[rule]
    patience = Debounce(settings.for_windows, settings.clear_windows)
    now, tried = series[0].threshold, _tried(series[0])
    counts = np.array([_fired(one.score[span], [now, *tried], patience) for one in series])
    fired_now, *fired = counts.sum(axis=0)
    days = float(sum(np.isfinite(one.score[span]).sum() for one in series) / observed.grid.a_day)
    too_many = [n for n, count in enumerate(fired) if 1000 * count > budget * days]
    least = too_many[-1] + 1 if too_many else 0
    if least == len(tried):
        return Kept(rule, len(series), days, now, int(fired_now), None, 0, {})
    how, some = Replay(observed.grid, replayed_span(observed), patience.fire), series[:_REPLAYED_SERIES]
    delays_s = {name: _median_s(how, some, drift, tried[least]) for name, drift in DRIFTS.items()}
    return Kept(rule, len(series), days, now, int(fired_now), tried[least], int(fired[least]), delays_s)


def _tried(one: RuleSeries) -> list[float]:
    """Thresholds up to the highest that scores can reach."""
    of_counts = one.panel is not None and one.panel.kind.chart != "level"
    most = HIGHEST_COUNT_SCORE if of_counts else HIGHEST_SCORE
    return [round(float(threshold), 1) for threshold in np.arange(_LEAST, most, _STEP)]


def _fired(score: Floats, thresholds: Sequence[float], patience: Debounce) -> Ints:
    """How often a series fires at each threshold."""
    known = np.isfinite(score)
    highest = float(score[known].max()) if known.any() else -np.inf
    return np.array(
        [0 if highest < threshold else _episodes(score, threshold, patience) for threshold in thresholds],
        dtype=np.int64,
    )


def _episodes(score: Floats, threshold: float, patience: Debounce) -> int:
    every = episodes(score >= threshold, score < threshold / 2, np.isfinite(score), patience)
    return sum(episode.firing is not None for episode in every)


def _median_s(how: Replay, series: Sequence[RuleSeries], drift: float, threshold: float) -> float | None:
    every = list(replayed(how, series, drift, np.full(len(series), threshold)))
    return Drifts(np.concatenate([one.delays for one in every])).median_s
