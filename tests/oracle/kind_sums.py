"""What disruptions cost and lost beside steady time of their pools: docs/semantics.md#disruptions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import hypot

from oracle.disruption_rows import Estimate
from oracle.rates import Rate, blend, spread
from oracle.together import Reach

Part = tuple[str, int, Fraction, Fraction | None]  # pool; offered, accepted, USD there
Parts = Sequence[Sequence[Part]]  # of each disruption
Beside = dict[str, tuple[Rate, Reach]]  # steady time of each pool, and how far labels of its disruptions reach
FEWEST = 3


@dataclass(frozen=True)
class Doubts:
    """How far a sum may be off: by steady time to either side, by its own labels, and by what has no label."""

    low: float | None
    high: float | None
    sampled: float
    open_low: float
    open_high: float


def excesses(parts: Parts, beside: Beside) -> list[Fraction | None]:
    """What each disruption cost beyond what was accepted at the steady price."""

    def excess(part: Part) -> Fraction | None:
        pool, _, accepted, usd = part
        price = beside[pool][0].price
        return None if usd is None or price is None else usd - accepted * price

    return [total([excess(part) for part in of]) for of in parts]


def losses(parts: Parts, beside: Beside) -> list[Fraction | None]:
    """How many requests fewer each disruption accepted than steady time would have."""

    def loss(part: Part) -> Fraction | None:
        pool, offered, accepted, _ = part
        ratio = beside[pool][0].goodput.value
        return None if ratio is None else offered * Fraction(ratio) - accepted

    return [total([loss(part) for part in of]) for of in parts]


def total(values: Sequence[Fraction | None]) -> Fraction | None:
    """What all come to; None where one is not known."""
    return None if None in values else sum((v for v in values if v is not None), Fraction(0))


def cost_doubts(parts: Parts, beside: Beside) -> Doubts:
    """Of excesses: dearer steady time leaves less."""
    prices = {pool: blend([(rate, Fraction(1))]) for pool, (rate, _) in beside.items()}
    scale = {pool: 0.0 if price.value is None else float(price.value) for pool, price in prices.items()}
    return _doubts(parts, beside, {pool: _turned(of) for pool, of in prices.items()}, scale, lambda part: part[2])


def loss_doubts(parts: Parts, beside: Beside) -> Doubts:
    """Of losses: better steady time leaves more."""
    ratios = {pool: rate.goodput for pool, (rate, _) in beside.items()}
    return _doubts(parts, beside, ratios, dict.fromkeys(beside, 1.0), lambda part: part[1])


def _turned(of: Estimate) -> Estimate:
    return Estimate(of.value, of.high, of.low)


def _doubts(
    parts: Parts,
    beside: Beside,
    usual: dict[str, Estimate],
    scale: dict[str, float],
    times: Callable[[Part], int | Fraction],
) -> Doubts:
    below, above = [], []
    for pool, of in usual.items():
        amount = float(sum(times(part) for group in parts for part in group if part[0] == pool))
        for end, side in ((of.low, below), (of.high, above)):
            side.append(None if end is None or of.value is None else amount * abs(float(end) - float(of.value)))
    reaches = {pool: reach for pool, (_, reach) in beside.items()}
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
