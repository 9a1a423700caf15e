"""Windows at the price of another time: docs/semantics.md#disruptions."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from oracle.fleet import Row
from oracle.points import Amounts, Paid, Point

NEAR = Fraction(1, 100)
NOTHING: Amounts = (Fraction(0), Fraction(0), Fraction(0))


def replica_time(rows: Iterable[Row], base_ns: int) -> dict[int, Paid]:
    """What replica time cost by base window, then pool and replica."""
    found: dict[int, Paid] = {}
    for row in rows:
        of = found.setdefault(row["step_ns"] // base_ns * base_ns, {})
        key = (row["pool"] or "unknown", row["replica"])
        of[key] = _plus(of.get(key, NOTHING), (row["own"], row["pooled"], row["gpu_s"]))
    return found


def at_prices_of(own: Sequence[Point], points: Sequence[Point]) -> list[Point]:
    """These windows, had replica time cost what it did in `own`."""
    then = _added(own)
    return [_repriced(point, then, len(own)) for point in points]


def _repriced(point: Point, then: Paid, windows: int) -> Point:
    if point.usd is None:
        return point
    replicas, pools, gpu_s = _total(point.paid)
    then_replicas, then_pools, then_gpu_s = _total(then)
    more = Fraction(0)
    if replicas:
        times = _of_the_same(point.paid, then)
        if times is None and _is_near(_over(then_replicas * gpu_s, replicas * then_gpu_s)):
            times = Fraction(1)
        if times is None:
            return replace(point, usd=None, is_unmatched=True)
        more += replicas * (times - 1)
    if pools:
        by_gpu, by_time = _over(then_pools * gpu_s, pools * then_gpu_s), _over(then_pools, pools * windows)
        if _is_near(by_gpu) or _is_near(by_time):
            times = Fraction(1)
        elif by_gpu is not None and by_time and _is_near(by_gpu / by_time):
            times = by_time
        else:
            return replace(point, usd=None, is_unmatched=True)
        more += pools * (times - 1)
    return replace(point, usd=point.usd + more)


def _of_the_same(paid: Paid, then: Paid) -> Fraction | None:
    """What replicas that are charged for in both cost then, of what they cost."""
    same = [key for key, of in paid.items() if all((of[0], of[2])) and all(then.get(key, NOTHING)[::2])]
    return _over(
        sum((paid[key][2] * then[key][0] / then[key][2] for key in same), Fraction(0)),
        sum((paid[key][0] for key in same), Fraction(0)),
    )


def _added(points: Iterable[Point]) -> Paid:
    found: Paid = {}
    for point in points:
        for key, of in point.paid.items():
            found[key] = _plus(found.get(key, NOTHING), of)
    return found


def _total(paid: Paid) -> Amounts:
    total = NOTHING
    for of in paid.values():
        total = _plus(total, of)
    return total


def _plus(one: Amounts, other: Amounts) -> Amounts:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


def _over(one: Fraction, other: Fraction) -> Fraction | None:
    return one / other if other > 0 else None


def _is_near(times: Fraction | None) -> bool:
    return times is not None and abs(times - 1) <= NEAR
