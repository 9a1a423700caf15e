"""What kinds of operations disrupted in the last 7 days, pool by pool: docs/semantics.md#disruptions."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from oracle.disrupted import Disruption
from oracle.fleet import DAY, Fleet
from oracle.points import Point
from oracle.together import Reach, Together

WEEK = 7 * DAY


@dataclass
class Stretch:
    """Windows of a pool that operations disrupted without a break: one disruption."""

    points: dict[int, Point] = field(default_factory=dict)
    by: list[Disruption] = field(default_factory=list)


class Week:
    """Base windows of each pool in the last 7 days, and which of them operations disrupted."""

    def __init__(self, fleet: Fleet, points: list[Point], disruptions: list[Disruption], until_ns: int) -> None:
        self.fleet = fleet
        last_day = (until_ns // DAY + 1) * DAY  # days with bills alone are not measured
        measured = [point for point in points if last_day - WEEK - DAY <= point.at < last_day]
        ends = max(point.span[1] for point in measured)
        self.span = max(min(point.at for point in measured), ends - WEEK), ends
        self.pools: dict[str, list[Point]] = defaultdict(list)
        for point in measured:
            if point.pool is not None and self.span[0] <= point.at:
                self.pools[point.pool].append(point)
        self.disruptions = [one for one in disruptions if one.at < ends]
        self.steady = {pool: Work(fleet, [[p for p in of if not self._hit(p)]]) for pool, of in self.pools.items()}

    def _hit(self, point: Point) -> bool:
        return any(_lies_in(point, one) for one in self.disruptions)

    def kinds(self) -> list[str | None]:
        """Kinds that disrupted a window, and all of them together (None)."""
        found = {one.event["kind"] for one in self.disruptions if any(self.windows(one, pool) for pool in self.pools)}
        return [None, *sorted(found)] if found else []

    def windows(self, one: Disruption, pool: str) -> list[Point]:
        """Windows of a pool that an operation disrupted."""
        return [p for p in self.pools[pool] if _lies_in(p, one)]

    def of_kind(self, kind: str | None, pool: str) -> list[Disruption]:
        """Operations of a kind that disrupted a window of a pool."""
        alike = [one for one in self.disruptions if kind in {None, one.event["kind"]}]
        return [one for one in alike if self.windows(one, pool)]

    def stretches(self, kind: str | None, pool: str) -> list[Stretch]:
        """Disruptions of a pool: operations that share a window are one."""
        found: list[Stretch] = []
        for one in sorted(self.of_kind(kind, pool), key=lambda one: self.windows(one, pool)[0].at):
            own = {p.at: p for p in self.windows(one, pool)}
            if not found or min(own) > max(found[-1].points):
                found.append(Stretch())
            found[-1].points |= own
            found[-1].by.append(one)
        return found

    def together(self, kind: str | None) -> list[list[tuple[str, Stretch]]]:
        """Disruptions over all pools: what an operation on the whole fleet does to each is one."""
        groups: list[tuple[set[str], list[tuple[str, Stretch]]]] = []
        for pool in sorted(self.pools):
            for stretch in self.stretches(kind, pool):
                fleetwide = {one.event["event_id"] for one in stretch.by if one.pool is None}
                alike = [group for group in groups if group[0] & fleetwide]
                groups = [group for group in groups if not group[0] & fleetwide]
                members = [member for group in alike for member in group[1]]
                groups.append((fleetwide.union(*(group[0] for group in alike)), [*members, (pool, stretch)]))
        return [members for _, members in groups]


def _lies_in(point: Point, one: Disruption) -> bool:
    is_hit = point.span[1] > one.at and (point.at < one.end[1] or point.at <= one.at)
    return is_hit and one.concerns(point.pool)


@dataclass
class Work:
    """What windows came to, in one pool or (several lists) in each of several, labels of a pool counting together."""

    fleet: Fleet
    by_pool: list[list[Point]]

    @cached_property
    def together(self) -> list[Together]:
        """Labels of each pool."""
        return [Together(self.fleet, of) for of in self.by_pool]

    @cached_property
    def units(self) -> list[tuple[int, Fraction, Fraction | None]]:
        """Offered, accepted and USD of each moment: windows of all pools at one time are one."""
        of: dict[int, list[tuple[Together, Point]]] = defaultdict(list)
        for together in self.together:
            for point in together.points:
                of[point.at].append((together, point))
        return [self.sums(of[at]) for at in sorted(of)]

    @staticmethod
    def sums(of: Iterable[tuple[Together, Point]]) -> tuple[int, Fraction, Fraction | None]:
        """Offered, accepted and USD (None: not known of each) of some windows."""
        of = list(of)
        offered = sum(point.offered for _, point in of)
        accepted = sum((together.accepted(point) for together, point in of), Fraction(0))
        usd = [point.usd for _, point in of]
        return offered, accepted, None if None in usd else sum((u for u in usd if u is not None), Fraction(0))

    @cached_property
    def windows(self) -> int:
        """How many there are."""
        return sum(len(of) for of in self.by_pool)

    @cached_property
    def reach(self) -> Reach:
        """How far what such windows accept may be off."""
        return Reach.of_all([together.reach(of_these=False) for together in self.together])
