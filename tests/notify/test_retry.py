"""When a delivery is tried again, and when it is given up."""

import random
from datetime import UTC, datetime

import pytest

from goodput.notify.retry import RetryLimits, backoff_s, retry_after_s

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("120", 120.0),
        (" 0 ", 0.0),
        ("99999999999999999999", 86400.0),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("٣", None),
        ("Sat, 21 Nov 2026 12:02:00 GMT", 120.0),
        ("Saturday, 21-Nov-26 12:02:00 GMT", 120.0),
        ("Sat, 21 Nov 2026 11:00:00 GMT", 0.0),
        ("Sun, 21 Nov 2100 12:00:00 GMT", 86400.0),
        ("Sat, 99 Nov 2026 12:00:00 GMT", None),
    ],
)
def test_retry_after(header: str | None, seconds: float | None) -> None:
    assert retry_after_s(header, NOW) == seconds


@pytest.mark.parametrize(
    ("attempts", "severity", "ceiling_s"),
    [
        *((1, "page", 15), (2, "page", 60), (3, "page", 240), (4, "page", 960), (5, "page", 3600), (99, "page", 3600)),
        *((5, "ticket", 3840), (6, "ticket", 15360), (7, "ticket", 43200), (99, "ticket", 43200)),
    ],
)
def test_waits_are_spread_over_all_of_a_growing_ceiling(attempts: int, severity: str, ceiling_s: float) -> None:
    rng = random.Random(7)
    waits = sorted(backoff_s(attempts, severity, None, rng) for _ in range(2000))
    assert 1.0 <= waits[0] <= max(1.0, 0.01 * ceiling_s)
    assert 0.99 * ceiling_s <= waits[-1] <= ceiling_s
    assert waits[1000] == pytest.approx(ceiling_s / 2, rel=0.1)


def test_a_receiver_is_not_asked_again_before_it_wants_to_be() -> None:
    rng = random.Random(7)
    assert min(backoff_s(1, "page", 300.0, rng) for _ in range(200)) == 300.0


@pytest.mark.parametrize(
    ("attempts", "age_s", "spent"), [(9, 99, False), (10, 0, True), (4, 1e9, False), (5, 101, True), (5, 99, False)]
)
def test_a_clock_that_leaps_ahead_gives_nothing_up_by_itself(attempts: int, age_s: float, spent: bool) -> None:
    assert RetryLimits(max_attempts=10, max_age_s=100).is_spent(attempts, age_s) == spent
