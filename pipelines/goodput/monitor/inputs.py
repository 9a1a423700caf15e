"""What a detector is given and what it gives: series on a grid with what is known beside them, and their scores."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from goodput.monitor.calendar import Calendar
from goodput.monitor.grid import NAN, Flags, Floats, Grid, Ints

Judged = Mapping[str, Floats]  # arrays by name, series x windows: at least "usual" and "scale"
_Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Inputs:
    """Series of one kind on a grid: more is worse, NaN is no data. Arrays are series x windows.

    `floor` is the least sigma that is believed, `age_h` the hours since the last restart, `aside` windows that are
    judged but are no history. Values that are a quantile come with the number of `requests` that they are of and the
    `body`, a lower quantile, on the same scale; values that are ratios of counts with those, `events` of `trials`.
    """

    grid: Grid
    calendar: Calendar
    values: Floats
    floor: float
    age_h: Floats | None = None
    aside: Flags | None = None
    requests: Floats | None = None
    body: Floats | None = None
    events: Floats | None = None
    trials: Floats | None = None

    @cached_property
    def remembered(self) -> Flags:
        """Windows that may be history."""
        counts = self.calendar.counts if self.aside is None else self.calendar.counts & ~self.aside
        return np.broadcast_to(counts, self.values.shape)

    @cached_property
    def past(self) -> Floats:
        """Values that may be history."""
        return np.where(self.remembered, self.values, NAN)

    def of(self, row: int) -> "Inputs":
        """One series of these."""
        return self._each(lambda array: array[row : row + 1])

    def stretches(self, rows: Ints, windows: Ints) -> "Inputs":
        """Stretches of these rows as if each were a series: `windows` (stretches x length) are their places.

        They can be scored by what was judged, not judged: their windows have no place on the grid.
        """
        return self._each(lambda array: array[rows[:, None, None], windows].reshape(-1, windows.shape[1]))

    def beside(self, others: Sequence["Inputs"]) -> "Inputs":
        """All of these series as those of one, in order."""
        names = [one.name for one in fields(self) if isinstance(getattr(self, one.name), np.ndarray)]
        arrays: dict[str, Any] = {name: np.concatenate([getattr(i, name) for i in (self, *others)]) for name in names}
        return replace(self, **arrays)

    def _each(self, cut: Callable[[_Array], _Array]) -> "Inputs":
        parts = {one.name: getattr(self, one.name) for one in fields(self)}
        arrays: dict[str, Any] = {name: cut(part) for name, part in parts.items() if isinstance(part, np.ndarray)}
        return replace(self, **arrays)


@dataclass(frozen=True)
class ChartReading:
    """What a chart saw of one series, for whoever explains an alarm; arrays are by window, on the scale of the metric.

    `chart` is the one that stood out, `residual` what it averages, `scale` sigma of that, `strays` how many times more
    than most series this one does. `over` is how far the value stands from what is usual, and `explained` how much of
    it other things explain, by their names.
    """

    chart: str
    residual: Floats
    scale: Floats
    over: Floats
    strays: float | None = None
    explained: Mapping[str, Floats] = field(default_factory=dict)


@dataclass(frozen=True)
class Scores:
    """By series and window: `score` is compared with thresholds, NaN: no verdict; `residual` = value - usual.

    `judged` is what the chart knew of each window by its history: `usual` and `scale` (sigma), and what else it needs.
    """

    score: Floats
    residual: Floats
    learning: Flags
    judged: Judged

    @property
    def usual(self) -> Floats:
        """Value that the series usually has."""
        return self.judged["usual"]

    @property
    def scale(self) -> Floats:
        """How far the series usually strays from it."""
        return self.judged["scale"]

    def of(self, row: int) -> "Scores":
        """Those of one series."""
        return self._each(lambda array: array[row : row + 1])

    def copy(self) -> "Scores":
        """The same in arrays of its own."""
        return self._each(lambda array: array.copy())

    def beside(self, others: Sequence["Scores"]) -> "Scores":
        """Those of all of these series, in order."""
        every = [self, *others]
        judged = {name: np.concatenate([one.judged[name] for one in every]) for name in self.judged}
        score, residual = (np.concatenate([getattr(one, name) for one in every]) for name in ("score", "residual"))
        return Scores(score, residual, np.concatenate([one.learning for one in every]), judged)

    def take(self, other: "Scores", windows: slice) -> None:
        """Write over these windows what `other` has there."""
        pairs = [(self.score, other.score), (self.residual, other.residual), (self.learning, other.learning)]
        for mine, its in (*pairs, *((self.judged[name], other.judged[name]) for name in self.judged)):
            mine[:, windows] = its[:, windows]

    def _each(self, cut: Callable[[_Array], _Array]) -> "Scores":
        judged = {name: cut(array) for name, array in self.judged.items()}
        return Scores(cut(self.score), cut(self.residual), cut(self.learning), judged)
