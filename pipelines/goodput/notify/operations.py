"""What was done to the fleet that an alarm most likely follows from: as its explanation names it, and nothing else.

Which operation that is was judged with the alarm itself; here it is read, put in words and waited for.
"""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from goodput.notify.notice import instant
from goodput.notify.transition import Transition
from goodput.settings.channels import Notify


@dataclass(frozen=True)
class LikelyCause:
    """The operation that an explanation names as the likely cause."""

    kind: str
    occurred_at: datetime
    pool: str | None = None
    replica: str | None = None
    revision: str | None = None

    def __str__(self) -> str:
        named = [self.kind.replace("_", " "), self.revision or ""]
        at = [f"of {self.pool}" if self.pool else "", self.replica or "", f"at {instant(self.occurred_at)}"]
        return " ".join(part for part in (*named, *at) if part)


def explaining(alarm: Transition) -> LikelyCause | None:
    """The likely cause of an alarm; None where its explanation names none."""
    try:
        facts = json.loads(alarm.explanation or "{}")
        named: dict[str, Any] = facts["likely_cause"]
        at = datetime.fromisoformat(named["occurred_at"])
        return LikelyCause(named["kind"], at, *(named.get(name) for name in ("pool", "replica", "revision")))
    except (ValueError, KeyError, TypeError):
        return None


def held_until(alarm: Transition, operation: LikelyCause | None, settings: Notify) -> datetime | None:
    """Until when an alarm waits for what explains it to settle; None where the settings let none such wait."""
    if operation is None or alarm.severity not in settings.hold or operation.kind not in settings.hold_after:
        return None
    return operation.occurred_at + timedelta(seconds=settings.hold_for_s)
