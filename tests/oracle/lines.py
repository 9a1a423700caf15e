"""Least-squares lines over the loads of windows: docs/semantics.md#disruptions."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt

from oracle.quantiles import student


@dataclass(frozen=True)
class Line:
    """What windows of these loads say of one load; `counts` is how much each stands for, all alike without it."""

    loads: Sequence[int]
    at: Fraction
    counts: Sequence[Fraction] | None = None

    @cached_property
    def weights(self) -> list[Fraction]:
        """How much each window counts: the line's value is what they add up to."""
        counts = self.counts or [Fraction(1)] * len(self.loads)
        of = list(zip(counts, self.loads, strict=True))
        mean = sum(n * load for n, load in of) / sum(counts)
        squares = sum(n * (load - mean) ** 2 for n, load in of)
        tilt = (self.at - mean) / squares if squares else Fraction(0)
        return [n * (1 / sum(counts) + tilt * (load - mean)) for n, load in of]

    @property
    def freedom(self) -> int:
        """Degrees of freedom of residuals."""
        return len(self.loads) - (2 if len(set(self.loads)) > 1 else 1)

    def value(self, of: Sequence[int | Fraction]) -> Fraction:
        """The line's value at the load."""
        return sum((weight * one for weight, one in zip(self.weights, of, strict=True)), Fraction(0))

    def half(self, residuals: Sequence[Fraction]) -> float:
        """Half the interval of that, by how residuals lie about a line of their own."""
        about = sum(
            (one - Line(self.loads, Fraction(load)).value(residuals)) ** 2
            for one, load in zip(residuals, self.loads, strict=True)
        )
        leverage = sum(weight**2 for weight in self.weights)
        return student(self.freedom) * sqrt(float(about) / self.freedom * float(leverage))
