"""What windows of a pool cost and accept at a load, by those that show such loads: docs/semantics.md#disruptions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil

from oracle.lines import Line
from oracle.points import Point
from oracle.together import Reach

ENOUGH = 12
Number = float | Fraction


@dataclass(frozen=True)
class Estimate:
    """A number with its interval; None: not known, as an end without a bound is."""

    value: Number | None
    low: Number | None
    high: Number | None


NOT_KNOWN = Estimate(None, None, None)


def around(load: int, of: Sequence[Point], windows: int) -> tuple[int, int]:
    """The loads that are like one of so many windows': from the least to the greatest; none of no windows."""
    each, loads = ceil(ENOUGH / windows), sorted(p.arrivals for p in of)
    below, above = [of for of in loads if of <= load], [of for of in loads if of > load]
    nearest = below[-each:] + above[:each]
    return (min(nearest), max(nearest)) if nearest else (1, 0)


def alike(loads: Sequence[int], of: Sequence[Point]) -> list[Point]:
    """The windows with loads like these."""
    ranges = [around(load, of, len(loads)) for load in loads]
    return [p for p in of if any(low <= p.arrivals <= high for low, high in ranges)]


@dataclass(frozen=True)
class Like:
    """Windows with loads like these, and how many requests of each were accepted.

    `reach` is how far labels leave open what `offered` and `accepted` are the sums of.
    """

    points: Sequence[Point]
    of: Sequence[Point]  # that they are like
    accepted_of: Callable[[Point], Fraction]
    reach: Reach
    offered: int
    accepted: Fraction

    @property
    def loads(self) -> list[int]:
        """The loads that they are asked about."""
        return [p.arrivals for p in self.of]

    @cached_property
    def at(self) -> Fraction:
        """The mean of these."""
        return Fraction(sum(self.loads), len(self.loads))

    @cached_property
    def counts(self) -> dict[int, Fraction]:
        """How much each window stands for, by when it began: one for each load asked about, shared by all like it."""
        found = dict.fromkeys((p.at for p in self.points), Fraction(0))
        for load in self.loads:
            low, high = around(load, self.points, len(self.loads))
            like = [p.at for p in self.points if low <= p.arrivals <= high]
            for at in like:
                found[at] += Fraction(1, len(like))
        return found

    def line(self, points: Sequence[Point]) -> Line:
        """The line through the loads of some of them."""
        return Line([p.arrivals for p in points], self.at, [self.counts[p.at] for p in points])

    @cached_property
    def unseen(self) -> str | None:
        """Why they do not show what such loads do; None where they do."""
        seen = [p.arrivals for p in self.points]
        if not self.loads or not seen or Line(seen, Fraction(0)).freedom < 1:
            return "few_windows"
        if not all(p.is_whole for p in self.of):
            return "partly_observed"
        is_near = min(self.loads) >= Fraction(4, 5) * min(seen) and max(self.loads) <= Fraction(6, 5) * max(seen)
        return None if min(seen) <= self.at <= max(seen) and is_near else "load_unmatched"

    @cached_property
    def goodput(self) -> Estimate:
        """Accepted of what is offered."""
        if self.unseen is not None:
            return NOT_KNOWN
        line = self.line(self.points)
        accepted = [self.accepted_of(p) for p in self.points]
        there = line.value([p.offered for p in self.points])
        if there <= 0:
            return NOT_KNOWN
        ratio = line.value(accepted) / there
        half = line.half([a - p.offered * ratio for a, p in zip(accepted, self.points, strict=True)]) / float(there)
        reach, offered = self.reach, self.offered
        low = float(ratio) - max(half, reach.below / offered) - reach.open_below / offered
        high = float(ratio) + max(half, reach.above / offered) + reach.open_above / offered
        return Estimate(min(max(ratio, Fraction(0)), Fraction(1)), max(0.0, low), min(1.0, high))

    @cached_property
    def there(self) -> tuple[Fraction, Fraction] | None:
        """Cost and accepted requests of a window whose cost is known; None: unknown, or nothing is accepted."""
        paid = [p for p in self.points if p.usd is not None]
        if self.unseen is not None or not paid:
            return None
        line = self.line(paid)
        accepted = line.value([self.accepted_of(p) for p in paid])
        usd = line.value([p.usd for p in paid])  # type: ignore[misc]
        return (usd, accepted) if line.freedom > 0 and accepted > 0 else None

    @cached_property
    def price(self) -> Estimate:
        """Cost per accepted request."""
        if self.there is None:
            return NOT_KNOWN
        price = self.there[0] / self.there[1]
        paid = [p for p in self.points if p.usd is not None]
        residuals = [p.usd - self.accepted_of(p) * price for p in paid]  # type: ignore[operator]
        half = self.line(paid).half(residuals) / float(self.there[1])
        accepted, reach = self.accepted, self.reach
        low = float(price * accepted / (accepted + reach.open_above))
        low -= max(half, float(price) * reach.above / float(accepted))
        sure = accepted - reach.open_below
        above = max(half, float(price) * reach.below / float(accepted))
        return Estimate(price, max(0.0, low), float(price * accepted / sure) + above if sure > 0 else None)

    @property
    def no_price(self) -> str | None:
        """Why there is none, or no upper end of it."""
        if self.unseen is not None:
            return self.unseen
        if self.there is None:
            paid = [p.arrivals for p in self.points if p.usd is not None]
            known = bool(paid) and Line(paid, Fraction(0)).freedom > 0
            if known:
                return "nothing_accepted"
            return "price_unmatched" if any(p.is_unmatched for p in self.points) else "cost_unknown"
        return "nothing_judged" if self.price.high is None else None
