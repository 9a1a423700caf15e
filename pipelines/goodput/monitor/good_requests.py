"""Offered and good requests of any stretch of windows, by which error budgets are counted.

See docs/alarms.md#objectives.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Self

import numpy as np
import polars as pl

from goodput.monitor.grid import NAN, Floats, Grid, Ints
from goodput.settings.model import Settings

COLUMNS = frozenset({"need_label", "labelled", "goodput_upper_rps"})  # of goodput, beside what every rule reads
_Z = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True)
class _LabelledRequests:
    """Requests of a workload up to the end of each window, some windows of which have labels and some have none."""

    passed: Floats  # in windows with labels, as estimated, of those that need one
    needed: Floats
    labels: Floats
    may_pass: Floats  # in windows without
    unjudged: Floats

    @classmethod
    def of(cls, rows: pl.DataFrame, grid: Grid) -> Self:
        """By rows of one workload."""
        with_labels, without = rows.filter(pl.col("labelled") > 0), rows.filter(pl.col("labelled") == 0)
        judged = (_up_to(with_labels, column, grid) for column in ("good", "need_label", "labelled"))
        return cls(*judged, *(_up_to(without, column, grid) for column in ("good", "need_label")))

    def between(self, begins: Ints, ends: Ints, known_from: Ints) -> Floats:
        """Those that pass: where no label is, the largest share that labels here, else since `known_from`, allow."""
        here = self.labels[ends] > self.labels[begins]
        share = self._largest_share(np.where(here, begins, known_from), ends)
        passed, may_pass, unjudged = (
            total[ends] - total[begins] for total in (self.passed, self.may_pass, self.unjudged)
        )
        found: Floats = passed + np.where(np.isnan(share), may_pass, np.minimum(may_pass, unjudged * share))
        return found

    def _largest_share(self, begins: Ints, ends: Ints) -> Floats:
        """The upper end of Wilson's interval of the share that passes, 1 or less; NaN without a label."""
        passed, needed, labels = (total[ends] - total[begins] for total in (self.passed, self.needed, self.labels))
        n = np.where(labels > 0, labels, NAN)
        share = np.clip(passed / np.where(labels > 0, needed, NAN), 0, 1)
        half = _Z * np.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
        found: Floats = (share + _Z**2 / (2 * n) + half) / (1 + _Z**2 / n)
        return found


@dataclass(frozen=True)
class GoodRequests:
    """Requests up to the end of each window of a grid, with a 0 before the first: they may be taken from each other."""

    offered: Floats
    known: Floats  # good ones of workloads that need no label, or whose policy says what those without one are
    judged: Sequence[_LabelledRequests]

    @classmethod
    def of(cls, goodput: pl.DataFrame, grid: Grid, settings: Settings) -> Self:
        """By rows of goodput, of windows as long as those of the grid, each of one workload.

        Of labels that nobody drew there is no estimate: what is sure to fail is bad.
        """
        policies = {name: of.quality.unlabelled for name, of in settings.workloads.items() if of.quality is not None}
        estimated = [name for name, policy in policies.items() if policy == "estimate"]
        needs = pl.col("workload").is_in(estimated) & pl.col("goodput_rps").is_not_null() & (pl.col("need_label") > 0)
        rows = goodput.with_columns(
            good=pl.coalesce("goodput_rps", "goodput_upper_rps") * grid.step_s, needs=needs.fill_null(value=False)
        )
        judged = rows.filter("needs").partition_by("workload", maintain_order=True)
        return cls(
            _up_to(rows, "offered", grid),
            _up_to(rows.filter(~pl.col("needs")), "good", grid),
            [_LabelledRequests.of(one, grid) for one in judged],
        )

    def between(self, begins: Ints, ends: Ints, known_from: Ints) -> tuple[Floats, Floats]:
        """Offered and good ones from some windows on and before others, by their number.

        Without a label in between, those since windows `known_from` tell which share passes.
        """
        good = self.known[ends] - self.known[begins]
        for one in self.judged:
            good = good + one.between(begins, ends, known_from)
        return self.offered[ends] - self.offered[begins], good


def _up_to(rows: pl.DataFrame, column: str, grid: Grid) -> Floats:
    by_window = np.zeros(grid.windows + 1)
    at = grid.index(rows["window_start"].dt.epoch("s").to_numpy())
    inside = (at >= 0) & (at < grid.windows)
    np.add.at(by_window, at[inside] + 1, rows[column].cast(pl.Float64).to_numpy()[inside])
    return np.cumsum(by_window)
