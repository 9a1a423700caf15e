"""What was done to the fleet, as far as it explains an alarm: the newest operation shortly before the alarm began."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq

from goodput.errors import LakeUnreadable
from goodput.notify.notice import instant
from goodput.notify.transition import Transition
from goodput.plumbing.lake import Lake
from goodput.settings.channels import Notify

_COLUMNS = ["kind", "occurred_at", "pool", "replica", "revision"]


@dataclass(frozen=True)
class Operation:
    """One row of `ops_events`."""

    kind: str
    occurred_at: datetime
    pool: str | None = None
    replica: str | None = None
    revision: str | None = None

    def __str__(self) -> str:
        named = [self.kind.replace("_", " "), self.revision or ""]
        at = [f"of {self.pool}" if self.pool else "", self.replica or "", f"at {instant(self.occurred_at)}"]
        return " ".join(part for part in (*named, *at) if part)


def read_operations(lake: Lake) -> list[Operation]:
    """All operations, oldest first; none where nothing told of any. Raises LakeUnreadable."""
    found: list[Operation] = []
    for path in sorted((lake.root / "joined" / "ops_events").glob("*/*.parquet")):
        try:
            found += [Operation(**row) for row in pq.read_table(path, columns=_COLUMNS).to_pylist()]
        except (OSError, pa.ArrowException) as error:
            raise LakeUnreadable(path, str(error)) from error
    return sorted(found, key=lambda operation: operation.occurred_at)


def explaining(alarm: Transition, operations: Sequence[Operation], settings: Notify) -> Operation | None:
    """The newest operation on the alarm's pool and replica within `explained_for_s` before it began to fire."""
    until = alarm.starts_at
    since = until - timedelta(seconds=settings.explained_for_s)
    near = (
        operation
        for operation in reversed(operations)
        if operation.kind in settings.explained_by and since <= operation.occurred_at <= until
    )
    return next((operation for operation in near if _concerns(operation, alarm)), None)


def _concerns(operation: Operation, alarm: Transition) -> bool:
    pairs = ((operation.pool, alarm.labels.get("pool")), (operation.replica, alarm.labels.get("replica")))
    return all(of is None or on is None or of == on for of, on in pairs)
