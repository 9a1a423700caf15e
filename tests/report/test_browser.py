"""The page in a real browser: it draws, it follows the reader's choice, its numbers are the database's, and it is safe.

Needs Debian's chromium; the checks of accessibility also need axe-core, from npm.
"""

import json
import re
import shutil
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pytest

from browser import Reader, launched, needs_axe, needs_chromium, playwright
from goodput.ask.database import published
from goodput.report.catalog import all_charts
from goodput.report.chart import ChartColumn
from goodput.report.write import write_page

pytestmark = needs_chromium
NAMED = ("goodput", "waste", "gate_failures", "cache_by_replica", "cache_effect", "frontier", "disruptions", "quality")
MISSING = (
    "money_totals",
    "worth_mending",
    "price_over_time",
    "judged_answers",
    "operations_done",
    "load_curves",
    "replica_hits",
)


@pytest.fixture(scope="session")
def page_file(config: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("page") / "report.html"
    write_page(config, None, file)
    return file


@pytest.fixture(scope="module")
def chromium() -> Iterator["playwright.Browser"]:
    """Closed after this file: an event loop runs as long as it is open, and other tests start their own."""
    with launched() as browser:
        yield browser


@pytest.fixture
def reader(chromium: "playwright.Browser", page_file: Path) -> Iterator[Reader]:
    found = Reader(chromium, offline=True, viewport={"width": 1440, "height": 900})
    found.open(page_file.as_uri())
    yield found
    found.tab.context.close()
    assert found.complaints == []


@pytest.mark.parametrize("width", [390, 820, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_chart_is_drawn_and_nothing_is_wider_than_the_screen(
    chromium: "playwright.Browser", page_file: Path, config: Path, width: int, scheme: str
) -> None:
    with published(config, None) as connection:
        ((priced,),) = connection.execute("SELECT count(excess_cost_usd) FROM disruptions").fetchall()
    reader = Reader(chromium, offline=True, viewport={"width": width, "height": 900}, color_scheme=scheme)
    reader.open(page_file.as_uri())
    assert reader.complaints == []
    for chart in all_charts():
        pictures = reader.tab.locator(f"#{chart.name} .picture:not([hidden]) svg")
        has_rows = not chart.name.startswith("alarm_") and (chart.name != "operations_done" or priced > 0)
        assert pictures.count() == (chart.spec is not None and has_rows), chart.name
        if pictures.count():
            assert pictures.locator("path, rect, text").count() > 5, chart.name
    assert reader.tab.evaluate("document.documentElement.scrollWidth") <= width
    reader.tab.context.close()


@pytest.mark.parametrize("workload", ["", "rag"])
def test_a_tall_card_is_filled_by_its_picture(reader: Reader, workload: str) -> None:
    """Cards beside it may be higher; once chosen anew it is filled anew, neither short nor beyond them."""
    if workload:
        reader.tab.select_option("#workload", workload)
        reader.tab.wait_for_function("document.body.dataset.shown && location.hash.includes('workload=rag')")
        reader.tab.wait_for_timeout(400)
    left = reader.tab.evaluate(
        """Array.from(document.querySelectorAll(".tall"), (card) =>
            card.getBoundingClientRect().bottom - card.lastElementChild.getBoundingClientRect().bottom)"""
    )
    tall = [chart.name for chart in all_charts() if chart.is_tall]
    assert len(left) == len(tall) > 0
    assert max(left) < 40  # with the padding of the card, 13
    drawn, card = (reader.tab.locator(f"#latency_over_time{part}").bounding_box() for part in (" .picture svg", ""))
    assert drawn["y"] + drawn["height"] < card["y"] + card["height"]


@pytest.mark.parametrize("width", [350, 390])
def test_a_phone_shows_values_and_whole_tables(chromium: "playwright.Browser", page_file: Path, width: int) -> None:
    reader = Reader(chromium, offline=True, viewport={"width": width, "height": 800})
    reader.open(page_file.as_uri())
    # each bar of the rise has the value in its window; a table without a picture is there to be read whole
    values = reader.tab.locator("#rise_facts tbody td:nth-child(3)").all_text_contents()
    said = reader.tab.locator("#rise_facts svg .mark-text.role-mark text").all_text_contents()
    assert len([value for value in values if value]) > 5
    assert {value for value in values if value} <= set(said)
    trust = reader.tab.locator("#trust_facts .numbers")
    assert trust.evaluate("(one) => one.scrollHeight - one.clientHeight") == 0
    for name in ("money_totals", "slice_totals"):
        boxes = sorted(
            (box["x"], box["x"] + box["width"])
            for one in reader.tab.locator(f"#{name} svg .role-axis-label text").all()
            if one.text_content().startswith("$") and (box := one.bounding_box())
        )
        assert len(boxes) > 1, name
        assert all(after - end > 3 for (_, end), (after, _) in pairwise(boxes)), name
    # what is beyond the edge of a table is scrolled to within the card, beside what a row is of
    reader.tab.locator("#operations_done summary").first.click()
    numbers = reader.tab.locator("#operations_done .numbers")
    assert numbers.evaluate("(one) => { one.scrollLeft = 400; return one.scrollLeft; }") == 400
    first = reader.tab.locator("#operations_done tbody tr td:first-child").first
    assert abs(first.bounding_box()["x"] - numbers.bounding_box()["x"]) < 2
    assert reader.tab.evaluate("document.documentElement.scrollWidth") <= width
    reader.tab.context.close()


def test_a_bucket_of_hardly_any_money_is_seen(reader: Reader, config: Path) -> None:
    bars = reader.tab.locator("#money_totals svg .mark-rect path")
    assert bars.count() > 5
    widths = [bars.nth(n).evaluate("(one) => one.getBBox({stroke: true}).width") for n in range(bars.count())]
    strokes = {bars.nth(n).get_attribute("stroke-width") for n in range(bars.count())}
    assert min(widths) < 1  # by dollars alone nothing of it would be seen
    assert strokes == {"2"}
    fills = [(bars.nth(n).get_attribute("fill"), bars.nth(n).get_attribute("stroke")) for n in range(bars.count())]
    assert all(fill == stroke for fill, stroke in fills)


def test_the_numbers_of_each_choice_are_what_its_query_gives(reader: Reader, page_file: Path, config: Path) -> None:
    """The table of numbers, read off the screen, beside the page's own SQL on the published database."""
    compared = 0
    choices = reader.tab.evaluate("Array.from(document.querySelectorAll('#workload option'), (one) => one.value)")
    assert len(choices) > 2
    for workload in choices:
        reader.tab.select_option("#workload", workload)
        reader.tab.wait_for_function(f"location.hash.includes('workload={workload}') || {json.dumps(not workload)}")
        reader.tab.wait_for_timeout(400)
        for chart in all_charts():
            query = reader.tab.evaluate(f"document.querySelector('#{chart.name} pre').textContent")
            with published(config, None) as connection:
                asked = connection.execute(query)
                names = [column[0] for column in asked.description]
                found = [dict(zip(names, row, strict=True)) for row in asked.fetchall()]
            cells, titles = reader.tab.evaluate(
                """(name) => [
                    Array.from(document.querySelectorAll(`#${name} tbody tr`),
                        (row) => Array.from(row.cells, (cell) => cell.textContent)),
                    Array.from(document.querySelectorAll(`#${name} th`), (one) => one.textContent),
                ]""",
                chart.name,
            )
            assert len(cells) == min(len(found), 1000), (workload, chart.name)
            columns = [one for one in chart.columns if any(row[one.name] is not None for row in found)]
            assert titles == [one.title for one in columns]
            shown = sorted(tuple(line) for line in cells)
            expected = sorted(tuple(_written(one, row) for one in columns) for row in found)
            assert shown == expected, (workload, chart.name)
            compared += sum(map(len, shown))
    assert compared > 3000


def _written(column: ChartColumn, row: dict[str, Any]) -> str:
    """A value as the page writes it, worked out here anew."""
    value = row[column.name]
    return "" if value is None else _FORMS[column.form](value)


def _usd(value: float) -> str:
    kept = _kept(value)
    size = f"{_half_up(abs(kept), 2):,.2f}" if abs(kept) >= 1 else _digits(abs(kept))
    return f"{'-' if kept < 0 else ''}${size}"


def _kept(value: float) -> float:
    return float(f"{value:.11e}")


def _half_up(value: float, places: int) -> float:
    return float(Decimal(repr(_kept(value))).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP))


def _digits(value: float) -> str:
    """Four significant digits, as Intl.NumberFormat writes them."""
    if value == 0:
        return "0"
    exact = Decimal(repr(value))
    rounded = exact.quantize(Decimal(1).scaleb(exact.adjusted() - 3), ROUND_HALF_UP)
    text = f"{rounded:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


_FORMS = {
    "text": str,
    "flag": lambda value: "yes" if value else "no",
    "time": lambda value: f"{value:%d %b, %H:%M}",
    "count": lambda value: f"{_half_up(value, 0):,.0f}",
    "share": lambda value: f"{_half_up(100 * _kept(value), 1):.1f} %",
    "usd": _usd,
    "seconds": lambda value: f"{_digits(_kept(value))} s",
    "number": lambda value: _digits(_kept(value)),
}


def test_commands_in_a_sentence_are_told_from_words(reader: Reader) -> None:
    commands = reader.tab.locator("#worth_trying-answer code").all_inner_texts()
    assert any(command.startswith('goodput query "select request_key, evaluator, score') for command in commands)
    assert all(command.startswith("goodput ") for command in commands)
    assert "`" not in reader.text("#worth_trying-answer")


def test_the_address_brings_back_what_was_chosen(reader: Reader, page_file: Path) -> None:
    reader.tab.select_option("#workload", "chat")
    reader.tab.wait_for_timeout(300)
    within = reader.tab.locator("#within option").nth(1)
    reader.tab.select_option("#within", within.get_attribute("value"))
    reader.tab.wait_for_timeout(300)
    chosen_here, tiles = reader.text("#shown"), reader.text("#tiles")
    assert chosen_here.startswith("workload chat, ")
    reader.tab.reload()
    reader.tab.wait_for_function("document.body.dataset.shown")
    assert (reader.text("#shown"), reader.text("#tiles")) == (chosen_here, tiles)


def test_an_address_that_asks_for_what_is_not_there_says_so(reader: Reader, page_file: Path) -> None:
    assert reader.text("#missing") == ""
    reader.tab.goto("about:blank")
    reader.open(page_file.as_uri(), workload="gone", period="week")
    assert (
        reader.text("#missing") == "The address asks for workload gone and period week, which this page does not have."
    )
    assert reader.text("#shown").startswith("All requests")
    assert reader.violations() == []
    reader.tab.select_option("#workload", "chat")
    reader.tab.wait_for_function("location.hash.includes('workload=chat')")
    assert reader.text("#missing") == ""


def test_a_tenant_is_of_the_workload_that_is_chosen_beside_it(reader: Reader, config: Path) -> None:
    reader.tab.select_option("#within", label="tenant globex")
    reader.tab.select_option("#workload", "rag")
    reader.tab.wait_for_function("document.body.dataset.shown && location.hash.includes('tenant=globex')")
    assert reader.text("#shown").startswith("workload rag, tenant globex, ")
    assert reader.text("#missing") == ""
    assert reader.text("#slice_totals .note") == ""
    with published(config, None) as connection:
        (offered,), (tenants,) = connection.execute(
            """
            SELECT sum(offered) FILTER (WHERE slice_value = 'globex') FROM goodput
            WHERE slice = 'workload_tenant' AND workload = 'rag' AND window_s = 86400
            UNION ALL
            SELECT count(*) FROM goodput WHERE slice = 'workload_tenant' AND workload = 'rag' AND window_s = 86400
            """
        ).fetchall()
    assert f"of {offered:,}" in reader.text("#tiles")
    assert reader.tab.locator("#slice_totals tbody tr").count() == tenants


def test_tenants_of_all_requests_stand_in_the_picture_and_beside_them_in_the_numbers_those_of_workloads(
    reader: Reader,
) -> None:
    rows = reader.tab.locator("#slice_totals tbody tr").count()
    bars = reader.tab.locator("#slice_totals .picture [aria-roledescription=bar]").count()
    assert 1 < bars < rows
    heads = reader.tab.locator("#slice_totals thead th").all_text_contents()
    assert heads[:2] == ["Slice", "Workload"]
    workloads = reader.tab.locator("#slice_totals tbody td:nth-child(2)").all_text_contents()
    assert (workloads.count(""), set(workloads)) == (bars, {"", "batch", "chat", "rag"})


def test_a_model_that_a_chosen_workload_does_not_have_is_said_to_be_dropped(reader: Reader) -> None:
    reader.tab.select_option("#within", label="model llama-3.1-8b")
    assert reader.text("#slice_totals .note") == "Not divided by model: it shows all."
    reader.tab.select_option("#workload", "rag")
    reader.tab.wait_for_function("document.body.dataset.shown && location.hash.includes('workload=rag')")
    assert (
        reader.text("#missing") == "No longer chosen: model llama-3.1-8b, which is not published within workload rag."
    )
    assert "within rag" in reader.text("#slice_totals-answer")
    reader.tab.click("#reset")
    assert reader.text("#missing") == ""


def test_operations_are_named_beside_their_lines(reader: Reader, config: Path) -> None:
    with published(config, None) as connection:
        done = connection.execute("SELECT kind, pool FROM disruptions").fetchall()
    names = reader.tab.locator("#accepted_over_time svg .mark-text.role-mark text").all_text_contents()
    assert 0 < len(names) == len(done)
    assert set(names) == {f"{kind.replace('_', ' ')} {pool}" for kind, pool in done}


def test_the_tiles_are_the_days_headline(reader: Reader, config: Path) -> None:
    with published(config, None) as connection:
        ((ratio, price, offered),) = connection.execute(
            "SELECT goodput_ratio, cost_per_accepted_usd, offered"
            " FROM goodput JOIN latest_window USING (window_start, window_s) WHERE slice = 'overall'"
        ).fetchall()
    assert f"{100 * ratio:.1f} %" in reader.text("#tiles")
    assert f"of {offered:,} requests" in reader.text("#tiles")
    cost = re.search(r"\$([0-9.]+)", reader.text("#tiles .tile:nth-child(3) .value"))
    assert float(cost[1]) == pytest.approx(price, rel=0.05)


def test_telemetry_that_looks_like_a_script_is_only_text(
    chromium: "playwright.Browser", config: Path, tmp_path: Path
) -> None:
    """Names of models and pools are whatever a caller sends."""
    hostile = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>"
    lake = tmp_path / "lake"
    shutil.copytree(config.parent / "lake", lake)
    with duckdb.connect(lake / "goodput.duckdb") as connection:
        for relation in NAMED:
            found = [row[0] for row in connection.execute(f"DESCRIBE stored.{relation}").fetchall()]
            for column in {"model", "pool", "route", "replica", "evaluator"} & set(found):
                connection.execute(f"UPDATE stored.{relation} SET {column} = ? || {column}", [hostile])
    file = tmp_path / "report.html"
    write_page(config, lake, file)
    assert hostile not in file.read_text()
    reader = Reader(chromium, offline=True)
    reader.open(file.as_uri())
    assert reader.tab.title() == "Goodput"
    assert hostile in reader.tab.inner_text("#replica_hits-answer")
    assert reader.complaints == []
    reader.tab.context.close()


def test_without_a_price_or_a_label_a_page_says_what_is_missing(
    chromium: "playwright.Browser", config: Path, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    shutil.copytree(config.parent / "lake", lake)
    with duckdb.connect(lake / "goodput.duckdb") as connection:
        connection.execute(
            "UPDATE stored.goodput SET cost_usd = NULL, cost_per_accepted_usd = NULL, wasted_ratio = NULL"
        )
        for relation in ("waste", "quality", "disruptions", "frontier", "cache_by_replica", "cache_effect"):
            connection.execute(f"DELETE FROM stored.{relation}")
    file = tmp_path / "report.html"
    write_page(config, lake, file)
    reader = Reader(chromium, offline=True)
    reader.open(file.as_uri())
    for chart in all_charts():
        if chart.name in MISSING:
            assert reader.text(f"#{chart.name}-answer") == chart.empty.replace("`", "")
            assert reader.tab.locator(f"#{chart.name} .picture svg").count() == 0
    for name in ("slice_totals", "replica_hits"):  # rows there are, and none of them has what would be drawn
        assert reader.tab.locator(f"#{name} .picture:not([hidden])").count() == 0
    assert "cost is not known" in reader.text("#tiles")
    assert reader.complaints == []
    reader.tab.context.close()


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_stands_in_the_way_of_a_screen_reader(
    chromium: "playwright.Browser", page_file: Path, scheme: str
) -> None:
    reader = Reader(chromium, offline=True, color_scheme=scheme)
    reader.open(page_file.as_uri())
    assert reader.violations() == []
    reader.tab.context.close()


def test_it_prints_all_charts_on_paper(reader: Reader) -> None:
    paper = reader.tab.pdf(format="A4")
    assert paper.startswith(b"%PDF")
    assert len(paper) > 50_000


def test_the_page_asks_no_address_and_needs_no_eval(page_file: Path) -> None:
    text = page_file.read_text()
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)[1]
    assert "default-src &#39;none&#39;" in policy
    assert "unsafe" not in policy
    assert not re.search(r'(src|href)="(?!#)', text)
