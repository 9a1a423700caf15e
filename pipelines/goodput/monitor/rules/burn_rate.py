"""Burn rates of goodput objectives: how many times too fast the error budget goes, over a long and a short window.

Sums of bad over sums of all, never the mean of ratios; both windows must burn, so the short one resets the alarm.
"""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import polars as pl

from goodput.errors import Mistake
from goodput.globs import WILD, matches_any, regular
from goodput.monitor.good_requests import GoodRequests
from goodput.monitor.grid import NAN, Grid
from goodput.monitor.rule_kind import Facts, Observed, Row, RuleKind
from goodput.monitor.rule_series import RuleSeries
from goodput.monitor.states import Debounce, episodes
from goodput.monitor.where_to_look import onset_s, sql_text, verdicts_sql
from goodput.monitor.words import series_name
from goodput.settings.alarms import HOUR_S, BurnRate, Slo
from goodput.settings.model import Settings
from goodput.settings.rule import Rule

_LEAST_BAD = 10  # requests that would spend the budget exactly; fewer offered say nothing of a rate


class BurnRateKind(RuleKind):
    """Fires while the error budget of an objective, [slo.NAME], burns too fast; no rule of [alarms.rules] is of it."""

    name: ClassVar[str] = "burn_rate"
    shows_score: ClassVar[bool] = True
    page_inhibits_ticket: ClassVar[bool] = False

    def mistakes(self, key: str, _rule: Rule) -> Iterator[Mistake]:
        """A rule of [alarms.rules] has no error budget."""
        yield Mistake(f"{key}.kind", "a burn rate needs an objective", "[slo.NAME], which has such rules by itself")

    def series(self, observed: Observed) -> Iterator[RuleSeries]:
        """Every burn rate of every objective."""
        grid, grain_s = observed.grid, min(observed.settings.windows_s)
        if observed.goodput is None:
            return
        for name, slo in observed.settings.slo.items():
            chosen = _chosen(observed.goodput, slo, grain_s)
            totals = GoodRequests.of(chosen, Grid(grid.start_s, grid.days, grain_s), observed.settings)
            for burn in slo.burn_rates:
                yield _burning(name, slo, burn, totals, observed)

    def headline(self, one: RuleSeries, facts: Facts) -> str:
        """How many times too fast the budget burns."""
        return (
            f"{series_name(one)}: the error budget burns {facts['score']:.1f} times too fast "
            f"(bound {one.threshold:.1f})"
        )

    def evidence_sql(self, one: RuleSeries, facts: Facts, at_s: int) -> str:
        """Verdicts of requests that any glob of each label matches."""
        matching = ["(" + " OR ".join(_matches(name, globs)) + ")" for name, globs in one.labels]
        return verdicts_sql(matching, onset_s(facts, at_s), at_s)

    def judged_by(self, settings: Settings) -> Row:
        """The objectives."""
        return {name: slo.model_dump() for name, slo in settings.slo.items()}


def _matches(name: str, globs: str) -> Iterator[str]:
    for glob in globs.split(", "):
        is_wild = WILD.intersection(glob)
        pattern = f"regexp_matches(coalesce({name}, ''), {sql_text(regular([glob]))})"
        yield pattern if is_wild else f"{name} = {sql_text(glob)}"


def _chosen(goodput: pl.DataFrame, slo: Slo, window_s: int) -> pl.DataFrame:
    chosen = goodput.filter(pl.col("window_s") == window_s)
    for column, wanted in {"workload": slo.workload, "pool": slo.pool}.items():
        if wanted:
            names = [n for n in chosen[column].unique().to_list() if matches_any(n or "", wanted)]
            chosen = chosen.filter(pl.col(column).is_in(names))
    return chosen


def _burning(name: str, slo: Slo, burn: BurnRate, totals: GoodRequests, observed: Observed) -> RuleSeries:
    grid, grain_s = observed.grid, min(observed.settings.windows_s)
    ends = (np.arange(grid.windows) + 1) * (grid.step_s // grain_s)
    rates, offered = [], np.zeros(grid.windows)
    for length_s in (burn.short_s, burn.long_s):
        begins, longest = (np.maximum(ends - of_s // grain_s, 0) for of_s in (length_s, burn.long_s))
        offered, good = totals.between(begins, ends, longest)
        bad = 1 - good / np.where(offered > 0, offered, NAN)
        rates.append(np.where(offered > 0, bad, 0.0) / (1 - slo.objective))
    enough = (offered >= _LEAST_BAD / (1 - slo.objective)) & (np.arange(grid.windows) < observed.until)
    rate = np.where(enough, np.minimum(*rates), NAN)
    threshold = burn.threshold(slo.period_s)
    found = tuple(episodes(rate > threshold, rate <= threshold, enough, Debounce(1, 1)))
    rule = f"{name}_burn_{_in_words(burn.long_s)}_{burn.severity}"
    globs = {"workload": slo.workload, "pool": slo.pool}
    labels = tuple((label, ", ".join(wanted)) for label, wanted in globs.items() if wanted)
    parts = (rule, BurnRateKind.name, burn.severity, "goodput_ratio", labels, threshold)
    left = 1 - slo.objective
    values, bound = 1 - rates[1] * left, 1 - threshold * left
    return RuleSeries(*parts, score=rate, values=values, episodes=found, requests=offered, bound=bound, grid=grid)


def _in_words(length_s: int) -> str:
    return f"{length_s // 60}m" if length_s % HOUR_S else f"{length_s // HOUR_S}h"


KIND = BurnRateKind()
