"""The one alarm that the clock judges: no telemetry of any kind, after there was."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from goodput.monitor.grid import DAY_S
from goodput.monitor.observed_transition import ObservedTransition
from goodput.monitor.suppression import Suppression

SILENT = "telemetry_silent"
NAMED = {"alarm_id": SILENT, "rule": SILENT, "severity": "page"}
_ARCHIVE_S = 7 * DAY_S


@dataclass(frozen=True)
class SilentTelemetry:
    """The alarm at `now`, with the newest telemetry at `since_s` (Unix seconds): it fires `after_s` later.

    Silence follows on telemetry that was new (`seen_live`): what was that old already when a run first saw it is
    history, and what nobody has added to for a week is an archive. `silence` is what an operator made of it.
    """

    since_s: float
    now: datetime
    after_s: float
    seen_live: bool
    silence: Suppression | None = None

    @property
    def _starts_at(self) -> datetime:
        return datetime.fromtimestamp(self.since_s + self.after_s, UTC)

    @property
    def _summary(self) -> str:
        return f"No telemetry of any kind since {datetime.fromtimestamp(self.since_s, UTC):%Y-%m-%dT%H:%MZ}"

    def row(self) -> dict[str, Any]:
        """The alarm's row of `alarms`."""
        silent_s = self.now.timestamp() - self.since_s
        state = "inactive"
        if self.after_s <= silent_s and not self.seen_live:
            state = "learning"
        elif self.after_s <= silent_s < _ARCHIVE_S:
            state = "firing"
        firing = state == "firing"
        old = f"{self._summary}: older than {self.after_s / 3600:g} h when it was first read, which is no silence"
        return {
            **dict.fromkeys(("metric", "workload", "pool", "replica", "labels")),
            **NAMED,
            "kind": "absence",
            "state": state,
            "starts_at": self._starts_at if firing else None,
            "state_since_at": self._starts_at if firing else None,
            "evaluated_at": datetime.fromtimestamp(self.since_s, UTC),
            "why": old if state == "learning" else self._summary if silent_s >= _ARCHIVE_S else None,
            "summary": self._summary if firing else None,
            "suppressed": self.silence.kind if firing and self.silence else None,
            "suppressed_by": self.silence.by if firing and self.silence else None,
        }

    def transitions(self) -> Iterator[ObservedTransition]:
        """That it fires, where it does; that it is over follows from its not firing any more."""
        if self.now < self._starts_at or not self.seen_live:
            return
        columns = {
            "rule": SILENT,
            "kind": "absence",
            "severity": "page",
            "metric": None,
            "method": "clock",
            "explanation": json.dumps({"what_to_do": "docs/respond.md#no-telemetry"}),
            "summary": self._summary,
            "suppressed_by": self.silence and self.silence.by,
        }
        suppressed = None if self.silence is None else self.silence.kind
        at = self._starts_at
        yield ObservedTransition(
            *(SILENT, "firing", at, at, lambda: columns, suppressed),
            on=suppressed is None,
            by_clock=self.now.timestamp() - self.since_s < _ARCHIVE_S,
        )
