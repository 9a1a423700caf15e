"""Every chart is whole: a question, an answer in words for any rows, columns that its SQL gives, a picture."""

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from goodput.ask.database import published
from goodput.plumbing.sql_files import sql_file
from goodput.report.catalog import all_charts
from goodput.report.chart import Chart
from goodput.report.gather import Gathered, gather, of_choice
from goodput.report.page import drawn
from goodput.report.shown import periods, slices

CHARTS = all_charts()


@pytest.fixture(scope="session")
def gathered(config: Path) -> Gathered:
    with published(config, None) as connection:
        shown = periods(connection, None, None)
        return gather(connection, CHARTS, shown, *slices(connection, shown, {}))


def test_places_and_names_are_each_ones_own() -> None:
    assert len({chart.place for chart in CHARTS}) == len({chart.name for chart in CHARTS}) == len(CHARTS)


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.name)
def test_a_chart_asks_and_says_what_is_missing(chart: Chart) -> None:
    assert chart.question.endswith("?")
    assert chart.empty.endswith(".")
    assert sql_file(chart.name).header["description"]


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.name)
def test_its_columns_come_from_its_sql(chart: Chart, gathered: Gathered) -> None:
    found = set(gathered.rows[chart.name].columns)
    assert {column.name for column in chart.columns} <= found
    assert set(chart.chosen_by) <= found


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.name)
def test_it_answers_for_each_row_alone_and_for_all(chart: Chart, gathered: Gathered) -> None:
    rows = gathered.rows[chart.name].to_dicts()
    for answer in [chart.answer([row]) for row in rows[:200]] + ([chart.answer(rows)] if rows else []):
        assert answer.endswith((".", "%."))
        assert "None" not in answer
        assert not re.search(r"\bnan\b", answer)  # a tenant has the letters, too


@pytest.mark.parametrize("chart", [chart for chart in CHARTS if chart.spec], ids=lambda chart: chart.name)
def test_its_picture_has_only_data_that_the_page_gives(chart: Chart) -> None:
    named = {
        one["name"] for one in drawn(chart)["data"] if "source" not in one and "values" not in one and "url" not in one
    }
    assert named - {"rows", *chart.also} == {name for name in named if name.startswith(("source_", "data_"))}
    assert "rows" in named


@pytest.mark.parametrize("chart", [chart for chart in CHARTS if chart.spec], ids=lambda chart: chart.name)
def test_its_picture_is_valid(chart: Chart) -> None:
    """The page draws it without asking."""
    assert chart.spec is not None
    described = chart.spec()
    assert described.to_dict(validate=True) == described.to_dict(validate=False)


def test_the_demo_fills_all_charts_but_alarms(gathered: Gathered) -> None:
    empty = [name for name, rows in gathered.rows.items() if not rows.height]
    assert sorted(empty) == ["alarm_spans", "alarm_windows"]


def test_the_sentence_of_a_choice_is_that_of_its_rows(gathered: Gathered) -> None:
    """Which rows a choice shows is decided once; here each sentence is made again from rows chosen another way."""
    chart = next(chart for chart in CHARTS if chart.name == "verdict_totals")
    found = gathered.rows[chart.name]
    for period in gathered.periods:
        for one in gathered.slices:
            rows = found.filter((pl.col("choice") == one.choice) & (pl.col("period") == period.period))
            assert rows.equals(of_choice(chart, found, period, one))
            assert gathered.answers[chart.name][period.period, one.choice] == chart.answer(rows.to_dicts())


@pytest.mark.parametrize("name", ["accepted_over_time", "price_over_time", "latency_over_time"])
def test_a_window_is_drawn_at_its_middle(name: str) -> None:
    """A deployment at 10:05 stands before the fall of the window from 10:05 to 10:10, not after it."""
    (chart,) = (chart for chart in CHARTS if chart.name == name)
    begin_ms, window_s = 1_800_000_000_000, 300
    row = {"at": begin_ms, "window_s": window_s, "metric": "ttft"}
    assert chart.spec is not None
    described = chart.spec().to_dict()
    calculated = re.findall(r"'calculate': '([^']*)', 'as': 'middle'", str(described))
    assert {eval(one.replace("datum.", ""), {}, row) for one in calculated} == {begin_ms + 150_000}
    lines = [layer for layer in _layers(described) if layer["mark"]["type"] == "line"]
    assert lines
    assert {layer["encoding"]["x"]["field"] for layer in lines} == {"middle"}


def test_the_tooltip_of_what_was_on_its_way_has_the_base_of_its_bar() -> None:
    (chart,) = (chart for chart in CHARTS if chart.name == "rise_facts")
    assert chart.spec is not None
    described = str(chart.spec().to_dict())
    assert "'field': 'base_says', 'title': 'before'" in described
    assert "'field': 'before_says'" not in described
    (base,) = set(re.findall(r"'calculate': \"([^\"]*)\", 'as': 'base_says'", described))
    is_usual, says = base.split(" ? ")
    assert is_usual == "datum.earliest_says === null"  # as its bar and its words are asked for
    assert says.split(" : ") == [
        "datum.before_says + ', the median'",
        "datum.earliest_says + ', at ' + utcFormat(datum.earliest_at, '%H:%M')",
    ]


def _layers(described: dict[str, Any]) -> list[dict[str, Any]]:
    inner = [*described.get("layer", []), *([described["spec"]] if "spec" in described else [])]
    return [described] if not inner else [one for layer in inner for one in _layers(layer)]


def test_a_limit_is_drawn_where_what_it_is_judged_by_meets_its_bound() -> None:
    (chart,) = (chart for chart in CHARTS if chart.name == "load_curves")
    assert chart.spec is not None
    layers = _layers(chart.spec().to_dict())
    drawn_at = [
        (layer["mark"]["type"], *(layer["encoding"].get(axis, {}).get("field") for axis in ("x", "x2", "y")))
        for layer in layers
    ]
    assert ("point", "load_rps", None, "fail_ratio") in drawn_at
    assert ("rule", None, None, "bound") in drawn_at
    assert ("point", "knee_rps", None, "bound") in drawn_at
    assert ("rule", "knee_ci_low_rps", "knee_ci_high_rps", "bound") in drawn_at
