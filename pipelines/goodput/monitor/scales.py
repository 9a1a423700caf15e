"""The scales on which metrics stray evenly: there and back. Which metric has which follows from its contract."""

import numpy as np

from goodput.monitor.grid import NAN, Floats
from goodput.settings.metrics import AlarmMetric

_NEAREST = 1e-4  # a ratio nearer to 0 or 1 is not distinguished from it on the logit scale


def on_scale(kind: AlarmMetric, values: Floats) -> Floats:
    """Values on a metric's scale; NaN where they have no place on it."""
    if kind.scale == "log":
        there = values + kind.negligible
        return np.log(np.where(there > 0, there, NAN))
    bounded = np.clip(values, _NEAREST, 1 - _NEAREST)
    return np.log(bounded / (1 - bounded))


def off_scale(kind: AlarmMetric, values: Floats) -> Floats:
    """Back from it."""
    if kind.scale == "log":
        return np.exp(values) - kind.negligible
    return np.asarray(1 / (1 + np.exp(-values)))
