"""Deletes rows that the settings keep no longer, and closes their hours: what was measured from them stays as it is.

First the lake notes which hours are closed, then parts leave its tables. Where a process dies in between, nothing that
is computed depends on what is left of closed hours; the next `goodput prune` goes on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from goodput.alarms import alarm_rows
from goodput.conform.journal import journaled, undo_unfinished
from goodput.errors import NotUpToDate
from goodput.monitor.alarm_tables import looked_back
from goodput.nodes import NODES
from goodput.plumbing.blocked import Blocked
from goodput.plumbing.catalog import Part
from goodput.plumbing.database import published
from goodput.plumbing.garbage import note_replaced
from goodput.plumbing.node import Context, Node
from goodput.plumbing.plan import due, in_order
from goodput.plumbing.pruned import Pruned, write_pruned
from goodput.plumbing.workspace import Workspace
from goodput.retained import Stay, asked, stays
from goodput.steps import publish_database


@dataclass(frozen=True)
class Pruning:
    """What is noted of a lake once it is pruned, the parts that go, and those that stay beyond what is asked for."""

    noted: Pruned
    going: Mapping[str, Sequence[Part]]
    beyond: Mapping[str, tuple[Stay, Sequence[Part]]]


def plan_pruning(workspace: Workspace, now: datetime) -> Pruning:
    """What `prune` would do by the settings at a time.

    The caller holds the lake's lock. Raises NothingRetained; NotPrunable; NotUpToDate where hours that would be closed
    are to be computed first.
    """
    context = Context(workspace.lake, workspace.settings)
    days = asked(workspace.settings.retention, now)
    before = context.pruned
    closed = max(*days.values(), before.closed_before)
    found = stays(context, days, closed, _read_by_alarms(workspace, now))
    gone = {table: max(stay.kept_from, before.gone_before.get(table, "")) for table, stay in found.items()}
    noted = Pruned(closed, {**before.gone_before, **{table: first for table, first in gone.items() if first}})
    _require_up_to_date(context, noted)
    parts = {table: _parts(workspace, table) for table in sorted({*days, *noted.gone_before})}
    going = {table: [part for part in of if noted.is_gone(table, part.partition)] for table, of in parts.items()}
    beyond = {table: [part for part in parts[table] if stay.is_beyond(part.partition)] for table, stay in found.items()}
    return Pruning(
        noted,
        {table: of for table, of in going.items() if of},
        {table: (found[table], of) for table, of in sorted(beyond.items()) if any(part.rows for part in of)},
    )


def _parts(workspace: Workspace, table: str) -> list[Part]:
    return [part for parts in workspace.lake.catalog[table].parts.values() for part in parts]


def _read_by_alarms(workspace: Workspace, now: datetime) -> Mapping[str, datetime]:
    """From when on alarms read each table that they are judged by."""
    lake, settings = workspace.lake, workspace.settings
    if not settings.alarms.enabled or not lake.database.exists():
        return {}
    with published(lake) as connection:
        return looked_back(connection, settings, now, alarm_rows(lake, "alarm_events"))


def prune(workspace: Workspace, pruning: Pruning) -> None:
    """Do it, and publish what is left. The caller holds the lake's lock. Raises LakeUnreadable, LakeUnwritable."""
    lake = workspace.lake
    write_pruned(lake, pruning.noted)
    note_replaced(lake, [part.path for parts in pruning.going.values() for part in parts])
    with journaled(lake):  # a commit that a loss of power tears is then known as one
        for table, parts in pruning.going.items():
            lake.catalog[table].replace(dict.fromkeys((part.partition for part in parts), ()))
    publish_database(workspace)


def _require_up_to_date(context: Context, noted: Pruned) -> None:
    """Refuse to close hours whose numbers are not those of what is there. Raises NotUpToDate.

    A blocked partition stays in its last good state.
    """
    undone = undo_unfinished(context.lake)
    note_replaced(context.lake, undone)
    blocked = Blocked(context.lake)
    waiting = {
        f"{node.name} {partition}"
        for node in in_order(NODES)
        for partition in due(node, context)
        if noted.is_closed(partition) and not _is_blocked(node, partition, blocked)
    }
    if undone or waiting:
        raise NotUpToDate(sorted(waiting))


def _is_blocked(node: Node, partition: str, blocked: Blocked) -> bool:
    return any(partition in blocked.of_table(table) for table in node.tables)
