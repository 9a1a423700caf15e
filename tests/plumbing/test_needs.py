"""Which tables a node reads, whoever reads them for it: those that it declares, so that it is due where they change."""

from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from goodput import run as run_module
from goodput.errors import NothingCalled
from goodput.measure.coverage import lookaround
from goodput.nodes import NODES
from goodput.plumbing.blocked import TABLE as BLOCKED
from goodput.plumbing.catalog import Catalog, Table
from goodput.plumbing.node import Context, Lookaround, partitions_of
from goodput.plumbing.plan import in_order, needs
from goodput.plumbing.settled import Settled
from goodput.plumbing.workspace import Workspace
from goodput.run import run
from runners.fleet import land

WIDER = Lookaround(1, 1, calls=(1, 1))


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


def test_a_node_that_no_input_calls_for_is_refused(tmp_path: Path) -> None:
    """Its tables would be empty, and nothing would say why."""
    workspace = Workspace(land(tmp_path))
    context = Context(workspace.lake, workspace.settings)
    node = next(node for node in NODES if node.name == "coverage")
    partitions_of(node, context)
    for around in ({}, {"attempts": Lookaround(1, 1)}):
        with pytest.raises(NothingCalled, match=r"coverage.*attempts, replica_samples"):
            partitions_of(replace(node, lookaround=lambda _, given=around: given), context)
    daily = next(node for node in NODES if node.partition == "day" and node.also)
    with pytest.raises(NothingCalled):
        partitions_of(replace(daily, also=None, lookaround=lambda _: {}), context)


def test_a_node_that_looks_elsewhere_is_looked_at_again(tmp_path: Path) -> None:
    workspace = Workspace(land(tmp_path))
    run(workspace, deliver=False)
    context, named = Context(workspace.lake, workspace.settings), {node.name: node for node in NODES}
    assert all(Settled(context, NODES).is_settled(node) for node in NODES)
    wider = replace(named["coverage"], lookaround=lambda context: {**lookaround(context), "replica_samples": WIDER})
    assert not Settled(context, NODES).is_settled(wider)
