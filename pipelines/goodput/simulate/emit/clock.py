"""From simulated seconds to the times that records carry."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Clock:
    """Turns simulated seconds into nanoseconds of the epoch."""

    start_ns: int

    @classmethod
    def from_start(cls, start: datetime) -> "Clock":
        """Return the clock of a simulation that begins at `start`, which has a time zone."""
        return cls((start - _EPOCH) // timedelta(microseconds=1) * 1000)

    def ns(self, simulated_s: float) -> int:
        """Return the epoch time in nanoseconds."""
        return self.start_ns + round(simulated_s * 1e9)

    def at(self, simulated_s: float) -> datetime:
        """Return the time in UTC, cut to microseconds."""
        return _EPOCH + timedelta(microseconds=self.ns(simulated_s) // 1000)

    def iso(self, simulated_s: float) -> str:
        """Return the time as ISO 8601 in UTC, in whole seconds."""
        return self.at(simulated_s).strftime("%Y-%m-%dT%H:%M:%SZ")
