"""How far the cost of a bucket may be off by what labels leave open: docs/semantics.md#unlabelled-cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import hypot, inf, sqrt

from oracle.fleet import Row
from oracle.quantiles import student_between


@dataclass
class Open:
    """What one workload leaves open: less and more by its own labels, and where those of all workloads place it."""

    sides: tuple[Fraction, Fraction] = (Fraction(0), Fraction(0))
    most: tuple[Fraction, Fraction] = (Fraction(0), Fraction(0))
    shift: float = 0.0
    deviation: float = 0.0
    freedom: float = inf
    is_credit: bool = False

    def add(self, row: Row) -> None:
        """Add a row of divided cost."""
        self.sides, self.most = (_plus(self.sides, row["open"]), _plus(self.most, row["most"]))
        self.is_credit |= row["is_credit"]
        if "beside" in row:
            self.shift += row["shift"]
            self.deviation += row["deviation"]
            self.freedom = row["beside"].freedom


def left_open(workloads: Sequence[Open]) -> tuple[float, float]:
    """How much less and more it may be: of several workloads around what all their labels say."""
    below, above = (hypot(*(float(of.sides[side]) for of in workloads)) for side in (0, 1))
    several = [of for of in workloads if of.deviation > 0]
    if len(several) < 2:
        return below, above
    variance = sum(of.deviation**2 for of in several)
    freedom = variance**2 / sum(of.deviation**4 / of.freedom for of in several)
    half, shift = student_between(freedom) * sqrt(variance), sum(of.shift for of in workloads)
    least, most = (float(sum(of.most[side] for of in workloads)) for side in (0, 1))
    return min(least, max(0.0, max(below, half) - shift)), min(most, max(0.0, max(above, half) + shift))


def _plus(one: tuple[Fraction, Fraction], other: tuple[Fraction, Fraction]) -> tuple[Fraction, Fraction]:
    return one[0] + other[0], one[1] + other[1]
