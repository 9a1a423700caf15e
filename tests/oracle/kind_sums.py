"""What disruptions cost and lost beside steady time of their pools: docs/semantics.md#disruptions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import hypot

from oracle.like import Estimate, Like
from oracle.rates import Usual, spread
from oracle.together import Reach

# pool; offered, accepted, USD there; steady windows at its load; windows
Part = tuple[str, int, Fraction, Fraction | None, Like, int]
Parts = Sequence[Sequence[Part]]  # of each disruption
Reaches = dict[str, Reach]  # how far labels of a pool's disruptions reach
FEWEST = 3


@dataclass(frozen=True)
class Doubts:
    """How far a sum may be off: by steady time to either side, by its own labels, and by what has no label."""

    low: float | None
    high: float | None
    sampled: float
    open_low: float
    open_high: float


def excesses(parts: Parts) -> list[Fraction | None]:
    """What each disruption cost beyond what was accepted at the steady price at its load."""

    def excess(part: Part) -> Fraction | None:
        _, _, accepted, usd, like, _ = part
        return None if usd is None or like.price.value is None else usd - accepted * Fraction(like.price.value)

    return [total([excess(part) for part in of]) for of in parts]


def losses(parts: Parts) -> list[Fraction | None]:
    """How many requests fewer each disruption accepted than steady time would have at its load."""

    def loss(part: Part) -> Fraction | None:
        _, offered, accepted, _, like, _ = part
        ratio = like.goodput.value
        return None if ratio is None else offered * Fraction(ratio) - accepted

    return [total([loss(part) for part in of]) for of in parts]


def total(values: Sequence[Fraction | None]) -> Fraction | None:
    """What all come to; None where one is not known."""
    return None if None in values else sum((v for v in values if v is not None), Fraction(0))


def usual(parts: Parts, pool: str) -> Usual | None:
    """What steady time costs and accepts at the loads of a pool's disruptions, and half the interval of that cost."""
    mine = [part for group in parts for part in group if part[0] == pool]
    if any(part[4].there is None for part in mine):
        return None
    usd, accepted, half = Fraction(0), Fraction(0), 0.0
    for *_, like, windows in mine:
        there_usd, there = like.there  # type: ignore[misc]
        usd, accepted = usd + windows * there_usd, accepted + windows * there
        below, above = _sides(like.price)
        half = None if half is None or above is None else half + float(windows * there) * max(below, above)  # type: ignore[assignment,type-var]
    return usd, accepted, half


def _sides(of: Estimate) -> tuple[float | None, float | None]:
    """How far it may be off to either side."""
    ends = (of.low, of.high)
    below, above = (None if end is None or of.value is None else abs(float(end) - float(of.value)) for end in ends)
    return below, above


def cost_doubts(parts: Parts, reaches: Reaches) -> Doubts:
    """Of excesses: dearer steady time leaves less."""
    known = {pool: usual(parts, pool) for pool in reaches}
    scale = {pool: 0.0 if of is None else float(of[0] / of[1]) for pool, of in known.items()}
    return _doubts(parts, reaches, scale, lambda part: (part[2], *reversed(_sides(part[4].price))))


def loss_doubts(parts: Parts, reaches: Reaches) -> Doubts:
    """Of losses: better steady time leaves more."""
    return _doubts(parts, reaches, dict.fromkeys(reaches, 1.0), lambda part: (part[1], *_sides(part[4].goodput)))


def _doubts(
    parts: Parts,
    reaches: Reaches,
    scale: dict[str, float],
    sides: Callable[[Part], tuple[int | Fraction, float | None, float | None]],
) -> Doubts:
    below: list[float | None] = []
    above: list[float | None] = []
    for pool in reaches:
        mine = [sides(part) for group in parts for part in group if part[0] == pool]
        for number, side in ((1, below), (2, above)):
            ends = [of[number] for of in mine]
            side.append(
                None if None in ends else sum(float(of[0]) * end for of, end in zip(mine, ends, strict=True))  # type: ignore[operator]
            )
    return Doubts(
        _quadrature(below),
        _quadrature(above),
        hypot(*(scale[pool] * reach.sampled for pool, reach in reaches.items())),
        sum(scale[pool] * reach.open_above for pool, reach in reaches.items()),
        sum(scale[pool] * reach.open_below for pool, reach in reaches.items()),
    )


def _quadrature(distances: Sequence[float | None]) -> float | None:
    return None if None in distances else hypot(*(d for d in distances if d is not None))


def each(values: Sequence[Fraction | None], doubts: Doubts) -> Estimate:
    """What one of these is on average, over disruptions like these; None where there are too few."""
    n, of_all = len(values), total(values)
    if n < FEWEST or of_all is None:
        return Estimate(None, None, None)
    half = max(spread([(0, value) for value in values], 0) or 0.0, doubts.sampled)  # type: ignore[misc]
    low = None if doubts.low is None else float(of_all) - hypot(half, doubts.low) - doubts.open_low
    high = None if doubts.high is None else float(of_all) + hypot(half, doubts.high) + doubts.open_high
    return Estimate(of_all / n, *(None if end is None else end / n for end in (low, high)))
