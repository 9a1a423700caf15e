"""Assembles batches: all that partitions are made from, as the catalog lists it now. They are computed elsewhere."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from goodput.plumbing.node import Batch, Context, Node, Span


def assemble(context: Context, node: Node, partitions: Mapping[str, str]) -> Batch:
    """The batch of some partitions of a node, which come with the fingerprints of what they are to be made from."""
    catalog = context.lake.catalog
    inputs = {table: _files(context, node, table, partitions) for table in node.inputs}
    aside = {table: _of_span(context, table, span, partitions) for table, span in node.aside.items()}
    alike = frozenset(table for table in node.inputs if catalog[table].is_uniform)
    batch = Batch(node, context.lake, context.settings, partitions, {**aside, **inputs}, alike)
    return replace(batch, relations={name: table(context, batch) for name, table in node.from_batch.items()})


def _files(context: Context, node: Node, table: str, partitions: Iterable[str]) -> Mapping[str, Sequence[str]]:
    needed = set().union(*(node.input_partitions(context, table, partition) for partition in partitions))
    return _listed(context, table, needed)


def _of_span(context: Context, table: str, span: Span, partitions: Iterable[str]) -> Mapping[str, Sequence[str]]:
    return _listed(context, table, set().union(*(span(context, partition) for partition in partitions)))


def _listed(context: Context, table: str, names: Iterable[str]) -> Mapping[str, Sequence[str]]:
    """The files with rows of the partitions that there are, in their order."""
    found = {name: context.lake.catalog[table].files([name]) for name in sorted(names)}
    return {name: files for name, files in found.items() if files}
