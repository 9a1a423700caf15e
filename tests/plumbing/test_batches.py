"""Partitions that are computed together: how far they reach, how many rows they have; and no number depends on it."""

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from end_to_end import test_same_sources_same_tables as same_sources
from end_to_end.test_same_sources_same_tables import QUIET, measured, sources
from goodput.join.nodes import JOIN, SAMPLES
from goodput.measure.nodes import COST_LEDGER, DISRUPTIONS, RECONCILIATION, WINDOWS
from goodput.plumbing import batches as batches_module
from goodput.plumbing import plan
from goodput.plumbing.batches import batches
from goodput.plumbing.hours import day_of, hour_label
from goodput.plumbing.plan import _computed
from goodput.plumbing.runner import InProcess
from goodput.plumbing.work import Broken, ComputedBatch
from goodput.settings.model import Settings
from published import run_at

FIRST = 498_648  # 2026-11-20T00
DAY_NS = 86_400 * 10**9


def context_of(rows: Mapping[int, int], table: str) -> Any:
    """A lake in which one table has so many rows in each hour."""
    parts = {hour_label(FIRST + hour): (SimpleNamespace(rows=count),) for hour, count in rows.items()}
    tables: dict[str, Any] = defaultdict(lambda: SimpleNamespace(parts={}))
    tables[table] = SimpleNamespace(parts=parts)
    return SimpleNamespace(lake=SimpleNamespace(catalog=tables), settings=Settings())


def of(
    monkeypatch: pytest.MonkeyPatch, rows: dict[int, int], most: int, hours: list[int], width: int = 1
) -> list[list[int]]:
    """Hours that the join computes together, given the serving records of each hour; `width` batches at once."""
    monkeypatch.setattr(batches_module, "_ROWS_TOGETHER", most)
    labels = {hour_label(FIRST + hour): hour for hour in hours}
    context = context_of(rows, "serving_records")
    return [[labels[label] for label in batch] for batch in batches(JOIN, context, labels, width)]


def test_hours_of_few_rows_are_together_within_a_week(monkeypatch: pytest.MonkeyPatch) -> None:
    assert of(monkeypatch, {}, 100, [0, 3, 23, 24, 30, 167, 168, 200]) == [[0, 3, 23, 24, 30, 167], [168, 200]]


def test_hours_of_many_rows_are_together_within_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """100 rows are few: three hours of 40 are more, and so the third one, a day later, is for another batch."""
    monkeypatch.setattr(batches_module, "_ROWS_WORTH_IT", 100)
    rows = dict.fromkeys((0, 23, 24, 30, 47, 48), 40)
    assert of(monkeypatch, rows, 1000, [0, 24]) == [[0, 24]]
    assert of(monkeypatch, rows, 1000, [0, 23, 24, 30, 47, 48]) == [[0, 23], [24, 30, 47], [48]]


def test_bills_of_many_resources_are_many_rows_of_every_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lake without requests: hours of 90 bills are together within a week, of 101 within a day."""
    monkeypatch.setattr(batches_module, "_ROWS_WORTH_IT", 100)
    hours = {hour_label(FIRST + hour): hour for hour in (0, 23, 24, 47, 48)}
    for bills, expected in ((90, [[0, 23, 24, 47, 48]]), (101, [[0, 23], [24, 47], [48]])):
        context = context_of({}, "requests")
        context.lake.catalog["cost_records"] = SimpleNamespace(parts={"all": (SimpleNamespace(rows=bills),)})
        assert [[hours[hour] for hour in batch] for batch in batches(COST_LEDGER, context, hours)] == expected


def test_days_are_together_as_their_node_says_whatever_the_bills(monkeypatch: pytest.MonkeyPatch) -> None:
    """A month for the reconciliation, each alone for disruptions."""
    monkeypatch.setattr(batches_module, "_ROWS_WORTH_IT", 100)
    days = [f"2026-10-{day:02}" for day in range(1, 32)] + ["2026-11-01"]
    for rows in (1, 1000):
        context = context_of({}, "requests")
        context.lake.catalog["cost_records"] = SimpleNamespace(parts={"all": (SimpleNamespace(rows=rows),)})
        assert [len(batch) for batch in batches(RECONCILIATION, context, days)] == [31, 1]
        assert [len(batch) for batch in batches(DISRUPTIONS, context, days)] == [1] * 32


def test_a_batch_ends_before_it_has_too_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """40 and 60 are 100; 101 alone is too many, and cannot be cut."""
    rows = {0: 40, 1: 60, 2: 1, 3: 99, 4: 101, 5: 1}
    assert of(monkeypatch, rows, 100, [*range(7)]) == [[0, 1], [2, 3], [4], [5, 6]]


def test_workers_share_rows_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows too few to be worth two batches stay together, and hours that nothing shares are as evenly as can be."""
    monkeypatch.setattr(batches_module, "_ROWS_WORTH_IT", 150)
    rows = dict.fromkeys(range(8), 100)
    assert of(monkeypatch, rows, 1000, [*range(8)], width=2) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert of(monkeypatch, rows, 1000, [*range(8)], width=3) == [[0, 1, 2], [3, 4, 5], [6, 7]]
    assert of(monkeypatch, rows, 1000, [0], width=2) == [[0]]
    assert of(monkeypatch, dict.fromkeys(range(3), 50), 1000, [*range(3)], width=2) == [[0, 1, 2]]
    assert of(monkeypatch, rows, 100, [0, 1], width=2) == [[0], [1]]
    assert of(monkeypatch, {0: 10, 1: 10, 2: 300, 3: 10}, 1000, [*range(4)], width=2) == [[0, 1], [2, 3]]


def test_workers_have_two_batches_each_where_these_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two workers, 800 rows of which 100 are worth a batch, and 799: four batches of 200 rows, and two."""
    monkeypatch.setattr(batches_module, "_ROWS_WORTH_IT", 100)
    rows = dict.fromkeys(range(8), 100)
    assert of(monkeypatch, rows, 1000, [*range(8)], width=2) == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert of(monkeypatch, rows | {7: 99}, 1000, [*range(8)], width=2) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert of(monkeypatch, rows, 100, [*range(8)], width=2) == [[hour] for hour in range(8)]


def test_one_large_hour_makes_no_crumbs_of_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left after it is no more than one batch is worth, however many workers there are."""
    monkeypatch.setattr(batches_module, "_ROWS_WORTH_IT", 10)
    rows = {0: 1000} | dict.fromkeys(range(1, 9), 1)
    for width in (2, 8, 64):
        assert of(monkeypatch, rows, 5000, [*range(9)], width=width) == [[0], [*range(1, 9)]]
    assert of(monkeypatch, rows | {9: 1000}, 5000, [*range(10)], width=2) == [[0], [*range(1, 9)], [9]]


def test_workers_compute_what_is_left_evenly_where_a_batch_ends_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the rows are past the first day, at whose end the first batch ends."""
    monkeypatch.setattr(batches_module, "_ROWS_WORTH_IT", 10)
    rows = dict.fromkeys(range(24), 1) | dict.fromkeys(range(24, 48), 2)
    assert of(monkeypatch, rows, 1000, [*range(48)], width=2) == [[*range(24)], [*range(24, 48)]]


@pytest.fixture
def windows_together(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Which days and hours of windows are measured together, given the requests of each hour; 100 are few."""
    monkeypatch.setattr(batches_module, "_ROWS_WORTH_IT", 100)

    def together(rows: Mapping[int, int], due: list[str]) -> list[list[str]]:
        hours = {hour_label(FIRST + hour) for hour in rows}
        known = hours | {day_of(hour) for hour in hours}
        monkeypatch.setattr(batches_module, "partitions_of", lambda *_: known)
        return [sorted(batch) for batch in batches(WINDOWS, context_of(rows, "requests"), due)]

    return together


def test_days_of_few_rows_that_follow_each_other_are_measured_together(windows_together: Any) -> None:
    """Days 0, 1 and 2 have 40, 60 and 1 requests; day 4 follows none; of day 6 only one hour of three is due."""
    rows = {0: 40, 24: 30, 47: 30, 48: 1, 96: 1, 144: 1, 145: 1, 146: 1}
    whole = [hour_label(FIRST + hour) for hour in rows if hour < 144]
    due = [*whole, *{day_of(hour) for hour in whole}, hour_label(FIRST + 144), "2026-11-26"]
    first, second, third, hour, day = windows_together(rows, due)
    assert first == ["2026-11-20", "2026-11-20T00", "2026-11-21", "2026-11-21T00", "2026-11-21T23"]
    assert second == ["2026-11-22", "2026-11-22T00"]
    assert third == ["2026-11-24", "2026-11-24T00"]
    assert (hour, day) == (["2026-11-26T00"], ["2026-11-26"])


def test_no_more_than_a_week_of_windows_is_measured_together(windows_together: Any) -> None:
    rows = dict.fromkeys(range(0, 24 * 16, 24), 1)
    due = [name for hour in rows for name in (hour_label(FIRST + hour), day_of(hour_label(FIRST + hour)))]
    assert [len(batch) for batch in windows_together(rows, due)] == [14, 14, 4]


def test_a_batch_that_breaks_is_halved_until_those_that_break_it_are_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 64 hours the 5th and the last cannot be computed: each is found in six steps, and the rest is computed."""
    worked: list[list[str]] = []

    def works(batch: Any) -> ComputedBatch | Broken:
        worked.append(sorted(batch.partitions))
        return Broken("no", "no", 0) if {"04", "63"} & batch.partitions.keys() else ComputedBatch({}, {}, 0)

    monkeypatch.setattr(plan, "work", works)
    monkeypatch.setattr(
        plan, "assemble", lambda _context, _node, group: SimpleNamespace(node=SAMPLES, partitions=group)
    )
    node: Any = None
    group = {f"{hour:02}": f"made from {hour}" for hour in range(64)}
    done = [(batch.partitions, one) for batch, one in _computed(node, node, [group], InProcess())]
    assert sorted(name for names, one in done if isinstance(one, Broken) for name in names) == ["04", "63"]
    assert {name: inputs for names, _ in done for name, inputs in names.items()} == group
    assert sum(len(names) for names, _ in done) == 64
    assert len(worked) == 1 + 2 + 4 * 5  # all, its halves, and then those of two halves each time


def days_of_sources(days: int) -> Iterator[tuple[str, str]]:
    """Files of so many days that follow each other, by name; no id is of more than one."""
    for day in range(days):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(same_sources, "T0_NS", same_sources.T0_NS + day * DAY_NS)
            files = sources(random.Random(day))
        for name, text in files.items():
            of_day = re.sub('"traceId": "0', f'"traceId": "{day + 1}', text)
            of_day = re.sub(r'"(r\d+")', rf'"{day}-\1', of_day)
            of_day = re.sub(r"^(row\d+,)", rf"{day}-\1", of_day, flags=re.MULTILINE)
            yield (name if name.endswith(".prom") else f"{day}-{name}"), of_day


def test_numbers_do_not_depend_on_how_many_hours_are_computed_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tables(name: str) -> dict[str, Any]:
        (tmp_path / name / "landing").mkdir(parents=True)
        (tmp_path / name / "goodput.toml").write_text(QUIET)
        for file, text in days_of_sources(4):
            (tmp_path / name / "landing" / file).write_text(text)
        return measured(run_at(tmp_path / name / "goodput.toml"))

    expected = tables("together")
    assert expected["requests"]["arrived_at"].dt.date().n_unique() >= 4
    monkeypatch.setattr(batches_module, "_ROWS_WORTH_IT", 1)
    for name, frame in tables("days").items():
        assert frame.equals(expected[name]), name
    monkeypatch.setattr(batches_module, "_ROWS_TOGETHER", 1)
    for name, frame in tables("apart").items():
        assert frame.equals(expected[name]), name
