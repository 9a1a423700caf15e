"""What holds for every test."""

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from goodput.plumbing.node import Node

if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.pop("LD_PRELOAD", None)  # of the tests alone, and not of the browsers and servers that they start


@pytest.fixture(autouse=True, scope="session")
def _no_instance_of_dagster_and_no_collector() -> Iterator[None]:
    """A run of a test is reported to no instance of Dagster and to no collector of this machine."""
    names = [name for name in os.environ if name == "DAGSTER_HOME" or name.startswith("OTEL_")]
    before = {name: os.environ.pop(name) for name in names}
    yield
    os.environ.update(before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Runs in this process of a test with the mark `only` compute what its tables are computed from, and nothing else.

    Half of what a run over a few calls takes is planning SQL of which most tests never ask.
    """
    with _computing_only(item.get_closest_marker("only")):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(request: pytest.FixtureRequest) -> Generator[None, object, object]:
    """So do runs of its fixtures; those of fixtures that tests share go by the mark of what shares them."""
    with _computing_only(request.node.get_closest_marker("only")):
        return (yield)


@contextmanager
def _computing_only(mark: pytest.Mark | None) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        if mark and mark.args:
            patched.setattr("goodput.run.NODES", _nodes_of(*mark.args))
        yield


def _nodes_of(*tables: str) -> "tuple[Node, ...]":
    from goodput.nodes import NODES  # noqa: PLC0415  (most tests run nothing)

    by_table = {table: node for node in NODES for table in node.tables}
    names: set[str] = set()
    waiting = [by_table[table] for table in tables]
    while waiting:
        node = waiting.pop()
        if node.name not in names:
            names.add(node.name)
            waiting += [by_table[table] for table in node.inputs if table in by_table]  # else ingest writes it
    return tuple(node for node in NODES if node.name in names)
