"""From which partition on rows of each table stay: by the settings, or longer, where something that stays needs them.

What is needed follows from the plan for open hours and for what is shown of now; what rows of one table say of another,
and how far alarms look back, is written down here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from goodput.contracts import contract
from goodput.errors import NothingRetained, NotPrunable
from goodput.nodes import NODES
from goodput.plumbing.hours import HOUR_S, day_of, hours_of_day, is_hour, shifted
from goodput.plumbing.node import Context, Node, partitions_of
from goodput.prunable import kept_for_ever
from goodput.settings.retention import ROWS, Retention

_DAY = "%Y-%m-%d"
_EVER = ""  # sorts before every partition
_Need = tuple[str, str]  # the first partition that is needed, and by what


@dataclass(frozen=True)
class Stay:
    """Rows of a table stay from partition `kept_from` on; `why` says what needs more than the settings ask for."""

    asked_from: str
    kept_from: str
    why: str

    def is_beyond(self, partition: str) -> bool:
        """Whether a partition stays that by the settings alone would go."""
        return self.kept_from <= partition < self.asked_from


def asked(retention: Retention, now: datetime) -> dict[str, str]:
    """The first day that is to stay of each table that is not kept for ever.

    Raises NothingRetained; NotPrunable with each table that cannot be pruned.
    """
    days = retention.days
    if not days:
        raise NothingRetained
    reasons = {table: reason for table, reason in kept_for_ever().items() if table in days}
    if reasons:
        raise NotPrunable(reasons)
    return {table: (now - timedelta(days=number)).strftime(_DAY) for table, number in days.items()}


def stays(
    context: Context, days: Mapping[str, str], closed: str, looked_back: Mapping[str, datetime]
) -> dict[str, Stay]:
    """What stays of each table of which not all does.

    `days` are the first that are asked for, hours before day `closed` will be closed, `looked_back` has by table from
    when on alarms read it.
    """
    found: dict[str, Stay] = {}
    for table in _others_first(days):
        needs = [*_read_by_plan(context, table, closed), *_said_of_others(context, table, found)]
        if table in looked_back:
            needs.append((looked_back[table].astimezone(UTC).strftime("%Y-%m-%dT%H"), "alarms are judged by it"))
        by_settings = (f"{days[table]}T00", "")
        first, why = min([by_settings, *needs], key=lambda need: need[0])
        found[table] = Stay(_partition(table, by_settings[0]), _partition(table, first), why)
    return found


def _partition(table: str, first: str) -> str:
    return first if contract(table).partition == "hour" or first == _EVER else day_of(first)


def _read_by_plan(context: Context, table: str, closed: str) -> Iterator[_Need]:
    """The first partition that each partition reads which is not closed, or may come to be.

    What is shown of now keeps windows, not rows: of a fleet that is silent they go when their days are over.
    """
    for node in NODES:
        if table in node.inputs and (node.partition != "none" or (table in node.span and table not in ROWS)):
            read = (node.input_partitions(context, table, one) for one in _not_closed(node, context, closed))
            first = min((min(partitions) for partitions in read if partitions), default=None)
            if first is not None:
                of = "the present state" if node.partition == "none" else "hours that stay open"
                yield first, f"{node.name} reads it for {of}"


def _not_closed(node: Node, context: Context, closed: str) -> set[str]:
    first_day = {closed, *hours_of_day(closed)}
    may_come = {one for one in first_day if is_hour(one) is not (node.partition == "day")}
    known = partitions_of(node, context)
    return known if node.partition == "none" else {one for one in known | may_come if day_of(one) >= closed}


_SAY_OF_OTHERS = {
    # a label that is kept is not to look as if it had judged nothing, nor a request as if nobody had judged it
    "quality_labels": ("label_records", "requests"),
    "session_label_records": ("label_records",),
    # a request that is kept is not to look as if it had cost less, no session had it, or nothing was offered beside it
    "cost_ledger": ("requests",),
    "session_hours": ("requests",),
    "coverage": ("requests",),
    "goodput": ("requests",),
    # an id that is kept is found
    "id_hours": ("attempts", "requests"),
    # a window that is kept is not to look as if nothing had failed a gate, been without a price, or been revised
    "gate_failures": ("goodput",),
    "waste": ("goodput",),
    "restatements": ("goodput",),
}


def _others_first(days: Mapping[str, str]) -> list[str]:
    return sorted(days, key=lambda table: (_depth(table), table))


def _depth(table: str) -> int:
    return max((1 + _depth(other) for other in _SAY_OF_OTHERS.get(table, ())), default=0)


def _said_of_others(context: Context, table: str, found: Mapping[str, Stay]) -> Iterator[_Need]:
    """The first partition of a table that says something of rows of others that stay."""
    reach_h = context.request_reach_h
    lateness_h = int(context.settings.label_lateness_s // HOUR_S) + 1
    earlier_h = {"quality_labels": lateness_h + reach_h, "cost_ledger": reach_h + 1}.get(table, 0)
    for other in _SAY_OF_OTHERS.get(table, ()):
        first = found[other].kept_from if other in found else _EVER
        until = "for ever" if first == _EVER else f"from {first} on"
        reason = f"it says something of {other}, which stay {until}"
        yield (shifted(first, -earlier_h) if is_hour(first) else first), reason
