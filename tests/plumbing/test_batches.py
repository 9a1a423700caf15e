"""Partitions that are computed together: how far they reach, how many rows they have; and no number depends on it."""

import random
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from end_to_end.test_same_sources_same_tables import QUIET, measured, sources
from goodput.join.nodes import JOIN
from goodput.plumbing import batches as batches_module
from goodput.plumbing.batches import batches
from goodput.plumbing.hours import hour_label
from published import run_at

FIRST = 498_648  # 2026-11-20T00


def of(
    monkeypatch: pytest.MonkeyPatch, rows: dict[int, int], most: int, hours: list[int], width: int = 1
) -> list[list[int]]:
    """Hours that the join computes together, given the serving records of each hour; `width` batches at once."""
    monkeypatch.setattr(batches_module, "_ROWS_TOGETHER", most)
    parts = {hour_label(FIRST + hour): (SimpleNamespace(rows=count),) for hour, count in rows.items()}
    tables: dict[str, Any] = defaultdict(lambda: SimpleNamespace(parts={}))
    tables["serving_records"] = SimpleNamespace(parts=parts)
    context: Any = SimpleNamespace(lake=SimpleNamespace(catalog=tables))
    labels = {hour_label(FIRST + hour): hour for hour in hours}
    return [[labels[label] for label in batch] for batch in batches(JOIN, context, labels, width)]


def test_hours_of_few_rows_are_together_within_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    assert of(monkeypatch, {}, 100, [0, 3, 23, 24, 30]) == [[0, 3, 23], [24, 30]]


def test_a_batch_ends_before_it_has_too_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """40 and 60 are 100; 101 alone is too many, and cannot be cut."""
    rows = {0: 40, 1: 60, 2: 1, 3: 99, 4: 101, 5: 1}
    assert of(monkeypatch, rows, 100, [*range(7)]) == [[0, 1], [2, 3], [4], [5, 6]]


def test_workers_have_two_batches_each_of_as_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """800 rows are 200 for each of four batches; rows too few to be worth two batches stay together."""
    monkeypatch.setattr(batches_module, "_ROWS_WORTH_IT", 150)
    rows = dict.fromkeys(range(8), 100)
    assert of(monkeypatch, rows, 1000, [*range(8)], width=2) == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert of(monkeypatch, rows, 1000, [0], width=2) == [[0]]
    assert of(monkeypatch, dict.fromkeys(range(3), 50), 1000, [*range(3)], width=2) == [[0, 1, 2]]
    assert of(monkeypatch, rows, 100, [0, 1], width=2) == [[0], [1]]


def test_numbers_do_not_depend_on_how_many_hours_are_computed_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tables(name: str) -> dict[str, Any]:
        (tmp_path / name / "landing").mkdir(parents=True)
        (tmp_path / name / "goodput.toml").write_text(QUIET)
        for file, text in sources(random.Random(8)).items():
            (tmp_path / name / "landing" / file).write_text(text)
        return measured(run_at(tmp_path / name / "goodput.toml"))

    expected = tables("together")
    monkeypatch.setattr(batches_module, "_ROWS_TOGETHER", 1)
    for name, frame in tables("apart").items():
        assert frame.equals(expected[name]), name
