"""Relations of operations beside their computation: docs/semantics.md#disruptions."""

from goodput.plumbing.workspace import Workspace
from oracle import disruption_rows
from oracle.compare import Comparison, epoch_us, keyed, microseconds, rows
from oracle.events import operations
from oracle.truth import Truth

TIMES = ("occurred_at", "ended_at")


def ops_events(workspace: Workspace, truth: Truth, found: Comparison) -> None:
    """Relation ops_events."""
    published = keyed(rows(workspace, "SELECT * FROM ops_events"), "event_id")
    for row in published.values():
        row["occurred_at"] = epoch_us(row["occurred_at"])
    computed = {
        name: {column: row[column] for column in row if column != "event_id"}
        | {"occurred_at": microseconds(row["occurred_at"])}
        for name, row in operations(truth.fleet).items()
    }
    found.rows("ops_events", published, computed)


def disruptions(workspace: Workspace, truth: Truth, found: Comparison) -> None:
    """Relation disruptions."""
    published = keyed(rows(workspace, "SELECT * FROM disruptions"), "event_id")
    for row in published.values():
        row |= {name: epoch_us(row[name]) for name in TIMES}
    found.rows("disruptions", published, disruption_rows.rows(truth.fleet, truth.disruptions))


def disruption_cost(workspace: Workspace, truth: Truth, found: Comparison) -> None:
    """Relation disruption_cost."""
    published = keyed(rows(workspace, "SELECT * FROM disruption_cost"), "kind", "pool")
    for row in published.values():
        row |= {name: epoch_us(row[name]) for name in ("period_start", "period_end")}
    found.rows("disruption_cost", published, truth.kinds.cost)


def disruption_frequency(workspace: Workspace, truth: Truth, found: Comparison) -> None:
    """Relation disruption_frequency."""
    published = rows(workspace, "SELECT *, round(events_per_day, 9) AS often FROM disruption_frequency")
    found.rows("disruption_frequency", keyed(published, "kind", "pool", "often"), truth.kinds.frequency())
