"""When a delivery is tried again, and when it is given up: pure arithmetic on clocks that may jump."""

import math
import random
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

NS = 1_000_000_000
FIRST_S = 15.0
FACTOR = 4
LONGEST_S = {"page": 3600.0}  # a page that waits longer is no page
LONGEST_OTHER_S = 12 * 3600.0
LONGEST_RETRY_AFTER_S = 24 * 3600.0
LEAST_ATTEMPTS = 5  # before age alone gives a delivery up: a clock that leaps ahead, or a machine that slept, does not


@dataclass(frozen=True)
class RetryLimits:
    """How long a channel's deliveries are tried."""

    max_attempts: int
    max_age_s: float

    def is_spent(self, attempts: int, age_s: float) -> bool:
        """Whether a delivery that failed `attempts` times in `age_s` seconds is given up."""
        return attempts >= self.max_attempts or (age_s > self.max_age_s and attempts >= LEAST_ATTEMPTS)


def backoff_s(attempts: int, severity: str, retry_after_s: float | None, rng: random.Random) -> float:
    """Seconds to wait after the n-th failed attempt: exponential with full jitter, never less than Retry-After."""
    ceiling = min(FIRST_S * FACTOR ** min(attempts - 1, 20), LONGEST_S.get(severity, LONGEST_OTHER_S))
    return max(rng.uniform(0, ceiling), retry_after_s or 0.0, 1.0)


def retry_after_s(header: str | None, now: datetime) -> float | None:
    """Seconds that a Retry-After header (seconds or an HTTP date) asks for, at most a day; None where it has neither.

    Source: RFC 9110, section 10.2.3.
    """
    if header is None:
        return None
    text = header.strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:12]), LONGEST_RETRY_AFTER_S)
    try:
        until = parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError):
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    wait = (until - now).total_seconds()
    return min(max(wait, 0.0), LONGEST_RETRY_AFTER_S) if math.isfinite(wait) else None
