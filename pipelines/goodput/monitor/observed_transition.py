"""A transition of an alarm as it is computed, before it is known what was recorded of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class ObservedTransition:
    """A transition as computed: the columns of alarm_events that do not depend on what was recorded before."""

    alarm_id: str
    transition: str
    occurred_at: datetime
    starts_at: datetime
    columns: Mapping[str, Any]
    on: bool = False  # it fires still, and nothing suppresses it now
    learned: bool = False  # judged by a baseline that the series' own history is

    @property
    def key(self) -> str:
        """Identity of the transition, whoever computes it."""
        return "|".join([self.alarm_id, self.transition, self.starts_at.isoformat(), self.occurred_at.isoformat()])
