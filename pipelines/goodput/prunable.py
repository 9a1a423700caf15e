"""Which tables can be pruned: those whose rows are read by hour or day, which can be closed, and by nothing else.

It follows from the plan and from what is published over all of a table; no list of tables is kept.
"""

from collections.abc import Mapping
from functools import cache

from goodput.contracts import contract, stored_tables
from goodput.nodes import NODES
from goodput.plumbing.graph import inputs_of
from goodput.plumbing.node import STORED, Node

_OVER_ALL = ("sources",)  # published relations that add up every row of what they read


@cache
def kept_for_ever() -> Mapping[str, str]:
    """Tables that cannot be pruned, each with the reason."""
    found = {}
    for table in stored_tables():
        reason = _reason(table)
        if reason:
            found[table] = reason
    return found


def _reason(table: str) -> str:
    if contract(table).partition == "none":
        return "it has no hours or days"
    for name in _OVER_ALL:
        if table in inputs_of((name,), STORED):
            return f"relation {name} adds up all of it"
    for node in NODES:
        if node.is_never_final and table in (*node.inputs, *node.tables):
            does = "is" if table in node.tables else "is read to be"
            return f"it {does} computed for closed days too ({node.name})"
        if _reads_all(node, table):
            return f"{node.name} reads all of it"
    return ""


def _reads_all(node: Node, table: str) -> bool:
    """Whether rows of any age change what a node makes of open hours, or of what has none."""
    if table in node.consults:
        return True
    is_whole = node.partition == "none" and table in node.inputs
    return is_whole and table not in node.span and table not in node.what_is_left
