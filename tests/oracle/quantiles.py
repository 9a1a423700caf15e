"""Quantiles and intervals: docs/semantics.md#goodput-from-a-sample, #windows."""

from collections.abc import Sequence
from fractions import Fraction
from math import floor, sqrt

Z = 1.959963984540054  # of the middle 95 % of a normal distribution


def quantile(values: Sequence[Fraction], q: Fraction) -> Fraction | None:
    """By linear interpolation between the order statistics; None without values."""
    if not values:
        return None
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    low = floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def wilson(passed: int, labelled: int, population: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a rate, the sample size corrected for drawing without replacement."""
    if labelled == population:
        return passed / labelled, passed / labelled
    size = labelled * (population - 1) / (population - labelled)
    rate = passed / labelled
    middle = (rate + Z * Z / (2 * size)) / (1 + Z * Z / size)
    half = Z / (1 + Z * Z / size) * sqrt(rate * (1 - rate) / size + Z * Z / (4 * size * size))
    return max(0.0, middle - half), min(1.0, middle + half)
