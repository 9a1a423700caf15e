"""What workers are spared: they find what was parsed and planned before them, and what one plans others know."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from goodput.plumbing import graph, shapes
from goodput.plumbing.lake import Lake
from goodput.runners import shipping
from goodput.runners.shipping import done, packed, unpacked


@pytest.fixture
def another_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """From now on nothing is parsed or planned yet."""
    monkeypatch.setattr(graph, "_remembered", {})
    monkeypatch.setattr(shapes, "_known", {})
    monkeypatch.setattr(shapes, "_noted", {})
    graph.relation.cache_clear()
    shipping._recall.cache_clear()
    yield
    graph.relation.cache_clear()


def plan(lake: Lake) -> str:
    """What a worker does: it computes a relation of a node, and reads what another one means."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TEMP TABLE goodput (planned INTEGER)")
        shapes.note(connection, "windows", "goodput")
    return graph.relation("goodput").meaning


def test_a_worker_parses_nothing_that_was_parsed(
    tmp_path: Path, another_process: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    meaning = graph.relation("goodput").meaning
    graph.remember(tmp_path)
    graph._remembered.clear()
    graph.relation.cache_clear()
    monkeypatch.setattr(graph, "_read", lambda name: pytest.fail(f"{name} is parsed once more"))
    assert unpacked(done(packed(plan, Lake(tmp_path)))) == meaning


def test_a_worker_without_the_folder_parses_for_itself(tmp_path: Path, another_process: None) -> None:
    assert unpacked(done(packed(plan, Lake(tmp_path / "elsewhere")))) == graph.relation("goodput").meaning


def test_what_a_worker_planned_is_known_to_the_run_and_the_next(tmp_path: Path, another_process: None) -> None:
    answer = done(packed(plan, Lake(tmp_path)))
    assert not shapes.noted(), "it goes back once"
    shapes._known.clear()
    unpacked(answer)
    shapes.remember(tmp_path)
    shapes._known.clear()
    shapes.recall(tmp_path)
    with duckdb.connect() as connection:
        assert shapes.create(connection, "windows", "goodput")
        assert connection.sql("FROM goodput").columns == ["planned"]
