"""Which tables a node reads, whoever reads them for it: those that it declares, so that it is due where they change."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from goodput import run as run_module
from goodput.nodes import NODES
from goodput.plumbing.blocked import TABLE as BLOCKED
from goodput.plumbing.catalog import Catalog, Table
from goodput.plumbing.plan import in_order, needs
from goodput.plumbing.workspace import Workspace
from goodput.run import run
from runners.fleet import land


def test_a_node_reads_no_table_that_it_does_not_declare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo has bills, labels, rates and slices by tenant."""
    reads, at = defaultdict[str, set[str]](set), list[str]()
    look_up, compute_node = Catalog.__getitem__, run_module.compute_node

    def looked_up(catalog: Catalog, table: str) -> Table:
        if at:
            reads[at[-1]].add(table)
        return look_up(catalog, table)

    def computed(context: Any, node: Any, **given: Any) -> Any:
        at.append(node.name)
        try:
            return compute_node(context, node, **given)
        finally:
            at.pop()

    monkeypatch.setattr(Catalog, "__getitem__", looked_up)
    monkeypatch.setattr(run_module, "compute_node", computed)
    run(Workspace(land(tmp_path)), deliver=False)
    declared = {node.name: {*node.inputs, *node.consults, *node.aside, *node.tables, BLOCKED} for node in NODES}
    assert {name: tables - declared[name] for name, tables in reads.items() if tables - declared[name]} == {}
    assert len(reads) == len(NODES)


def test_a_node_needs_those_before_it_alone() -> None:
    order = needs(NODES)
    assert list(order) == [node.name for node in in_order(NODES)]
    done: set[str] = set()
    for name, needed in order.items():
        assert needed <= done
        done.add(name)
