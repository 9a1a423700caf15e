"""How often alarms fired, pooled over series: exact intervals, and none where series are few."""

from typing import Any

import pytest
from scipy.stats import chi2

from goodput.cli.fired_rates import fired_rates, poisson_interval


@pytest.mark.parametrize("count", [0, 1, 3, 17, 400, 3000])
def test_the_interval_is_that_of_quantiles_of_chi_squared(count: int) -> None:
    low = chi2.ppf(0.025, 2 * count) / 2 if count else 0.0
    assert poisson_interval(count) == pytest.approx((low, chi2.ppf(0.975, 2 * count + 2) / 2), rel=1e-6)


def power(metric: str, fired: int, days: float) -> dict[str, Any]:
    return {"metric": metric, "severity": "page", "fired": fired, "replayed_days": days}


def test_series_of_a_metric_are_pooled_and_fewer_than_fifty_say_nothing() -> None:
    """50 series of 20 days, of which three fired once: 3 of 1,000 days, by tables of Poisson's law 0.62 to 8.8."""
    many = [power("p99_ttft_s", int(n < 3), 20.0) for n in range(50)]
    few = [power("failed", 0, 28.0) for _ in range(49)]
    learning = [power("failed", 0, 0.0) for _ in range(9)]
    assert list(fired_rates([*many, *few, *learning])) == [
        ("failed", "page", 49, 1372, 0, "cannot be known: 50 series are needed"),
        ("p99_ttft_s", "page", 50, 1000, 3, "3 (0.62..8.8)"),
    ]
