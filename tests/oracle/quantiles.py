"""Quantiles and intervals: docs/semantics.md#goodput-from-a-sample, #windows."""

from collections.abc import Sequence
from fractions import Fraction
from math import exp, floor, inf, log, sqrt

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


def wilson(rate: float, size: float, z: float = Z) -> tuple[float, float]:
    """Wilson's interval, 95 % unless z is given, of a rate that is worth so many draws."""
    if size == inf:
        return rate, rate
    middle = (rate + z * z / (2 * size)) / (1 + z * z / size)
    half = z / (1 + z * z / size) * sqrt(rate * (1 - rate) / size + z * z / (4 * size * size))
    return max(0.0, middle - half), min(1.0, middle + half)


def student(freedom: float) -> float:
    """Student's t at 97.5 %, of one degree of freedom at least, as docs/semantics.md#intervals approximates it."""
    if freedom < 5:
        return (12.706205, 4.302653, 3.182446, 2.776445)[max(1, floor(freedom)) - 1]
    return sqrt(freedom * (exp(Z * Z * (freedom - 1.5) / (freedom - 1) ** 2) - 1))


def student_between(freedom: float) -> float:
    """The same where degrees may be fractions: below five ln t is the parabola in 1 / degrees through 1, 2 and 4."""
    if freedom >= 5:
        return student(freedom)
    at, places = 1 / max(1.0, freedom), (1.0, 0.5, 0.25)
    parts = []
    for place, exact in zip(places, (12.706205, 4.302653, 2.776445), strict=True):
        one, other = (of for of in places if of != place)
        parts.append((at - one) * (at - other) / ((place - one) * (place - other)) * log(exact))
    return exp(sum(parts))
