"""How long each operation disrupted its pool, and what it is compared with: docs/semantics.md#disruptions."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

from oracle.events import cap_ns, concerned, operations
from oracle.fleet import DAY, Fleet, Row, S, exact
from oracle.like import ENOUGH, alike, around
from oracle.points import Point, hit_ratio
from oracle.prices import at_prices_of
from oracle.quantiles import quantile
from oracle.spans import Span, overlap
from oracle.state import States

LIKE = Fraction(1, 5)
HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Disruption:
    """One operation with the base windows of the pool that it concerns."""

    event: Row
    pool: str | None
    cap: Span
    points: list[Point]  # all of its pool
    undisturbed: list[Point]  # before it, within the cap of no operation
    tolerance: Fraction
    observed: Span
    base_ns: int

    @property
    def at(self) -> int:
        """When it happened."""
        return int(self.event["occurred_at"])

    @cached_property
    def baseline(self) -> tuple[str, list[Point]]:
        """What its hits and latency are compared with, and how near their loads are."""
        within = [p for p in self.points if p.is_whole and overlap(p.span, self.cap)]
        ranges = [(p.arrivals, *around(p.arrivals, self.undisturbed, len(within))) for p in within]
        found = [p for p in self.undisturbed if any(low <= p.arrivals <= high for _, low, high in ranges)]
        near = [
            any(low <= p.arrivals <= high and abs(p.arrivals - load) <= LIKE * load for load, low, high in ranges)
            for p in found
        ]
        if not found:
            return "none", []
        if len(found) < ENOUGH:
            return "few", found
        return ("matched" if all(near) else "nearest"), found

    @cached_property
    def priced(self) -> list[Point]:
        """The windows that its price and the share accepted come from, at the price of its own."""
        return at_prices_of(self.windows, alike(self.loads, self.undisturbed))

    @cached_property
    def loads(self) -> list[int]:
        """Arrivals of the windows that it lies in."""
        return [p.arrivals for p in self.windows]

    @cached_property
    def recovered_at(self) -> int | None:
        """When it was back: at the first of two windows in a row; None: not by its cap."""
        baseline = self.baseline[1]
        hits, p95 = hit_ratio(baseline), median_p95(baseline)
        if hits is None and p95 is None:
            return None
        lately = [p for p in self.points if p.is_whole and p.span[1] > self.at]
        for one, other in pairwise(lately):
            if one.span[1] == other.at and self._is_back(one, hits, p95) and self._is_back(other, hits, p95):
                return max(one.at, self.at) if one.at < self.cap[1] else None
        return None

    def _is_back(self, point: Point, hits: Fraction | None, p95: Fraction | None) -> bool:
        own = hit_ratio([point])
        finds = hits is None or (own is not None and own >= (1 - self.tolerance) * hits)
        answers = p95 is None or (point.p95_ttft_s is not None and point.p95_ttft_s <= (1 + self.tolerance) * p95)
        return finds and answers

    @cached_property
    def end(self) -> tuple[str, int]:
        """How and when it ended."""
        if self.recovered_at is not None:
            return "recovered", self.recovered_at
        by = "cap" if self.cap[1] <= self.observed[1] else "open"
        return by, max(self.at, min(self.cap[1], self.observed[1]))

    @cached_property
    def windows(self) -> list[Point]:
        """The base windows that it lies in, that of its beginning at least."""
        return [p for p in self.points if p.span[1] > self.at and (p.at < self.end[1] or p.at <= self.at)]

    def concerns(self, pool: str | None) -> bool:
        """Whether it has to do with a pool, or the fleet."""
        return self.pool is None or pool is None or self.pool == pool

    def overlaps(self, other: "Disruption") -> bool:
        """Whether both disrupted a pool within one base window, so that the numbers of both are of it."""
        return self.concerns(other.pool) and not self._lies_in.isdisjoint(other._lies_in)

    @cached_property
    def _lies_in(self) -> set[int]:
        first = self.at // self.base_ns * self.base_ns
        return {first, *range(first, self.end[1], self.base_ns)}


def disruptions(fleet: Fleet, points: list[Point], states: States, observed: Span) -> list[Disruption]:
    """Operations whose disruption telemetry may show, in their order."""
    found = []
    caps = [(event, concerned(event, states), _cap(fleet, event)) for event in operations(fleet).values()]
    for event, pool, cap in caps:
        if cap[1] > observed[0]:
            near = [own for _, of, own in caps if pool is None or of is None or of == pool]
            mine = [p for p in points if p.pool == pool]
            before = [p for p in mine if p.at >= cap[0] - 7 * DAY and p.span[1] <= cap[0] and p.is_whole and p.offered]
            calm = [p for p in before if not any(overlap(p.span, own) for own in near)]
            tolerance = exact(fleet.settings.get("disruptions", {}).get("recovery_tolerance_ratio", 0.1))
            base_ns = min(fleet.settings["windows_s"]) * S
            found.append(Disruption(event, pool, cap, mine, calm, tolerance, observed, base_ns))  # type: ignore[arg-type]
    return sorted(found, key=lambda one: (one.at, one.event["event_id"]))


def _cap(fleet: Fleet, event: Row) -> Span:
    return event["occurred_at"], event["occurred_at"] + cap_ns(fleet, event["kind"])


def median_p95(of: list[Point]) -> Fraction | None:
    """The median of the windows' p95 of ttft."""
    return quantile([p.p95_ttft_s for p in of if p.p95_ttft_s is not None], HALF)
