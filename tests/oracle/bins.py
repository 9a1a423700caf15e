"""Windows of about the same load, and how sure their goodput ratio is: docs/semantics.md#frontier."""

from fractions import Fraction
from math import ceil, sqrt
from typing import Any

from oracle.compare import Within
from oracle.fleet import Fleet
from oracle.loads import Load, load_rps
from oracle.quantiles import Z, student, wilson
from oracle.together import Reach, Together

LATENCIES, ENOUGH = ("ttft", "tpot", "e2e", "itl_p95", "jitter"), 100


class Bin:
    """Windows of about the same load."""

    def __init__(self, fleet: Fleet, loads: list[Load], of: list[Load]) -> None:
        self.loads, self.all = loads, of
        self.together = Together(fleet, loads)
        self.ended = sum(load.ended for load in loads)
        self.estimates = [self.together.accepted(load) for load in loads]
        self.estimate = sum(self.estimates, Fraction(0))
        self.ratio = self.estimate / self.ended if self.ended else None
        self.succeeded = [row for load in loads for row in load.requests if row["pass_success"]]

    @property
    def load(self) -> Fraction:
        """The mean load of its windows."""
        return sum((load_rps(load, self.all) for load in self.loads), Fraction(0)) / self.n

    @property
    def n(self) -> int:
        """Windows."""
        return len(self.loads)

    @property
    def chance(self) -> Fraction:
        """Variance of as many independent requests."""
        return self.estimate * (1 - (self.ratio or 0))

    @property
    def spread(self) -> Fraction | None:
        """Variance of the estimate by how windows vary; None of a single one."""
        if self.n < 2 or self.ratio is None:
            return None
        residuals = (own - load.ended * self.ratio for own, load in zip(self.estimates, self.loads, strict=True))
        return sum((one**2 for one in residuals), Fraction(0)) * self.n / (self.n - 1)

    def gates_hold(self) -> bool:
        """Whether at most 1 % of the succeeded requests fail each gate on a latency."""
        for gate in LATENCIES:
            measured = [row[f"pass_{gate}"] for row in self.succeeded if row[f"pass_{gate}"] is not None]
            if measured and 100 * measured.count(False) > len(measured):
                return False
        return True

    def p99(self, name: str) -> Any:
        """The 99th percentile to half a percent; None without a value."""
        values = sorted(row[f"{name}_s"] for row in self.succeeded if row[f"{name}_s"] is not None)
        if not values:
            return None
        value = float(values[ceil(Fraction(99, 100) * (len(values) - 1))])
        return Within(value / sqrt(1.01), value * sqrt(1.01)) if value > 1e-6 else Within(0, 1.01e-6)

    def label_rate(self) -> Fraction:
        """The share of labels among what needs them, where they are a sample."""
        of = [own for name, own in self.together.all.items() if self.together.is_estimated(name)]
        need = sum(own.need for own in of)
        return Fraction(sum(own.labelled for own in of), need) if need else Fraction(1)

    def label_variance(self) -> Fraction:
        """Variance of the estimate by labels."""
        found = Fraction(0)
        for name, own in self.together.all.items():
            if self.together.is_estimated(name) and own.labelled < own.need:
                rate = Fraction(own.passed, own.labelled)
                size = Fraction(own.labelled * (own.need - 1), own.need - own.labelled)
                found += own.need**2 * rate * (1 - rate) / size if size else 0
        return found


def interval(own: Bin, every: list[Bin]) -> tuple[float, float] | None:
    """Between which ends the goodput ratio of windows like these lies; None: nothing shows how windows vary."""
    if own.ratio is None:
        return None
    size = _size(own, every)
    if size is None:
        return None
    reach: Reach = own.together.reach(of_these=False)
    low, high = wilson(float(own.ratio), float(size))
    return max(0.0, low - reach.open_below / own.ended), min(1.0, high + reach.open_above / own.ended)


def _size(own: Bin, every: list[Bin]) -> float | Fraction | None:
    """Independent requests that this load is worth."""
    if not own.chance:
        return own.ended * own.label_rate()
    freedom = sum(one.n - 1 for one in every)
    if own.n >= 3:
        reach = float(own.spread or 0) * student(own.n - 1) ** 2
    elif freedom:
        beyond = sum(
            (one.n - 1) * one.n * ((one.spread or 0) - one.chance) / Fraction(one.ended) ** 2
            for one in every
            if one.ended
        )
        borrowed = max(Fraction(0), Fraction(beyond) / freedom) * own.ended**2 / own.n + own.chance
        reach = float(borrowed) * student(freedom) ** 2
    else:
        return None
    variance = reach / Z**2 if reach else float(own.chance + own.label_variance())
    return float(own.ended**2 * own.ratio * (1 - own.ratio)) / variance  # type: ignore[operator]
