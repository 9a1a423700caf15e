"""Computes partitions of a lake again from what they were made from: equal inputs must give the very same part."""

from collections.abc import Iterable, Iterator, Sequence

from goodput.contracts import contract
from goodput.plumbing.assembly import assemble
from goodput.plumbing.final import is_final
from goodput.plumbing.lake import delete
from goodput.plumbing.node import Context, Node
from goodput.plumbing.plan import due, fingerprints, in_order, rules
from goodput.plumbing.verify import Damage


def comparable(context: Context, nodes: Sequence[Node]) -> list[tuple[Node, str, str]]:
    """Every partition that is up to date and not final, with its node and the fingerprint of what it was made from."""
    found: list[tuple[Node, str, str]] = []
    for node in in_order(nodes):
        obeyed, table = rules(node, context), _main_table(node)
        waiting, fingerprint_of = due(node, context, obeyed=obeyed), fingerprints(node, context, obeyed)
        made = context.lake.catalog[table].parts.keys() - waiting.keys()
        partitions = sorted(partition for partition in made if not is_final(node, context, partition))
        found += [(node, partition, fingerprint_of(partition)) for partition in partitions]
    return found


def differing(context: Context, chosen: Iterable[tuple[Node, str, str]]) -> Iterator[Damage]:
    """The stored parts of some partitions that a computation alone, from the same inputs, does not give.

    Nothing of it is committed. Raises LakeUnreadable, LakeUnwritable, and what a computation raises.
    """
    for node, partition, inputs in chosen:
        made = node.compute(assemble(context, node, {partition: inputs}))
        for table, parts in made.items():
            stored = context.lake.catalog[table].parts.get(partition, ())
            new = [parts[partition]] if partition in parts else []
            if new != [*stored]:
                delete(part.path for part in new if part not in stored)
                if table not in node.appended:
                    yield from (Damage(table, part, "differs from its recomputation") for part in stored)


def _main_table(node: Node) -> str:
    """A table of the node that each of its partitions has."""
    of_partitions = (name for name in node.tables if name not in node.appended and contract(name).published != "inside")
    return next(of_partitions, node.tables[0])
