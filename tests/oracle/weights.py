"""Labelled requests that count by tokens or dollars, in one stratum and over several: docs/semantics.md#intervals."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

Z2 = 1.959963984540054**2


@dataclass(frozen=True)
class Weights:
    """Number, weight and squared weight of the labelled requests that passed and of those that failed."""

    passed: Sequence[float]
    failed: Sequence[float]

    @classmethod
    def of(cls, passed: Iterable[Fraction], failed: Iterable[Fraction], everything: Iterable[Fraction]) -> "Weights":
        """Each with one request more: as heavy as the request of a token drawn from everything of its outcome."""
        n, total, squares = _powers(everything)
        seen = [_powers(passed), _powers(failed)]
        means = [(weight + total / n) / (requests + 1) for requests, weight, _ in seen]
        counts = [requests + 1 for requests, _, _ in seen]
        both = list(zip(counts, means, strict=True))
        apart = sum(counts) * sum(k * mean**2 for k, mean in both) / sum(k * mean for k, mean in both) ** 2
        unequal = max(1.0, n * squares / total**2 / apart)
        heavy = [unequal * mean for mean in means]
        a, b = (
            [powers[0] + 1, powers[1] + more, powers[2] + more**2 * sqrt(unequal)]
            for powers, more in zip(seen, heavy, strict=True)
        )
        return cls(a, b)

    def effect(self, share: float) -> float:
        """How many labels are worth one of equal weight, where this share of the weight passes."""
        (a0, a1, a2), (b0, b1, b2) = self.passed, self.failed
        return ((1 - share) * a2 / a1 + share * b2 / b1) * (share * a0 / a1 + (1 - share) * b0 / b1)


def _powers(weights: Iterable[Fraction]) -> tuple[float, float, float]:
    known = list(weights)
    n, total, squares = (float(sum((w**power for w in known), Fraction(0))) for power in range(3))
    return n, total, squares


@dataclass(frozen=True)
class Judged:
    """The labelled requests of a stratum: `labels` of `need` have one, which all together weigh `weight`."""

    need: int
    labels: int
    weight: float
    passed: Sequence[float]
    failed: Sequence[float]
    effect: float  # of the design

    @property
    def times(self) -> float:
        """Requests that each labelled one stands for."""
        return self.need / self.labels

    def expanded(self, slope: float) -> float:
        """What passes by the labels, and by the slope of what they show too much or too little."""
        passed = sum(self.passed)
        return self.times * passed + slope * (self.weight - self.times * (passed + sum(self.failed)))

    def squares(self, slope: float) -> float:
        """Squares of the residuals about their mean."""
        residuals = [(1 - slope) * w for w in self.passed] + [-slope * w for w in self.failed]
        mean = sum(residuals) / len(residuals) if residuals else 0.0
        return sum((residual - mean) ** 2 for residual in residuals)

    @property
    def mean_square(self) -> float:
        """The mean request, squared."""
        return (self.weight / self.need) ** 2

    def variance(self, slope: float, spread: float) -> float:
        """Of what is expanded."""
        drawn = 1 - self.labels / self.need
        return self.times**2 * drawn * (self.squares(slope) + spread * self.mean_square) * self.effect


def expanded_rate(strata: Iterable[Judged]) -> float | None:
    """Share of the labelled weight that passes, each request as often as it stands for others."""
    known = list(strata)
    passed = sum(of.times * sum(of.passed) for of in known)
    judged = passed + sum(of.times * sum(of.failed) for of in known)
    return passed / judged if judged > 0 else None


def slope_towards(own: float | None, labels: int, shared: float, others: int) -> float:
    """The own share, and that of all as if each of the others had z^2 labels here."""
    return (labels * (shared if own is None else own) + Z2 * others * shared) / (labels + Z2 * others)


def spread_of(strata: Sequence[Judged], slopes: Sequence[float]) -> float | None:
    """Squares of all residuals, on the scale of the mean request, for each label beyond the first of a stratum."""
    known = [(of, slope) for of, slope in zip(strata, slopes, strict=True) if of.weight]
    freedom = sum(of.labels - 1 for of, _ in known)
    return sum(of.squares(slope) / of.mean_square for of, slope in known) / freedom if freedom else None


def freedom_of(variances: Sequence[float], labels: Sequence[int]) -> float:
    """Satterthwaite's degrees of freedom, at most those of all labels together."""
    noise = sum(v**2 / max(1, m - 1) for v, m in zip(variances, labels, strict=True))
    most = sum(m - 1 for m in labels)
    return min(most, sum(variances) ** 2 / noise) if noise > 0 else most
