"""What kinds of operations cost, and would cost if they came more or less often: docs/semantics.md#disruptions."""

from fractions import Fraction

from oracle.disruption_rows import named
from oracle.fleet import DAY, Row
from oracle.kind_sums import Part, cost_doubts, each, excesses, loss_doubts, losses, total, usual
from oracle.kinds import Week, Work
from oracle.like import Estimate, Like, alike
from oracle.points import Point
from oracle.prices import at_prices_of
from oracle.rates import Rate, Usual, blend
from oracle.together import Reach

FEWEST, RATES = 3, (0, 1, 2, 4, 8, 16, 32)
REASONS = (  # of several the first
    *("few_windows", "partly_observed", "load_unmatched", "price_unmatched", "cost_unknown"),
    *("nothing_accepted", "nothing_judged"),
)


class Kinds:
    """Rows of disruption_cost and disruption_frequency."""

    def __init__(self, week: Week) -> None:
        self.week = week
        self.disrupted: dict[tuple[str | None, str | None], Rate] = {}
        self.usual: dict[tuple[str | None, str], Usual | None] = {}
        self.cost = {key: row for kind in week.kinds() for key, row in self._of_kind(kind)}

    def steady(self, pool: str | None) -> Rate:
        """Steady time of a pool, or of all."""
        works = self.week.steady
        work = works[pool] if pool is not None else Work(self.week.fleet, [w.by_pool[0] for w in works.values()])
        return Rate(work.units, work.reach)

    def _of_kind(self, kind: str | None) -> list[tuple[tuple[str | None, str | None], Row]]:
        pools = [pool for pool in sorted(self.week.pools) if self.week.of_kind(kind, pool)]
        found = [((kind, pool), self._row(kind, [pool], pool)) for pool in pools]
        return [*found, ((kind, None), self._row(kind, pools, None))]

    def _row(self, kind: str | None, pools: list[str], pool: str | None) -> Row:
        week = self.week
        stretches = {of: week.stretches(kind, of) for of in pools}
        groups = week.together(kind) if pool is None else [[(pool, one)] for one in stretches[pool]]
        works = {of: Work(week.fleet, [[p for s in stretches[of] for p in s.points.values()]]) for of in pools}
        members = [[(works[of].together[0], p) for of, s in group for p in s.points.values()] for group in groups]
        reach = Reach.of_all([work.reach for work in works.values()])
        rate = self.disrupted[kind, pool] = Rate([Work.sums(of) for of in members], reach, FEWEST)
        steady, blended = self.steady(pool), blend([(self.steady(pool), Fraction(1)), (rate, Fraction(1))])
        row = {"disruptions": len(groups), **self._time(kind, pools, pool, works), **_sums(steady, rate)}
        row |= named("steady_cost_per_accepted", "_usd", blend([(steady, Fraction(1))]))
        row |= named("disrupted_cost_per_accepted", "_usd", blend([(rate, Fraction(1))]))
        row |= named("blended_cost_per_accepted", "_usd", blended if steady.units else Estimate(None, None, None))
        parts = [[self._part(of, works[of], list(one.points.values())) for of, one in group] for group in groups]
        reaches = {of: works[of].reach for of in pools}
        row |= {"excess_cost_usd": total(excesses(parts)), "lost_accepted": total(losses(parts))}
        excess = each(excesses(parts), cost_doubts(parts, reaches))
        lost = each(losses(parts), loss_doubts(parts, reaches))
        row |= named("excess_cost_per_disruption", "_usd", excess) | named("lost_accepted_per_disruption", "", lost)
        if pool is not None:
            self.usual[kind, pool] = usual(parts, pool)
        reasons = {part[4].no_price for of in parts for part in of}
        return row | {"no_interval": _why_not(steady, rate, excess, blended, reasons)}

    def _part(self, pool: str, work: Work, own: list[Point]) -> Part:
        """What a disruption was in a pool, and what it is set beside."""
        return pool, *Work.sums([(work.together[0], p) for p in own]), self._like(pool, own), len(own)

    def _like(self, pool: str, own: list[Point]) -> Like:
        """What steady windows of a pool do at the loads of a disruption."""
        work = self.week.steady[pool]
        of, reach = work.together[0], work.reach
        loads = [p.arrivals for p in own]
        steady = [p for p in of.points if p.is_whole and p.offered]
        rate = self.steady(pool)
        both = Reach(reach.sampled, reach.sampled, reach.open_below, reach.open_above)
        return Like(at_prices_of(own, alike(loads, steady)), own, of.accepted, both, rate.offered, rate.accepted)

    def _time(self, kind: str | None, pools: list[str], pool: str | None, works: dict[str, Work]) -> Row:
        """How many operations there were, and how much of the time they disrupted."""
        base_s, (begins, ends) = min(self.week.fleet.settings["windows_s"]), self.week.span
        events = {one.event["event_id"] for of in pools for one in self.week.of_kind(kind, of)}
        disrupted_s = base_s * sum(work.windows for work in works.values())
        return {
            "period_start": begins // 1000,
            "period_end": ends // 1000,
            "events": len(events),
            "events_per_day": len(events) / Fraction(ends - begins, DAY),
            "disrupted_s": disrupted_s,
            "disrupted_per_event_s": Fraction(disrupted_s, len(events)),
            "steady_s": base_s * sum(self.week.steady[of].windows for of in ([pool] if pool else self.week.pools)),
        }

    def frequency(self) -> dict[tuple[str | None, str | None, float], Row]:
        """Rows of disruption_frequency."""
        found = {}
        for (kind, pool), row in self.cost.items():
            for often in {*map(Fraction, RATES), Fraction(row["events_per_day"])} if pool and row["steady_s"] else ():
                share = often * row["disrupted_per_event_s"] / 86400
                if share <= 1:
                    times = often / Fraction(row["events_per_day"])
                    both = [(self.steady(pool), Fraction(1)), (self.disrupted[kind, pool], times)]
                    of = {"observed": often == row["events_per_day"], "disrupted_ratio": share}
                    of |= named("blended_cost_per_accepted", "_usd", blend(both, self.usual[kind, pool], 1 - times))
                    found[kind, pool, round(float(often), 9)] = of
        return found


def _sums(steady: Rate, rate: Rate) -> Row:
    return {
        "steady_accepted": steady.accepted,
        "steady_cost_usd": steady.usd,
        "disrupted_offered": rate.offered,
        "disrupted_accepted": rate.accepted,
        "disrupted_cost_usd": rate.usd,
    }


def _why_not(steady: Rate, rate: Rate, excess: Estimate, blended: Estimate, reasons: set[str | None]) -> str | None:
    if len(rate.units) < FEWEST:
        return "few_disruptions"
    if len(steady.units) < 2:
        return "no_steady_time"
    if steady.usd is None or rate.usd is None:
        return "cost_unknown"
    for reason in REASONS:
        if reason in reasons:
            return reason
    return "nothing_judged" if excess.low is None or blended.high is None else None
