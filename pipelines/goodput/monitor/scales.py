"""The scales on which metrics stray evenly: there and back. Which metric has which is defined in `settings.metrics`."""

import numpy as np

from goodput.monitor.grid import NAN, Floats
from goodput.settings.metrics import Scale

_NEAREST = 1e-4  # a ratio nearer to 0 or 1 is not distinguished from it on the logit scale


def on_scale(scale: Scale, values: Floats) -> Floats:
    """Values on a scale; NaN where they have no place on it."""
    if scale == "log":
        return np.log(np.where(values > 0, values, NAN))
    if scale == "arcsine":  # the sampling error of a ratio of n is 1 / sqrt(n) at every ratio
        return np.asarray(2 * np.arcsin(np.sqrt(np.clip(values, 0.0, 1.0))))
    bounded = np.clip(values, _NEAREST, 1 - _NEAREST)
    return np.log(bounded / (1 - bounded))


def off_scale(scale: Scale, values: Floats) -> Floats:
    """Back from a scale."""
    if scale == "log":
        return np.exp(values)
    if scale == "arcsine":
        return np.asarray(np.sin(np.clip(values, 0.0, np.pi) / 2) ** 2)
    return np.asarray(1 / (1 + np.exp(-values)))
