"""Which operation an alarm most likely follows from: on its pool, near its onset, of a kind that can do such a thing.

Nearness is no proof, and none is claimed: it is where to look first.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

_HOUR_S = 3600.0
# An onset is known to within hours, or a window: found up to so much before the operation that it follows from, or
# after it.
_EARLY_H, _LATE_H = 6.0, 12.0
LOOK_BACK_S = 72 * _HOUR_S
# Kinds that can do this to a metric, each with the hours that it counts as farther away than what does it most.
_COLD = ("deployment", "restart", "scale_out", "scale_in", "config_change")
_OF_HITS = {"salt_rotation": 0.0, **dict.fromkeys(_COLD, 2.0)}
_OF_KV = {**dict.fromkeys(("deployment", "config_change", "scale_in"), 0.0), "restart": 2.0, "incident": 2.0}
_OF_SERVICE = {
    **dict.fromkeys(("deployment", "restart", "config_change", "scale_in", "incident"), 0.0),
    "scale_out": 2.0,
    "salt_rotation": 2.0,
}
_UNLIKELY_H = 6.0
MARKS = frozenset({"deployment", "scale_out", "scale_in", "config_change"})  # after which another level may be meant


@dataclass(frozen=True)
class OpsEvent:
    """One row of ops_events, with its time in Unix seconds."""

    at_s: float
    kind: str
    pool: str | None = None
    replica: str | None = None
    revision: str | None = None

    @property
    def as_fact(self) -> dict[str, str | None]:
        """What was done to what, and when."""
        at = datetime.fromtimestamp(int(self.at_s), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        known = {"replica": self.replica, "revision": self.revision}
        return {"kind": self.kind, "occurred_at": at, "pool": self.pool, **{k: v for k, v in known.items() if v}}


def operations_of(rows: Iterable[Mapping[str, Any]]) -> list[OpsEvent]:
    """Rows of ops_events, oldest first."""
    found = (
        OpsEvent(row["occurred_at"].timestamp(), row["kind"], row["pool"], row.get("replica"), row.get("revision"))
        for row in rows
    )
    return sorted(found, key=lambda operation: operation.at_s)


def last_operation(operations: Sequence[OpsEvent], labels: Mapping[str, str], at_s: float) -> OpsEvent | None:
    """The newest operation on the series' pool within three days."""
    near = (o for o in reversed(operations) if at_s - LOOK_BACK_S <= o.at_s <= at_s and concerns(o, labels))
    return next(near, None)


def likely_cause(
    operations: Sequence[OpsEvent], metric: str | None, labels: Mapping[str, str], onset: tuple[float, int], at_s: float
) -> OpsEvent | None:
    """The operation that an alarm at `at_s` most likely follows from; None: none near.

    Its `onset` is the beginning of a window and that window's length, in seconds.
    """
    onset_s, window_s = onset
    since_s = onset_s - max(_LATE_H * _HOUR_S, window_s)
    until_s = min(onset_s + max(_EARLY_H * _HOUR_S, window_s), at_s)
    near = [o for o in operations if since_s <= o.at_s <= until_s and concerns(o, labels)]
    farther = _farther(metric or "")
    return min(
        near,
        key=lambda o: (abs(onset_s - o.at_s) / _HOUR_S + farther.get(o.kind, _UNLIKELY_H), -o.at_s),
        default=None,
    )


def _farther(metric: str) -> Mapping[str, float]:
    if "hit_ratio" in metric:
        return _OF_HITS
    return _OF_KV if "kv_usage" in metric else _OF_SERVICE


def concerns(operation: OpsEvent, labels: Mapping[str, str]) -> bool:
    """Whether an operation was done to what a series is of, as far as both say."""
    pairs = ((operation.pool, labels.get("pool")), (operation.replica, labels.get("replica")))
    return all(of is None or on is None or of == on for of, on in pairs)
