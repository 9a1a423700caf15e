"""What each disruption was, cost and lost beside its baseline: docs/semantics.md#disruptions."""

from fractions import Fraction
from math import hypot

from oracle.compare import Within
from oracle.disrupted import Disruption, median_p95
from oracle.fleet import Fleet, Row, seconds
from oracle.like import NOT_KNOWN, Estimate, Like, Number
from oracle.points import Point, hit_ratio
from oracle.together import Together


def rows(fleet: Fleet, disruptions: list[Disruption]) -> dict[str, Row]:
    """Rows of relation disruptions by event_id."""
    return {
        one.event["event_id"]: {
            **{name: one.event[name] for name in ("kind", "replica", "revision")},
            "pool": one.pool,
            **_time(one),
            "overlapping_events": sum(one.overlaps(other) for other in disruptions if other is not one),
            **_compared(fleet, one),
        }
        for one in disruptions
    }


def _time(one: Disruption) -> Row:
    ended_by, ended_at = one.end
    lasted = None if one.recovered_at is None else seconds(one.recovered_at - one.at)
    # a sample of the baseline that does not recover counts as the cap
    interval = Within(0, seconds(one.cap[1] - one.at)) if one.baseline[0] == "matched" else None
    return {
        "occurred_at": one.at // 1000,
        "ended_at": ended_at // 1000,
        "ended_by": ended_by,
        "duration_s": seconds(ended_at - one.at),
        "recovery_s": lasted,
        "recovery_ci_low_s": interval,
        "recovery_ci_high_s": interval,
    }


def _compared(fleet: Fleet, one: Disruption) -> Row:
    chosen, baseline = one.baseline
    own, usual = Together(fleet, one.windows), Together(fleet, one.priced)
    offered, accepted = sum(p.offered for p in one.windows), _accepted(own)
    like = _like(usual, one.windows)
    goodput, price = like.goodput, like.price
    costs = [p.usd for p in one.windows]
    usd = sum(c for c in costs if c is not None) if costs and None not in costs else None
    shown: Row = {
        "baseline": chosen,
        "baseline_windows": len(baseline),
        "offered": offered,
        "hit_ratio": hit_ratio(one.windows),
        "p95_ttft_s": median_p95(one.windows),
        "baseline_hit_ratio": hit_ratio(baseline),
        "baseline_p95_ttft_s": median_p95(baseline),
        "cost_usd": usd,
        "priced_windows": len(one.priced),
        "no_interval": _why(one, like, usd),
    }
    for name, unit, values in (
        ("baseline_hit", "_ratio", [hit_ratio([p]) for p in baseline]),
        ("baseline_p95_ttft", "_s", [p.p95_ttft_s for p in baseline]),
    ):
        known = [value for value in values if value is not None]
        # draws of windows lie between the least and the greatest of them
        between = Within(min(known), max(known)) if known and chosen == "matched" else None
        shown |= {f"{name}_ci_{end}{unit}": between for end in ("low", "high")}
    shown |= named("accepted", "", accepted if one.windows else Estimate(0, None, None))
    shown |= named("baseline_goodput", "_ratio", goodput)
    shown |= named("baseline_cost_per_accepted", "_usd", price)
    shown |= named("cost_per_accepted", "_usd", Estimate(*(_over(usd, n) for n in _turned(accepted))))
    excess, lost = NOT_KNOWN, NOT_KNOWN
    if one.windows:
        excess = _less(Estimate(usd, usd, usd), _times(accepted, price))
        lost = _less(_times(Estimate(offered, offered, offered), goodput), accepted)
    return shown | named("excess_cost", "_usd", excess) | named("lost_accepted", "", lost)


def named(name: str, unit: str, of: Estimate) -> Row:
    """The columns of a number and its interval."""
    return {name + unit: of.value, f"{name}_ci_low{unit}": of.low, f"{name}_ci_high{unit}": of.high}


def _why(one: Disruption, like: Like, usd: Number | None) -> str | None:
    """Why there is no price: of a pool of which nothing is there meanwhile, no load is like its own."""
    if not one.windows and one.undisturbed:
        return "load_unmatched"
    return like.no_price or (None if usd is not None else "cost_unknown")


def _turned(of: Estimate) -> tuple[Number | None, Number | None, Number | None]:
    return of.value, of.high, of.low


def _over(number: Number | None, by: Number | None) -> float | None:
    return None if number is None or by is None or by <= 0 else float(number) / float(by)


def _accepted(own: Together) -> Estimate:
    """Of the disruption's own requests, what labels leave open."""
    value, reach = sum((own.accepted(p) for p in own.points), Fraction(0)), own.reach(of_these=True)
    return Estimate(value, value - reach.below - reach.open_below, value + reach.above + reach.open_above)


def _like(usual: Together, own: list[Point]) -> Like:
    """What undisturbed windows do at such loads."""
    offered, accepted = sum(p.offered for p in usual.points), sum(map(usual.accepted, usual.points), Fraction(0))
    return Like(usual.points, own, usual.accepted, usual.reach(of_these=False), offered, accepted)


def _times(one: Estimate, other: Estimate) -> Estimate:
    """A product: distances in quadrature."""
    if one.value is None or other.value is None:
        return NOT_KNOWN
    ends = []
    for side in ("low", "high"):
        a, b = getattr(one, side), getattr(other, side)
        reach = (
            None
            if a is None or b is None
            else _quadrature(other.value * (a - one.value), one.value * (b - other.value))
        )
        ends.append(None if reach is None else float(one.value * other.value) + (reach if side == "high" else -reach))
    return Estimate(one.value * other.value, *ends)


def _less(one: Estimate, other: Estimate) -> Estimate:
    """A difference: distances in quadrature."""
    if one.value is None or other.value is None:
        return NOT_KNOWN
    value = one.value - other.value
    low = None if other.high is None else float(value) - _quadrature(one.value - one.low, other.high - other.value)  # type: ignore[operator]
    high = None if other.low is None else float(value) + _quadrature(one.high - one.value, other.value - other.low)  # type: ignore[operator]
    return Estimate(value, low, high)


def _quadrature(*distances: Number) -> float:
    return hypot(*(float(distance) for distance in distances))
