"""How often trend alarms fired in their own last weeks, pooled over series that are alike, with exact intervals.

One series of four weeks cannot show a rate of one in 1,000 days, so below LEAST_SERIES nothing is concluded.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

LEAST_SERIES = 50
_TAIL = 0.025


def fired_rates(rows: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str, int, int, int, str]]:
    """By metric and severity: series, days replayed, times fired, and that in 1,000 series-days; rows of alarm_power.

    True and false alarms count alike: nobody says which were false.
    """
    pooled: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for row in rows:
        if row["replayed_days"]:
            pooled.setdefault((row["metric"], row["severity"]), []).append((row["fired"], row["replayed_days"]))
    for (metric, severity), series in sorted(pooled.items()):
        fired, days = sum(count for count, _ in series), sum(days for _, days in series)
        yield metric, severity, len(series), round(days), fired, rate_of(fired, days, len(series))


def rate_of(fired: int, days: float, series: int) -> str:
    """Times fired in 1,000 series-days with its interval; that it cannot be known where series are few."""
    if series < LEAST_SERIES:
        return f"cannot be known: {LEAST_SERIES} series are needed"
    found, low, high = (1000 * count / days for count in (fired, *poisson_interval(fired)))
    return f"{found:.2g} ({low:.2g}..{high:.2g})"


def poisson_interval(count: int) -> tuple[float, float]:
    """Exact interval of 95 % of the mean that a Poisson count is of."""
    low = 0.0 if count == 0 else _mean_where(lambda mean: 1 - _at_most(count - 1, mean) >= _TAIL, count)
    return low, _mean_where(lambda mean: _at_most(count, mean) <= _TAIL, count)


def _mean_where(holds: Callable[[float], bool], count: int) -> float:
    """The least mean from which on something holds."""
    low, high = 0.0, count + 10 * math.sqrt(count + 1) + 10
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _at_most(count: int, mean: float) -> float:
    return math.fsum(math.exp(n * math.log(mean) - mean - math.lgamma(n + 1)) for n in range(count + 1))
