"""A history's fit: what is usual at each hour, what covariates explain beyond it, and how far the rest strays.

All of it is medians and one small ridge regression per series: no outlier moves it, and a covariate that explains
nothing gets a coefficient of about zero.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from goodput.monitor.baseline import MAD_TO_SIGMA, baseline
from goodput.monitor.control_chart import CLIP, wandered
from goodput.monitor.grid import Floats, Ints, medians

_RIDGE_HOURS = 24  # a day that says that covariates explain nothing
_FARTHEST = 6.0  # sigma of a covariate: what it does farther out was hardly ever seen
# Root mean square of the average of a series whose noise is like most, by the length of windows in seconds.
_USUAL_WANDER = {900: 0.45, 3600: 0.65, 21600: 0.65, 86400: 0.65}
_MOST_WANDER = 2.5  # of one window: what was an alarm is no usual straying
_LEAST_STRAYING, _MOST_STRAYING = 0.88, 2.2


@dataclass(frozen=True)
class Covariate:
    """Something beside the values, in units of how far it usually strays from its own baseline; 0: not known.

    `moved` is how far it stands from that today, in its own unit.
    """

    past: Floats
    today: Floats
    moved: Floats


@dataclass(frozen=True)
class Based:
    """A history less its baseline, with the baseline today and its scale, before any covariate."""

    residual: Floats
    usual: Floats
    scale: Floats
    step_s: int


@dataclass(frozen=True)
class Fit:
    """By series and window of today: `usual`, and what covariates `explained` beyond it; by series the rest.

    `scale` is sigma of what is not explained, `strays` how many times more its average wanders than one of usual noise
    does, `share` the part of the variance that covariates explain.
    """

    usual: Floats
    explained: Floats
    scale: Floats
    strays: Floats
    share: Floats


Alike = tuple[Ints, Floats | None]  # classes of windows, and their ages since a restart where those are known


def based(past: Floats, step_s: int, then: Alike, now: Alike) -> Based:
    """The baseline of a history (series x windows, NaN: no data) and what is left of it."""
    base = baseline(past, then[0], 0.0, then[1], max(3600 // step_s, 1))
    return Based(past - base.at(*then), base.at(*now), base.scale, step_s)


def fitted(base: Based, floor: float, covariates: Sequence[Covariate]) -> Fit:
    """What is usual, explained and left; `floor` is the least sigma that is believed."""
    first = np.maximum(base.scale, floor)[:, None]
    explained_then, explained, share = _explained(base.residual / first, covariates, base.step_s)
    residual = base.residual - first * explained_then
    centre = medians(residual)[:, None]
    residual = residual - centre
    scale = np.maximum(MAD_TO_SIGMA * medians(np.abs(residual)), floor)
    usual = base.usual + centre
    straying = _straying(residual / scale[:, None], base.step_s)
    return Fit(usual, np.broadcast_to(first * explained, usual.shape), scale, straying, share)


def covariate(values: Floats, past: Floats, classes: tuple[Ints, Ints]) -> Covariate:
    """A covariate by its values today and its history; `classes` are those of the history and of today."""
    base = baseline(past, classes[0], 0.0)
    scale = np.where(base.scale > 0, base.scale, np.inf)[:, None]
    then, moved = past - base.at(classes[0], None), values - base.at(classes[1], None)
    return Covariate(_finite(then / scale), _finite(moved / scale), moved)


def _finite(values: Floats) -> Floats:
    return np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0)


def _explained(z: Floats, covariates: Sequence[Covariate], step_s: int) -> tuple[Floats, Floats, Floats]:
    """What covariates explain of z in history and today, and which part of its variance in history."""
    if not covariates:
        nothing = np.zeros((len(z), 1))
        return nothing, nothing, nothing[:, 0]
    known = np.isfinite(z)
    y = np.where(known, np.clip(z, -CLIP, CLIP), 0.0)
    x = np.stack([np.clip(one.past, -CLIP, CLIP) * known for one in covariates], axis=1)
    ridge = _RIDGE_HOURS * 3600 / step_s * np.eye(len(covariates))
    slopes = np.linalg.solve(x @ x.transpose(0, 2, 1) + ridge, x @ y[:, :, None])
    left = ((y - (slopes * x).sum(axis=1)) ** 2).sum(axis=1)
    share = 1 - left / np.maximum((y**2).sum(axis=1), 1e-12)
    then, now = (
        sum(np.clip(part, -_FARTHEST, _FARTHEST) * slopes[:, k] for k, part in enumerate(parts))
        for parts in ([one.past for one in covariates], [one.today for one in covariates])
    )
    return np.asarray(then), np.asarray(now), share


def _straying(z: Floats, step_s: int) -> Floats:
    """How much more than usual the average of a history wanders: its noise is slower, or its tails are heavier.

    One that wanders less is believed by half: three weeks are few.
    """
    level = np.clip(wandered(z, step_s), -_MOST_WANDER, _MOST_WANDER)
    known = np.isfinite(level)
    square = np.where(known, level**2, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    ratio = np.sqrt(square) / _USUAL_WANDER[step_s]
    strays: Floats = np.clip(np.where(ratio >= 1, ratio, np.sqrt(ratio)), _LEAST_STRAYING, _MOST_STRAYING)
    return strays
