"""Assembles batches: all that partitions are made from, as the catalog lists it now. They are computed elsewhere."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from goodput.contracts import contract
from goodput.plumbing.hours import is_hour
from goodput.plumbing.node import Batch, Context, Node, Span, hours_in

_RANGE = "measured_range"  # the one relation that an hour of a day does not share with it


def assemble(context: Context, node: Node, partitions: Mapping[str, str]) -> Batch:
    """The batch of some partitions of a node, which come with the fingerprints of what they are to be made from."""
    batch = _assembled(context, node, partitions)
    days = [partition for partition in batch.large if not is_hour(partition)]
    return replace(batch, by_hour=_hours_of(context, batch)) if days and len(partitions) == 1 else batch


def _hours_of(context: Context, day: Batch) -> list[Batch]:
    """A batch for each hour of a day that has rows of hours: its own, measured for the windows of the day."""
    hours = (
        _assembled(context, day.node, {hour: day.partitions[name]})
        for name in day.partitions
        for hour in hours_in(name)
    )
    return [
        replace(hour, relations={**day.relations, _RANGE: hour.relations[_RANGE]})
        for hour in hours
        if any(files for table, files in hour.inputs.items() if contract(table).partition == "hour")
    ]


def _assembled(context: Context, node: Node, partitions: Mapping[str, str]) -> Batch:
    catalog = context.lake.catalog
    inputs = {table: _files(context, node, table, partitions) for table in node.inputs}
    aside = {table: _of_span(context, table, span, partitions) for table, span in node.aside.items()}
    alike = frozenset(table for table in node.inputs if catalog[table].is_uniform)
    sizes = {} if node.sized_by is None else {name: _size(context, node.sized_by, name) for name in partitions}
    batch = Batch(node, context.lake, context.settings, partitions, {**aside, **inputs}, alike, sizes=sizes)
    return replace(batch, relations={name: table(context, batch) for name, table in node.from_batch.items()})


def _size(context: Context, table: str, partition: str) -> int:
    """Rows of a table in the hours of a partition."""
    parts = context.lake.catalog[table].parts
    return sum(part.rows for hour in hours_in(partition) for part in parts.get(hour, ()))


def _files(context: Context, node: Node, table: str, partitions: Iterable[str]) -> Mapping[str, Sequence[str]]:
    needed = set().union(*(node.input_partitions(context, table, partition) for partition in partitions))
    return _listed(context, table, needed)


def _of_span(context: Context, table: str, span: Span, partitions: Iterable[str]) -> Mapping[str, Sequence[str]]:
    return _listed(context, table, set().union(*(span(context, partition) for partition in partitions)))


def _listed(context: Context, table: str, names: Iterable[str]) -> Mapping[str, Sequence[str]]:
    """The files with rows of the partitions that there are, in their order."""
    found = {name: context.lake.catalog[table].files([name]) for name in sorted(names)}
    return {name: files for name, files in found.items() if files}
