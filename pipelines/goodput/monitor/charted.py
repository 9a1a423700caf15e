"""What charts of a level have in common: the windows that they judge, the load, and how widely each window strays.

Which of it a chart uses, and what it makes of it, is in the module of the chart.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from goodput.monitor.detector import HISTORY_DAYS
from goodput.monitor.fit import Based, Covariate, Fit, based, covariate, fitted
from goodput.monitor.grid import NAN, Floats, Ints, medians
from goodput.monitor.inputs import Inputs
from goodput.settings.metrics import Quantile

_SHORT_DAYS = 3.0  # makes false alarms in the second week as rare as later


@dataclass(frozen=True)
class Sampling:
    """How the number of requests makes a quantile stray.

    By series the `variance` of its log, for each draw, in a usual window; by window how many times `more` it is where
    there are fewer requests, less one.
    """

    variance: Floats
    more: Floats


@dataclass(frozen=True)
class Charted:
    """Series and windows `today` that are judged by windows `history`."""

    inputs: Inputs
    rows: Ints
    history: slice
    today: slice
    quantile: Quantile | None = None

    def then(self, values: Floats) -> Floats:
        """Values in windows that may be history."""
        return np.where(self.inputs.remembered[self.rows, self.history], values[self.rows, self.history], NAN)

    def now(self, values: Floats) -> Floats:
        """Values in the windows that are judged."""
        return values[self.rows, self.today]

    def covariate(self, values: Floats | None) -> Covariate:
        """Something beside the values, as far as it is unusual."""
        assert values is not None  # noqa: S101
        classes = self.inputs.calendar.classes
        return covariate(self.now(values), self.then(values), (classes[self.history], classes[self.today]))

    @cached_property
    def load(self) -> Sequence[Covariate]:
        """Requests and their logarithm: what both explain together bends upwards, as waiting does."""
        requests = self.inputs.requests
        if requests is None:
            return ()
        known = np.where(requests > 0, requests, NAN)
        return self.covariate(known), self.covariate(np.log(known))

    @cached_property
    def sampling(self) -> Sampling | None:
        """How requests make values stray; None where that is not known."""
        body, requests = self.inputs.body, self.inputs.requests
        if self.quantile is None or body is None or requests is None:
            return None
        over = np.log(self.quantile.above_body / self.quantile.above)
        index = np.nan_to_num(medians(self.then(self.inputs.values - body)) / over)
        usual = medians(self.then(np.where(np.isfinite(self.inputs.values), requests, NAN)))[:, None]
        more = np.maximum(usual / np.maximum(self.now(requests), 1) - 1, 0)
        return Sampling(index[:, None] ** 2 / np.maximum(usual, 1), more)

    def fitted(self, covariates: Sequence[Covariate]) -> Fit:
        """What is usual of the values, what covariates add, and sigma."""
        return fitted(self._based, self.inputs.floor, covariates)

    @cached_property
    def _based(self) -> Based:
        ages, classes = self.inputs.age_h, self.inputs.calendar.classes
        aged, now = (None, None) if ages is None else (ages[self.rows, self.history], self.now(ages))
        past = self.inputs.past[self.rows, self.history]
        return based(past, self.inputs.grid.step_s, (classes[self.history], aged), (classes[self.today], now))

    def scale(self, fit: Fit, draws: float) -> Floats:
        """Sigma by window: of a short history wider, of a window with few requests, of a series that strays more."""
        known = np.isfinite(self.inputs.past[self.rows, self.history]).sum(axis=1)
        square = (fit.scale * _doubt(known / self.inputs.grid.a_day))[:, None] ** 2
        if self.sampling is not None:  # which is at most all that there is: of other laws the index says too much
            square = square + np.minimum(draws * self.sampling.variance, square) * self.sampling.more
        sigma = np.sqrt(square)
        by_window = np.broadcast_to(sigma * fit.strays[:, None], fit.usual.shape)
        return np.maximum(by_window, self.inputs.floor)


def _doubt(days: Floats) -> Floats:
    """How much wider a short history's own errors make the distance from its baseline, 1 for a full one."""
    widened: Floats = np.sqrt((1 + _SHORT_DAYS / days) / (1 + _SHORT_DAYS / HISTORY_DAYS))
    return widened


def moved_before(values: Floats, since: slice, strayed: Floats) -> Floats:
    """Values with those before `since` moved by the median of what they strayed in it."""
    known = strayed[:, since]
    step = float(np.nanmedian(known)) if np.isfinite(known).any() else 0.0
    return values + np.where(np.arange(values.shape[1]) < since.start, step, 0.0)
