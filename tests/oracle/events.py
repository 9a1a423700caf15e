"""Each operation once, and the pool that it concerns: docs/semantics.md#operations, #disruptions."""

from collections import defaultdict

from oracle.fleet import Fleet, Row, exact
from oracle.state import States


def operations(fleet: Fleet) -> dict[str, Row]:
    """Rows of relation ops_events by event_id: the last state of what is changed in place, else the first report."""
    told: dict[str, list[Row]] = defaultdict(list)
    for row in fleet.events:
        told[row["event_id"]].append(row)
    return {name: _named(fleet, _counting(rows)) for name, rows in told.items()}


def _counting(rows: list[Row]) -> Row:
    if any("revised_at" in row for row in rows):
        return max((row for row in rows if "revised_at" in row), key=lambda row: row["revised_at"])
    return min(rows, key=lambda row: row["occurred_at"])


def _named(fleet: Fleet, event: Row) -> Row:
    """The operation with the pool and replica that its subject stands for, by the settings, else that it names."""
    names, subject = fleet.settings.get("events", {}), event.get("subject")
    pool, replica = (names.get(kind, {}).get(subject) for kind in ("pools", "replicas"))
    own = event.get("pool")
    if replica is not None and pool is None:
        own = None if own == subject else own
    told = {name: event.get(name) for name in ("event_id", "kind", "occurred_at", "revision", "subject", "occurrences")}
    return told | {"pool": pool or own, "replica": replica or event.get("replica"), "detail": event.get("detail")}


def concerned(event: Row, states: States) -> str | None:
    """The pool that an operation concerns, of a replica alone that of its attempts; None: the whole fleet."""
    if event["pool"] or not event["replica"]:
        return event["pool"]  # type: ignore[no-any-return]
    homes = {key[0]: pool for key in states.keys if key[2] == event["replica"] and (pool := states.pool(key))}
    return homes[max(homes)] if homes else "unknown"


def cap_ns(fleet: Fleet, kind: str) -> int:
    """How long a disruption by this kind of operation may last."""
    chosen = fleet.settings.get("disruptions", {})
    seconds = exact(chosen.get("caps_s", {}).get(kind, chosen.get("cap_s", 1200)))
    return int(seconds * 10**9)  # type: ignore[operator]
