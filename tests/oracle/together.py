"""Labels of many base windows that count together: docs/semantics.md#disruptions."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import hypot, inf, sqrt
from typing import Generic, Protocol, TypeVar

from oracle.fleet import Fleet
from oracle.points import Judged
from oracle.quantiles import student, wilson


class Counted(Protocol):
    """What a window counts: requests with the verdict accepted, and labels by workload."""

    @property
    def accepted(self) -> int: ...

    @property
    def judged(self) -> dict[str, Judged]: ...


W = TypeVar("W", bound=Counted)


@dataclass(frozen=True)
class Reach:
    """How far accepted requests may be from their estimate: by the sample of labels, and by what has no label."""

    below: float = 0.0
    above: float = 0.0
    open_below: int = 0
    open_above: int = 0

    @property
    def sampled(self) -> float:
        """The wider side."""
        return max(self.below, self.above)

    @classmethod
    def of_all(cls, reaches: Sequence["Reach"]) -> "Reach":
        """Samples in quadrature, what has no label added up."""
        sides = (hypot(*(getattr(one, side) for one in reaches)) for side in ("below", "above"))
        return cls(*sides, sum(one.open_below for one in reaches), sum(one.open_above for one in reaches))


class Together(Generic[W]):
    """Accepted requests of windows, a workload's labels in all of them taken together."""

    def __init__(self, fleet: Fleet, points: Sequence[W]) -> None:
        self.points = points
        self.quality = {name: of.get("quality") or {} for name, of in fleet.workloads.items()}
        self.all: dict[str, Judged] = {}
        for point in points:
            for name, own in point.judged.items():
                self.all[name] = self.all.get(name, Judged()) + own

    def is_estimated(self, workload: str) -> bool:
        """Whether labels say how many of a workload's unlabelled requests pass."""
        quality = self.quality[workload]
        is_sample = quality.get("unlabelled", "estimate") == "estimate" and quality.get("sampling", "random") != "none"
        return is_sample and self.all[workload].labelled > 0

    def must_pass(self, workload: str) -> bool:
        """Whether what has no label counts as failed."""
        return self.quality[workload].get("unlabelled", "estimate") == "fail"

    def accepted(self, point: W) -> Fraction:
        """Accepted requests of one window."""
        more = (self._of(name, own) - own.passed for name, own in point.judged.items())
        return point.accepted + sum(more, Fraction(0))

    def _of(self, workload: str, own: Judged) -> Fraction:
        if self.is_estimated(workload):
            all_ = self.all[workload]
            rate = Fraction(all_.passed, all_.labelled)
            return own.need * rate + Fraction(all_.need, all_.labelled) * (own.passed - rate * own.labelled)
        return Fraction(own.passed if self.must_pass(workload) else own.passed + own.need - own.labelled)

    def reach(self, *, of_these: bool) -> Reach:
        """How far all accepted requests may be off: of these very requests, or of such requests."""
        below, above, open_below, open_above = [], [], 0, 0
        for name, own in self.all.items():
            if self.is_estimated(name):
                rate = own.passed / own.labelled
                low, high = self._share(own, rate, of_these=of_these)
                below.append(own.need * (rate - low))
                above.append(own.need * (high - rate))
            elif self.must_pass(name):
                open_above += own.need - own.labelled
            else:
                open_below += own.need - own.labelled
        return Reach(hypot(*below), hypot(*above), open_below, open_above)

    @staticmethod
    def _share(own: Judged, rate: float, *, of_these: bool) -> tuple[float, float]:
        if not of_these:
            return wilson(rate, own.labelled)
        unlabelled = own.need - own.labelled
        low, high = wilson(rate, own.labelled * (own.need - 1) / unlabelled if unlabelled else inf)
        return max(low, own.passed / own.need), min(high, (own.passed + unlabelled) / own.need)


def total_half(residuals: Sequence[float | Fraction]) -> float | None:
    """Half the interval of a total over units of which these are the residuals; None of a single one."""
    n = len(residuals)
    return student(n - 1) * sqrt(n / (n - 1) * float(sum(one * one for one in residuals))) if n > 1 else None
