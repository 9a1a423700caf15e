"""A transition of an alarm as it is computed, before it is known what was recorded of it."""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class ObservedTransition:
    """A transition as computed, with what does not depend on what was recorded before.

    `explained` gives its columns of alarm_events: of the many that were recorded before nobody asks for them again.
    """

    alarm_id: str
    transition: str
    occurred_at: datetime
    starts_at: datetime
    explained: Callable[[], Mapping[str, Any]]
    suppressed: str | None = None
    _: KW_ONLY
    on: bool = False  # it fires still, and nothing suppresses it now
    by_clock: bool = False  # it is of now, however old the newest telemetry is
    learned: bool = False  # judged by a baseline that the series' own history is

    @property
    def key(self) -> str:
        """Identity of the transition, whoever computes it."""
        return "|".join([self.alarm_id, self.transition, self.starts_at.isoformat(), self.occurred_at.isoformat()])
