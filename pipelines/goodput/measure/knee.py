"""Where the knee of one route or pool lies: the load at which too large a share of its requests begins to fail.

Which windows count, and what of them fails, is SQL (sql/measure/frontier/); this is the fit and its interval.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from goodput.measure.crossing import NEAR, Array, crossing, monotone

Sums = Callable[[Array], Array]
Counts = tuple[Array, Array, Array]

_DRAWS = 500
_SEED = 7
_ENDED = 100  # fewer requests show no share of a load
_LEVELS_A_DECADE = 50
_WIDER = 1.1  # drawn windows vary too little where failures are few and come in bursts; `make drill-knee` holds it


class Criterion(Protocol):
    """What must not fail too often at a load: how many requests of each window do, of how many judged."""

    @property
    def name(self) -> str:
        """The gate, or goodput."""

    @property
    def failing(self) -> Array:
        """Requests that fail it, by window."""

    @property
    def judged(self) -> Array:
        """Requests that it judges, by window."""

    def counts(self, sums: Sums) -> Counts:
        """Both from sums of windows by draw and level, and by draw the largest share of failing ones that holds."""


@dataclass(frozen=True)
class Windows:
    """Windows of one route or pool in the order of time; `carried` arrivals in `replica_time_s` are their load."""

    start_s: Array
    window_s: float
    carried: Array
    replica_time_s: Array
    load_rps: Array
    declared_rps: Array
    ended: Array


@dataclass(frozen=True)
class Knee:
    """The knee in requests per second and replica; None: no load holds, or nothing shows that end of the interval.

    `censored`: no load was seen that does not hold, so the knee is the highest load or beyond it. `judged_by` is the
    criterion that crosses its bound, `bound_ratio`, at the least load, and where no load tells criteria apart the one
    that fails most times its bound; None: too few requests ended to judge any load.
    """

    rps: float | None
    low_rps: float | None
    high_rps: float | None
    censored: bool | None
    judged_by: Criterion | None = None
    bound_ratio: float | None = None


def levels(windows: Windows) -> NDArray[np.int64]:
    """The level of load that each window belongs to, from 0 on by increasing load.

    Windows of one declared rate are one level, others one fiftieth of a decade; neighbours are put together until a
    level has 100 ended requests.
    """
    is_declared = bool(np.isfinite(windows.declared_rps).all())
    bins = np.floor(_LEVELS_A_DECADE * np.log10(windows.load_rps) + 1e-9)
    key = windows.declared_rps if is_declared else bins
    _, fine = np.unique(key, return_inverse=True)
    merged: list[int] = []
    level, ended = 0, 0.0
    for more in np.bincount(fine, windows.ended):
        merged.append(level)
        ended += more
        if ended >= _ENDED:
            level, ended = level + 1, 0.0
    # what is left over at the highest loads is too little to stand for itself
    return np.minimum(merged, max(level - 1, 0))[fine]


def knee(windows: Windows, criteria: Sequence[Criterion]) -> Knee:
    """Fit the knee and its 95 % interval by drawing windows anew, level by level (docs/semantics.md#frontier)."""
    level = levels(windows)
    sizes = np.bincount(level)
    if np.bincount(level, windows.ended)[0] < _ENDED:
        return Knee(None, None, None, None)
    once = np.ones((1, len(level)))
    sums = _summed(level, once)
    found = _crossings(windows, level, criteria, once)[:, 0]
    at = float(found.min())
    highest = float(_loads(windows, sums)[0, -1])
    binding = min(zip(found, criteria, strict=True), key=lambda one: (one[0], -_times_bound(one[1], sums)))[1]
    bound_ratio = float(binding.counts(sums)[2][0])
    if at == -np.inf:
        return Knee(None, None, None, None, binding, bound_ratio)
    censored = at == np.inf
    at = min(at, highest) if censored else at
    drawn = np.sort(_crossings(windows, level, criteria, _weights(level, sizes)).min(axis=0))
    low, high = (float(np.quantile(drawn, p, method="inverted_cdf")) for p in (0.025, 0.975))
    wider = _widening(windows, level, binding)
    low = at - wider * (at - min(low, highest))
    high = at + wider * (high - at)
    alone = sizes[_bracket(level, binding)].min() < 2  # a level of one window has no spread to draw from
    is_low, is_high = np.isfinite(low) and not alone, np.isfinite(high) and not alone and not censored
    return Knee(at, max(low, 0.0) if is_low else None, high if is_high else None, censored, binding, bound_ratio)


def failing_shares(criterion: Criterion, group: NDArray[np.int64]) -> tuple[Array, Array]:
    """The share of requests that fail it by group of windows, from 0 on by increasing load, and that made monotone."""
    failing, judged, _ = criterion.counts(_summed(group, np.ones((1, len(group)))))
    return np.where(judged > 0, failing / np.maximum(judged, 1e-12), np.nan)[0], monotone(failing, judged)[0]


def _times_bound(criterion: Criterion, once: Sums) -> float:
    """How many times its bound fails over all loads."""
    failing, judged, (bound,) = criterion.counts(once)
    return float(failing.sum() / max(judged.sum(), 1e-12) / max(bound, 1e-12))


def _weights(level: NDArray[np.int64], sizes: NDArray[Any]) -> Array:
    """How often each draw takes each window."""
    rng = np.random.default_rng(_SEED)
    weights = np.zeros((_DRAWS, len(level)))
    for number, size in enumerate(sizes):
        weights[:, level == number] = rng.multinomial(size, np.full(size, 1 / size), size=_DRAWS)
    return weights


def _summed(level: NDArray[np.int64], weights: Array) -> Sums:
    """A sum of windows by draw and level."""
    order = np.argsort(level, kind="stable")
    starts = np.searchsorted(level[order], np.arange(level.max() + 1))
    ordered = weights[:, order]
    return lambda values: np.add.reduceat(ordered * values[order], starts, axis=1)


def _loads(windows: Windows, sums: Sums) -> Array:
    return sums(windows.carried) / np.maximum(sums(windows.replica_time_s), 1e-9)


def _crossings(windows: Windows, level: NDArray[np.int64], criteria: Sequence[Criterion], weights: Array) -> Array:
    """By criterion and draw the load from which it fails: infinite where none does, minus infinity where all do."""
    sums = _summed(level, weights)
    load = _loads(windows, sums)
    return np.stack([crossing(load, *criterion.counts(sums)) for criterion in criteria])


def _bracket(level: NDArray[np.int64], criterion: Criterion) -> list[int]:
    """The last level that holds and the first that does not; the highest where all hold."""
    failing, judged, (bound,) = criterion.counts(_summed(level, np.ones((1, len(level)))))
    beyond = monotone(failing, judged)[0] > bound + 1e-12
    first = int(beyond.argmax()) if beyond.any() else len(beyond) - 1
    return [max(first - 1, 0), first] if beyond.any() else [first]


def _widening(windows: Windows, level: NDArray[np.int64], criterion: Criterion) -> float:
    """How much wider the interval is than of windows that know nothing of each other: queues outlast their window."""
    failing, judged, (bound,) = criterion.counts(_summed(level, np.ones((1, len(level)))))
    share = (failing[0] / np.maximum(judged[0], 1e-12))[level]
    expected = share * criterion.judged
    near = (share >= bound / NEAR) & (share <= min(0.5, bound * NEAR))
    apart = np.where(near, (criterion.failing - expected) / np.sqrt(np.maximum(expected * (1 - share), 1e-12)), 0)
    follows = np.diff(windows.start_s) <= windows.window_s + 1e-6
    together = float((apart[:-1] * apart[1:])[follows].sum() / max((apart**2).sum(), 1e-12))
    return float(_WIDER * np.sqrt(1 + 2 * max(together, 0.0)))
