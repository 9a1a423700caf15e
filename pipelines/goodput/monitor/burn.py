"""Burn rates of goodput objectives: how many times too fast the error budget goes, over a long and a short window.

Sums of bad over sums of all, never the mean of ratios; both windows must burn, so the short one resets the alarm.
"""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase

import numpy as np
import polars as pl

from goodput.monitor.grid import NAN, Floats, Grid
from goodput.monitor.states import Patience, episodes
from goodput.monitor.watched import Watched
from goodput.settings.alarms import BurnRate, Slo

_LEAST_BAD = 10  # requests that would spend the budget exactly; fewer offered say nothing of a rate


def watched_burn_rates(
    goodput: pl.DataFrame, slos: Mapping[str, Slo], grid: Grid, grain_s: int, until: int
) -> Iterator[Watched]:
    """Every burn rate of every objective, judged at each window of `grid` before `until`.

    `goodput` holds rows of the slice workload_pool at windows of `grain_s`, the shortest there are.
    """
    for name, slo in slos.items():
        offered, good = _sums(goodput, slo, Grid(grid.start_s, grid.days, grain_s))
        for burn in slo.burn_rates:
            yield _watched(name, slo, burn, (offered, good), grid, grain_s, until)


def _sums(goodput: pl.DataFrame, slo: Slo, fine: Grid) -> tuple[Floats, Floats]:
    """Offered and good requests up to the end of each fine window, with a 0 before the first."""
    globs = {"workload": slo.workload, "pool": slo.pool}
    chosen = goodput.filter(pl.col("window_s") == fine.step_s)
    for column, wanted in globs.items():
        if wanted:
            names = [n for n in chosen[column].unique().to_list() if any(fnmatchcase(n or "", g) for g in wanted)]
            chosen = chosen.filter(pl.col(column).is_in(names))
    at = fine.index(chosen["window_start"].dt.epoch("s").to_numpy())
    sums = []
    for told in (chosen["offered"], chosen["goodput_rps"] * fine.step_s):
        by_window = np.zeros(fine.windows + 1)
        inside = (at >= 0) & (at < fine.windows)
        np.add.at(by_window, at[inside] + 1, told.cast(pl.Float64).to_numpy()[inside])
        sums.append(np.cumsum(by_window))
    return sums[0], sums[1]


def _watched(  # noqa: PLR0913, PLR0917  (one pair of windows of one objective)
    name: str, slo: Slo, burn: BurnRate, sums: tuple[Floats, Floats], grid: Grid, grain_s: int, until: int
) -> Watched:
    ends = (np.arange(grid.windows) + 1) * (grid.step_s // grain_s)
    rates, offered = [], np.zeros(grid.windows)
    for length_s in (burn.short_s, burn.long_s):
        begins = np.maximum(ends - length_s // grain_s, 0)
        offered, good = (total[ends] - total[begins] for total in sums)
        bad = 1 - good / np.where(offered > 0, offered, NAN)
        rates.append(np.where(offered > 0, bad, 0.0) / (1 - slo.objective))
    enough = (offered >= _LEAST_BAD / (1 - slo.objective)) & (np.arange(grid.windows) < until)
    rate = np.where(enough, np.minimum(*rates), NAN)
    threshold = burn.threshold(slo.period_s)
    found = tuple(episodes(rate > threshold, rate <= threshold, enough, Patience(1, 1)))
    rule = f"{name}_burn_{burn.long_s // 3600}h_{burn.severity}"
    globs = {"workload": slo.workload, "pool": slo.pool}
    labels = tuple((label, ", ".join(wanted)) for label, wanted in globs.items() if wanted)
    parts = (rule, "burn_rate", burn.severity, "goodput_ratio", labels, threshold)
    left = 1 - slo.objective
    values, bound = 1 - rates[1] * left, 1 - threshold * left
    return Watched(*parts, score=rate, values=values, episodes=found, requests=offered, bound=bound)
