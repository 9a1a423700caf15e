"""One run of the pipeline in this process: ingest, every node of the plan, publish, judge the alarms, tell of them."""

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime

from goodput.alarms import judge
from goodput.conform.ingest import Ingested, ingest
from goodput.errors import PartitionsBlocked
from goodput.measure.gates import gate_rows
from goodput.nodes import NODES
from goodput.plumbing import graph
from goodput.plumbing.blocked import Blocked
from goodput.plumbing.database import publish
from goodput.plumbing.garbage import discard
from goodput.plumbing.hours import HOUR_FORMAT, epoch_hour, hour_label
from goodput.plumbing.node import Context
from goodput.plumbing.plan import Outcome, execute, in_order
from goodput.plumbing.settled import Settled
from goodput.plumbing.workspace import Workspace


@dataclass
class Ran:
    """What a run did."""

    ingested: Ingested
    outcomes: list[Outcome] = field(default_factory=list)
    changed: bool = False  # whether anything new was published
    undelivered: str = ""  # why alarms could not be delivered

    @property
    def hours_computed(self) -> int:
        """Hours whose requests were joined."""
        return sum(len(outcome.computed) for outcome in self.outcomes if outcome.node.name == "join")


def run(
    workspace: Workspace, since: datetime | None = None, until: datetime | None = None, *, deliver: bool = True
) -> Ran:
    """Read what is new, compute what is stale (and, if asked, everything in [since, until)), publish, deliver alarms.

    Raises GoodputError: what went wrong; PartitionsBlocked at the end, when all else is published; KeyboardInterrupt.
    """
    lake = workspace.lake
    lake.open()
    with lake.lock():
        ran = Ran(ingest(workspace))
        forced = _hours(since, until)
        context = Context(lake, workspace.settings, workspace.progress)
        _compute(context, ran, forced)
        ran.changed = _publish(workspace)
        discard(lake, [*ran.ingested.removed, *(path for outcome in ran.outcomes for path in outcome.replaced)])
        blocked = Blocked(lake).all()
    if deliver:
        ran.undelivered = _deliver(workspace)
    _report(workspace, ran)
    if blocked:
        raise PartitionsBlocked(blocked)
    return ran


def _compute(context: Context, ran: Ran, forced: frozenset[str]) -> None:
    parsed = context.lake.root / "graph.json"
    graph.recall(parsed)
    settled = Settled(context, NODES)
    finished = []
    for node in in_order(NODES):
        if forced:
            ran.outcomes.append(execute(node, context, among=forced, force=True))
        if settled.is_settled(node):
            finished.append(node)
            continue
        outcome = execute(node, context, obeyed=settled.rules[node.name])
        ran.outcomes.append(outcome)
        if not outcome.blocked:
            finished.append(node)
    settled.remember(finished)
    graph.remember(parsed)


def _publish(workspace: Workspace) -> bool:
    """Publish the measured tables, judge the alarms by what is published, and publish these too."""
    gates = gate_rows(workspace.settings)
    measured = publish(workspace.lake, gates)
    if not workspace.settings.alarms.enabled:
        return measured.changed
    judge(workspace.lake, workspace.settings, datetime.now(UTC))
    return publish(workspace.lake, gates).changed or measured.changed


def _deliver(workspace: Workspace) -> str:
    """Deliver what alarms did, beside the lock: the lake must not wait for receivers. Why not, where that fails."""
    settings = workspace.settings
    if not settings.channels:
        return ""
    from goodput.notify import deliver  # noqa: PLC0415  (only where there are channels)

    try:
        deliver.deliver(workspace.lake, settings, settings.notify.run_budget_s)
    except Exception as error:  # whatever goes wrong with deliveries, the run that made the numbers goes on
        return str(error) or type(error).__name__
    return ""


def _report(workspace: Workspace, ran: Ran) -> None:
    """Report to the Dagster instance that DAGSTER_HOME names, if it does, what became of each partition."""
    if os.environ.get("DAGSTER_HOME") and (ran.ingested.changed or any(o.computed for o in ran.outcomes)):
        from goodput.plumbing.dagster_report import report  # noqa: PLC0415  (slow to import)

        report(workspace, ran.outcomes)


def _hours(since: datetime | None, until: datetime | None) -> frozenset[str]:
    if since is None or until is None:
        return frozenset()
    first, last = (epoch_hour(at.strftime(HOUR_FORMAT)) for at in (since, until))
    return frozenset(hour_label(hour) for hour in range(first, last + 1))


