"""Deletes rows that the settings keep no longer, and closes their hours: what was measured from them stays as it is.

First the lake notes which hours are closed, then parts leave its tables. Where a process dies in between, nothing that
is computed depends on what is left of closed hours; the next `goodput prune` goes on.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from goodput.conform.journal import journaled, undo_unfinished
from goodput.errors import NothingRetained, NotUpToDate
from goodput.nodes import NODES
from goodput.plumbing.blocked import Blocked
from goodput.plumbing.catalog import Part
from goodput.plumbing.contracts import contract
from goodput.plumbing.garbage import note_replaced
from goodput.plumbing.hours import HOUR_S, day_of, hours_of_day, is_hour, shifted
from goodput.plumbing.node import Context, Node, partitions_of
from goodput.plumbing.plan import due, in_order
from goodput.plumbing.pruned import Pruned, write_pruned
from goodput.plumbing.workspace import Workspace
from goodput.settings.model import Settings
from goodput.steps import publish_database

_KEPT_BY = {
    "records_days": ("serving_records", "span_links", "label_records"),
    "samples_days": ("sample_records", "replica_samples"),
    "requests_days": (
        *("attempts", "requests", "session_hours", "quality_labels", "session_label_records", "cost_ledger"),
        "id_hours",
    ),
}
_DAY = "%Y-%m-%d"


@dataclass(frozen=True)
class Pruning:
    """What is noted of a lake once it is pruned, and the parts that go, by table."""

    noted: Pruned
    going: Mapping[str, Sequence[Part]]


def plan_pruning(workspace: Workspace, now: datetime) -> Pruning:
    """What `prune` would do by the settings at a time.

    The caller holds the lake's lock. Raises NothingRetained; NotUpToDate where hours that would be closed are to be
    computed first.
    """
    context = Context(workspace.lake, workspace.settings)
    bounds = _bounds(workspace.settings, now)
    before = context.pruned
    closed = max(*bounds.values(), before.closed_before)
    cuts = _cuts(context, bounds, closed)
    gone = {table: max(cut, before.gone_before.get(table, "")) for table, cut in cuts.items()}
    noted = Pruned(closed, {**before.gone_before, **gone})
    _require_up_to_date(context, noted)
    parts = {table: workspace.lake.catalog[table].parts for table in sorted(gone)}
    going = {
        table: [part for name, of in there.items() if noted.is_gone(table, name) for part in of]
        for table, there in parts.items()
    }
    return Pruning(noted, {table: found for table, found in going.items() if found})


def prune(workspace: Workspace, pruning: Pruning) -> None:
    """Do it, and publish what is left. The caller holds the lake's lock. Raises LakeUnreadable, LakeUnwritable."""
    lake = workspace.lake
    write_pruned(lake.root, pruning.noted)
    note_replaced(lake, [part.path for parts in pruning.going.values() for part in parts])
    with journaled(lake):  # a commit that a loss of power tears is then known as one
        for table, parts in pruning.going.items():
            lake.catalog[table].replace(dict.fromkeys((part.partition for part in parts), ()))
    publish_database(workspace)


def _bounds(settings: Settings, now: datetime) -> dict[str, str]:
    """The first day that is kept of each table that is not kept for ever. Raises NothingRetained."""
    days = {name: getattr(settings.retention, name) for name in _KEPT_BY}
    bounds = {
        table: (now - timedelta(days=days[name])).strftime(_DAY)
        for name, tables in _KEPT_BY.items()
        if days[name] is not None
        for table in tables
    }
    if not bounds:
        raise NothingRetained
    return bounds


def _cuts(context: Context, bounds: Mapping[str, str], closed: str) -> dict[str, str]:
    """The first partition that stays of each table: by the settings, or since hours that stay open read it."""
    cuts = {table: min([f"{day}T00", *_read_by_open(context, table, closed)]) for table, day in bounds.items()}
    reach_h = context.request_reach_h
    if "requests" in cuts:
        lateness_h = int(context.settings.label_lateness_s // HOUR_S) + 1
        labels = cuts["label_records"]
        # a label that is kept is not to look as if it had judged nothing, nor a request as if it had cost less
        cuts["quality_labels"] = min(cuts["quality_labels"], shifted(labels, -lateness_h - reach_h))
        cuts["session_label_records"] = min(cuts["session_label_records"], labels)
        cuts["cost_ledger"] = min(cuts["cost_ledger"], shifted(cuts["requests"], -reach_h - 1))
        cuts["id_hours"] = min(cuts["attempts"], cuts["requests"])
    return {table: cut if contract(table).partition == "hour" else day_of(cut) for table, cut in cuts.items()}


def _read_by_open(context: Context, table: str, closed: str) -> Iterator[str]:
    """The first partition of a table that each partition reads which stays open, or may come to be."""
    first_day = {closed, *hours_of_day(closed)}
    for node in NODES:
        if table in node.inputs and node.partition != "none":
            may_come = {one for one in first_day if is_hour(one) is not (node.partition == "day")}
            for partition in partitions_of(node, context) | may_come:
                if day_of(partition) >= closed:
                    yield from sorted(node.input_partitions(context, table, partition))[:1]


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
