"""Which partitions are never computed again: what they were made from was pruned, and they stay as published."""

from goodput.plumbing.node import Context, Node


def is_final(node: Node, context: Context, partition: str) -> bool:
    """Whether a partition is closed, or reads what is gone: made from what is left it would be another number."""
    pruned = context.pruned
    if node.is_never_final or not pruned.closed_before:
        return False
    return pruned.is_closed(partition) or any(
        pruned.is_gone(table, one)
        for table in pruned.gone_before.keys() & node.inputs
        for one in (node.input_partitions(context, table, partition) if node.partition != "none" else ())
    )
