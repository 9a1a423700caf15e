"""What work costs by the accepted request, and how sure that is: docs/semantics.md#disruptions."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import hypot

from oracle.like import Estimate, Number
from oracle.together import Reach, total_half

Usual = tuple[Fraction, Fraction, float | None]  # USD, accepted requests; half the interval of the USD
Unit = tuple[Number, Number]  # x, y of which y is compared with a multiple of x


@dataclass(frozen=True)
class Rate:
    """Cost and accepted requests of units of work, of which few enough show nothing of how units vary."""

    units: list[tuple[int, Fraction, Fraction | None]]  # offered, accepted, USD
    reach: Reach
    fewest: int = 2

    @cached_property
    def offered(self) -> int:
        """Requests that ended."""
        return sum(offered for offered, _, _ in self.units)

    @cached_property
    def accepted(self) -> Fraction:
        """Accepted ones of these."""
        return sum((accepted for _, accepted, _ in self.units), Fraction(0))

    @cached_property
    def usd(self) -> Fraction | None:
        """Cost; None: not known of every unit, or there is none."""
        costs = [usd for _, _, usd in self.units]
        return sum((c for c in costs if c is not None), Fraction(0)) if costs and None not in costs else None

    @cached_property
    def price(self) -> Fraction | None:
        """Cost per accepted request."""
        return None if self.usd is None or not self.accepted else self.usd / self.accepted

    def half(self, price: Fraction) -> float | None:
        """Half the interval of the cost beside the accepted requests at a price."""
        if len(self.units) < self.fewest or self.usd is None:
            return None
        half = spread([(accepted, usd) for _, accepted, usd in self.units], price)  # type: ignore[misc]
        return None if half is None else max(half, float(price) * self.reach.sampled)

    @cached_property
    def goodput(self) -> Estimate:
        """Accepted of what is offered."""
        if not self.offered:
            return Estimate(None, None, None)
        ratio = self.accepted / self.offered
        half = spread([(offered, accepted) for offered, accepted, _ in self.units], ratio)
        if half is None:
            return Estimate(ratio, None, None)
        half = max(half, self.reach.sampled)
        low = float(ratio) - (half + self.reach.open_below) / self.offered
        return Estimate(ratio, max(0.0, low), min(1.0, float(ratio) + (half + self.reach.open_above) / self.offered))


def spread(units: Sequence[Unit], multiple: Number) -> float | None:
    """Half the interval of a total, by how y - multiple x of the units varies."""
    residuals = [y - multiple * x for x, y in units]
    mean = sum(residuals) / len(residuals) if residuals else 0
    return total_half([one - mean for one in residuals])


def blend(
    parts: Sequence[tuple[Rate, Fraction]], usual: Usual | None = None, times: Fraction = Fraction(0)
) -> Estimate:
    """Cost per accepted request of several rates, each with its weight, and so many times usual work of the first."""
    if any(rate.usd is None for rate, _ in parts) or (times and usual is None):
        return Estimate(None, None, None)
    more_usd, more, more_half = usual if times and usual else (Fraction(0), Fraction(0), 0.0)
    usd = sum(weight * rate.usd for rate, weight in parts) + times * more_usd  # type: ignore[operator]
    accepted = sum(weight * rate.accepted for rate, weight in parts) + times * more
    if accepted <= 0:
        return Estimate(None, None, None)
    price = usd / accepted
    halves = [None if (half := rate.half(price)) is None else float(weight) * half for rate, weight in parts]
    if None in halves or more_half is None:
        return Estimate(price, None, None)
    half = hypot(*halves, float(times) * more_half) / float(accepted)  # type: ignore[arg-type]
    first = parts[0][0]
    share = (
        times * more / first.accepted if first.accepted > 0 else 0
    )  # of such work as much has no label as of the first
    most = accepted + sum(weight * rate.reach.open_above for rate, weight in parts) + share * first.reach.open_above
    least = accepted - sum(weight * rate.reach.open_below for rate, weight in parts) - share * first.reach.open_below
    if usd < 0:  # the more are accepted, the less of the credit is each one's
        return Estimate(price, float(usd / least) - half if least > 0 else None, float(usd / most) + half)
    return Estimate(price, max(0.0, float(usd / most) - half), float(usd / least) + half if least > 0 else None)
