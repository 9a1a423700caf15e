"""The steps of a run, each as `goodput run` and Dagster do it, and within a span that tells what it did."""

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from goodput.alarms import judge
from goodput.conform.ingest import Ingested, ingest
from goodput.errors import LakeUnreadable
from goodput.measure.gates import gate_rows
from goodput.measure.setting_rows import setting_rows
from goodput.plumbing import interrupt, lake_marker
from goodput.plumbing.catalog import Part
from goodput.plumbing.checked_settings import note_checked
from goodput.plumbing.database import publish, published
from goodput.plumbing.garbage import delete_replaced, note_replaced, sweep
from goodput.plumbing.node import Context, Node
from goodput.plumbing.pinned import pin
from goodput.plumbing.plan import Outcome, execute
from goodput.plumbing.verify import Damage, damages, parts_of
from goodput.plumbing.workspace import Workspace
from goodput.remake import remaking, take_out
from goodput.telemetry import facts

Result = TypeVar("Result")
Suspects = Sequence[tuple[str, Part]]  # parts that may be damaged, with their tables


def ingest_sources(workspace: Workspace) -> Ingested:
    """Read the sources that are new or have changed."""
    lake_marker.note_columns(workspace.lake)
    with workspace.telemetry.span("ingest") as span:
        ingested = ingest(workspace)
        note_replaced(workspace.lake, ingested.removed)
        facts.of_ingest(workspace.telemetry, span, workspace.lake, ingested)
    return ingested


def compute_node(
    context: Context,
    node: Node,
    *,
    among: Collection[str] | None = None,
    obeyed: str | None = None,
    force: bool = False,
) -> Outcome:
    """Compute what is due of a node: of the hours `among`, or of all."""
    with context.telemetry.span(f"compute {node.name}", stage=node.stage) as span:
        outcome = execute(node, context, among=among, obeyed=obeyed, force=force)
        note_replaced(context.lake, outcome.replaced)
        facts.of_node(context.telemetry, span, outcome)
    return outcome


def read_by_broken(workspace: Workspace, outcomes: Iterable[Outcome]) -> list[tuple[str, Part]]:
    """Parts that partitions are made from whose computation broke, with their tables, and what was met unreadable."""
    context = Context(workspace.lake, workspace.settings)
    outcomes = list(outcomes)
    met = set().union(*(outcome.unreadable for outcome in outcomes))
    found = {item for item in (parts_of(workspace.lake) if met else ()) if item[1].path in met}
    found |= {
        (table, part)
        for outcome in outcomes
        for blocked in outcome.blocked
        if blocked.may_succeed
        for table in outcome.node.inputs
        for name in outcome.node.input_partitions(context, table, blocked.partition)
        for part in workspace.lake.catalog[table].parts.get(name, ())
    }
    return sorted(found)


def remake_damaged(workspace: Workspace, suspects: Suspects) -> list[Damage]:
    """Have those of some parts that are damaged made again by whoever ingests and computes next."""
    found = remaking(workspace.lake, damages(suspects, workspace.lake.store))
    note_replaced(workspace.lake, take_out(workspace.lake, found))
    facts.of_remade(workspace.telemetry, found.due)
    return found.due


def mended(workspace: Workspace, work: Callable[[], Result], remake: Callable[[Suspects], object]) -> Result:
    """What `work` gives; once more where a part of the lake turns out to be unreadable.

    `remake` is given all parts of the tables of which one was met: where one is damaged, others may be. Raises
    LakeUnreadable where one stays so, as nothing can make it again.
    """
    met: set[Path] = set()
    tables: set[str] = set()
    while True:
        try:
            if tables:  # what was damaged in a cache alone is whole again without
                remake([(table, part) for table, part in parts_of(workspace.lake) if table in tables])
            return work()
        except LakeUnreadable as error:
            of_tables = {table for table, part in parts_of(workspace.lake) if part.path == error.path}
            if error.path in met or not of_tables:
                raise
            met.add(error.path)
            tables |= of_tables


def judge_alarms(workspace: Workspace) -> None:
    """Judge the alarms by what is published."""
    if workspace.settings.alarms.enabled:
        with workspace.telemetry.span("judge") as span:
            counts = judge(workspace.lake, workspace.settings, datetime.now(UTC))
            facts.of_alarms(workspace.telemetry, span, counts)


def publish_database(workspace: Workspace) -> bool:
    """Bring the database up to what the lake holds; whether that changed it."""
    with workspace.telemetry.span("publish") as span:
        changed = publish(workspace.lake, gate_rows(workspace.settings), setting_rows(workspace.settings)).changed
        pin(workspace.lake)
        sweep(workspace.lake)
        delete_replaced(workspace.lake)
        note_checked(workspace.lake.root, workspace.settings.file_digest)
        span.note(changed=changed)
    return changed


def deliver_alarms(workspace: Workspace) -> str:
    """Deliver what alarms did, beside the lock: the lake must not wait for receivers. Why not, where that fails."""
    settings = workspace.settings
    if not settings.channels:
        return ""
    from goodput.notify import deliver  # noqa: PLC0415  (only where there are channels)

    try:
        with workspace.telemetry.span("deliver") as span:
            delivered = deliver.deliver(workspace.lake, settings, settings.notify.run_budget_s)
            facts.of_deliveries(workspace.telemetry, span, delivered)
    except Exception as error:  # whatever goes wrong with deliveries, the run that made the numbers goes on
        facts.of_failed_deliveries(workspace.telemetry, error)
        return str(error) or type(error).__name__
    return ""


def export_metrics(workspace: Workspace) -> str:
    """Send what was published to the settings' receiver of metrics, beside the lock. Why not, where that fails."""
    settings = workspace.settings
    if settings.export.endpoint is None:
        return ""
    from goodput.export import push  # noqa: PLC0415  (only where there is a receiver)

    since = datetime.now(UTC) - timedelta(seconds=settings.export.lookback_s)
    try:
        with (
            workspace.telemetry.span("export") as span,
            published(workspace.lake) as connection,
        ):
            pushed = push.export(settings, connection, since, settings.export.run_budget_s)
            span.note(windows=pushed.windows, left=pushed.left)
    except Exception as error:  # whatever goes wrong with receivers, the run that made the numbers goes on
        interrupt.check(error)
        return str(error) or type(error).__name__
    left_out = f"the receiver left out {pushed.rejected} point(s)" if pushed.rejected else ""
    waiting = f"; {pushed.left} window(s) wait for the next run" if pushed.left else ""
    return f"{pushed.problem}{waiting}" if pushed.problem else left_out
