"""One run of the pipeline in this process: ingest, every node of the plan, publish, judge the alarms, send them."""

import os
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain

import pyarrow as pa

from goodput.conform.ingest import Ingested
from goodput.errors import PartitionsBlocked
from goodput.nodes import NODES
from goodput.plumbing import graph, shapes
from goodput.plumbing.blocked import Blocked
from goodput.plumbing.hours import HOUR_FORMAT, epoch_hour, hour_label, is_hour
from goodput.plumbing.node import Context
from goodput.plumbing.pandas_apart import leave_pandas_out
from goodput.plumbing.plan import HERE, Outcome, needs
from goodput.plumbing.settled import Settled
from goodput.plumbing.verify import Damage
from goodput.plumbing.workspace import Workspace
from goodput.renaming import rename_identities
from goodput.runners.chosen import running
from goodput.steps import (
    compute_node,
    deliver_alarms,
    export_metrics,
    ingest_sources,
    judge_alarms,
    mended,
    publish_database,
    read_by_broken,
    remake_damaged,
)
from goodput.telemetry import facts
from goodput.telemetry.traced import traced

_NODES = {node.name: node for node in NODES}


@dataclass
class Ran:
    """What a run did."""

    ingested: Ingested = field(default_factory=Ingested)
    outcomes: list[Outcome] = field(default_factory=list)
    renamed: dict[str, int] = field(default_factory=dict)  # rows, by table, whose identities [privacy] has called anew
    remade: list[Damage] = field(default_factory=list)  # parts of the lake that were damaged and are made again
    changed: bool = False  # whether anything new was published
    undelivered: str = ""  # why alarms could not be delivered
    unexported: str = ""  # why metrics could not be sent

    @property
    def hours_computed(self) -> int:
        """Hours of which any table was computed anew, be it requests or what they cost."""
        return len({part for outcome in self.outcomes for part in outcome.computed if is_hour(part)})


def run(
    workspace: Workspace,
    since: datetime | None = None,
    until: datetime | None = None,
    *,
    deliver: bool = True,
    report: bool = True,
) -> Ran:
    """Read what is new, compute what is stale (and, if asked, everything in [since, until)), publish, deliver alarms.

    Without `report`, `report_to_dagster` is the caller's to call. Raises GoodputError: what went wrong;
    PartitionsBlocked at the end, when all else is published; KeyboardInterrupt.
    """
    leave_pandas_out()
    ran, began_s = Ran(), time.monotonic()
    with traced(workspace, "goodput run") as span:
        try:
            _run(workspace, ran, _hours(since, until), deliver=deliver, report=report)
        finally:
            facts.of_run(workspace.telemetry, span, ran.ingested, ran.outcomes, time.monotonic() - began_s)
    return ran


def report_to_dagster(workspace: Workspace, ran: Ran) -> None:
    """Report to the Dagster instance that DAGSTER_HOME names, if it does, what became of each partition."""
    if os.environ.get("DAGSTER_HOME") and (ran.ingested.changed or ran.changed or ran.outcomes):
        from goodput.lineage import ASSETS  # noqa: PLC0415  (slow to import)
        from goodput.plumbing.dagster_report import report_run  # noqa: PLC0415

        report_run(Context(workspace.lake, workspace.settings), ASSETS, ran.outcomes)


def _run(workspace: Workspace, ran: Ran, forced: frozenset[str], *, deliver: bool, report: bool) -> None:
    lake = workspace.lake
    lake.open()
    with lake.lock():
        mended(
            workspace,
            lambda: _compute_and_publish(workspace, ran, forced),
            lambda suspects: ran.remade.extend(remake_damaged(workspace, suspects)),
        )
        facts.of_published(workspace.telemetry, lake)
        blocked = Blocked(lake).all()
    _give_back_memory()
    if deliver:
        ran.undelivered = deliver_alarms(workspace)
        ran.unexported = export_metrics(workspace)
    if report:
        report_to_dagster(workspace, ran)
    if blocked:
        raise PartitionsBlocked(blocked)


def _compute_and_publish(workspace: Workspace, ran: Ran, forced: frozenset[str]) -> None:
    with running(workspace):
        _bring_up_to_date(workspace, ran, forced)
    _give_back_memory()
    measured = publish_database(workspace)
    judge_alarms(workspace)
    ran.changed = publish_database(workspace) or measured


def _give_back_memory() -> None:
    """Arrow keeps what it has freed for itself, and DuckDB, which comes next, has memory of its own."""
    pa.default_memory_pool().release_unused()


def _compute(workspace: Workspace, ran: Ran, order: Mapping[str, Collection[str]], forced: frozenset[str]) -> None:
    folder = workspace.lake.root
    shapes.recall(folder)
    context = Context(workspace.lake, workspace.settings, workspace.progress, workspace.telemetry, workspace.runner)
    settled = Settled(context, NODES)
    outcomes: dict[str, list[Outcome]] = {name: [] for name in order}
    finished = []

    def compute(name: str) -> None:
        node = _NODES[name]
        if forced:
            outcomes[name].append(compute_node(context, node, among=forced, force=True))
            if outcomes[name][-1].blocked:
                return  # reported at the end of this run; the next one looks at what is due
        if not settled.is_settled(node):
            outcomes[name].append(compute_node(context, node, obeyed=settled.rules[name]))
        if not any(outcome.blocked for outcome in outcomes[name]):
            finished.append(node)

    try:
        (workspace.runner or HERE).each(order, compute)
    finally:
        ran.outcomes += chain.from_iterable(outcomes.values())
    settled.remember(finished)
    shapes.remember(folder)
    if any(outcome.computed for outcome in ran.outcomes):
        graph.remember(folder)  # with what is parsed only where it is computed


def _bring_up_to_date(workspace: Workspace, ran: Ran, forced: frozenset[str]) -> None:
    """Ingest and compute, and once more where what broke read damaged parts that can be made again."""
    _ingest_and_compute(workspace, ran, forced)
    remade = remake_damaged(workspace, read_by_broken(workspace, ran.outcomes))
    if remade:
        ran.remade += remade
        _ingest_and_compute(workspace, ran, forced)


def _ingest_and_compute(workspace: Workspace, ran: Ran, forced: frozenset[str]) -> None:
    for table, rows in rename_identities(workspace).items():
        ran.renamed[table] = ran.renamed.get(table, 0) + rows
    graph.recall(workspace.lake.root)
    order = needs(NODES)
    graph.remember(workspace.lake.root)  # workers look for it once, and ingest may start them
    ran.ingested.add(ingest_sources(workspace))
    _compute(workspace, ran, order, forced)


def _hours(since: datetime | None, until: datetime | None) -> frozenset[str]:
    if since is None or until is None:
        return frozenset()
    first, last = (epoch_hour(at.strftime(HOUR_FORMAT)) for at in (since, until))
    return frozenset(hour_label(hour) for hour in range(first, last + 1))
