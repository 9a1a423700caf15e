"""What histograms of engines observed in each window: docs/semantics.md#histograms."""

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from oracle.counters import Point
from oracle.engine import BOUNDS
from oracle.fleet import Row
from oracle.slices import window_of
from oracle.state import States

Key = tuple[int, int, str, str, str]  # window in Unix seconds, its length, layer, replica, metric


def histograms(states: States) -> dict[Key, Row]:
    """Rows of relation replica_histograms."""
    read: dict[Key, list[Point]] = defaultdict(list)
    for point in states.samples.points:
        for window_s in states.fleet.settings["windows_s"] if point.kind == "histogram" else ():
            if point.increase is not None:
                read[window_of(point.at, window_s), window_s, "engine", point.replica, point.metric].append(point)
    return {key: _row(states, key, points) for key, points in read.items()}


def _row(states: States, key: Key, points: list[Point]) -> Row:
    observed = sum(Fraction(point.increase or 0) for point in points)
    counts = [sum(map(Fraction, of)) for of in zip(*(point.added or () for point in points), strict=True)]
    total = sum(Fraction(point.added_total or 0) for point in points)
    place = (key[0], key[1], key[3])
    found: Row = {"pool": states.pool(place), "model": states.model(place)}
    found |= {"observed": observed, "mean": total / observed if observed else None}
    for name in (50, 95, 99):
        value, low, high = (
            _quantile(BOUNDS[key[4]], counts, observed * Fraction(name, 100)) if observed else (None,) * 3
        )
        found |= {f"p{name}": value, f"p{name}_low": low, f"p{name}_high": high}
    return found


def _quantile(bounds: Sequence[float], counts: list[Any], rank: Fraction) -> tuple[Any, Any, Any]:
    """The value of a rank between the bounds of the bucket that holds it; None beyond the last."""
    low, before = Fraction(0), Fraction(0)
    for bound, count in zip(bounds, counts, strict=True):
        high = Fraction(str(bound))
        if count >= rank:
            return low + (high - low) * (rank - before) / (count - before), low, high
        low, before = high, count
    return None, low, None
