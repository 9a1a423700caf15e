"""Least-squares lines over the loads of windows: docs/semantics.md#disruptions."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt

from oracle.quantiles import student


@dataclass(frozen=True)
class Line:
    """What windows of these loads say of one load."""

    loads: Sequence[int]
    at: Fraction

    @cached_property
    def weights(self) -> list[Fraction]:
        """How much each window counts: the line's value is what they add up to."""
        n = len(self.loads)
        mean = Fraction(sum(self.loads), n)
        squares = sum((load - mean) ** 2 for load in self.loads)
        if not squares:
            return [Fraction(1, n)] * n
        return [Fraction(1, n) + (self.at - mean) * (load - mean) / squares for load in self.loads]

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
