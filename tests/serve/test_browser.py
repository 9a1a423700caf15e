"""The live pages in a real browser: a window leads to its requests, an alarm to its evidence, and a run is followed."""

import os
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from browser import Reader, launched, needs_axe, needs_chromium, playwright
from goodput.serve import pages, report_page
from serve.conftest import HOSTILE
from serve.served import Served, serving

pytestmark = needs_chromium
TOKEN = "0123456789abcdef"


@pytest.fixture(scope="module")
def chromium() -> Iterator["playwright.Browser"]:
    with launched() as browser:
        yield browser


@pytest.fixture
def reader(chromium: "playwright.Browser", served: Served) -> Iterator[Reader]:
    found = Reader(chromium, viewport={"width": 1440, "height": 900})
    found.open(served.url)
    yield found
    found.tab.context.close()
    assert found.complaints == []


def follow(reader: Reader, link: "playwright.Locator") -> None:
    with reader.tab.expect_navigation():
        link.click()


def test_from_a_window_to_its_requests_to_what_explains_one(reader: Reader) -> None:
    reader.tab.select_option("#workload", "chat")
    reader.tab.wait_for_function("location.hash.includes('workload=chat')")
    reader.tab.click("#accepted_over_time summary")
    row = reader.tab.locator("#accepted_over_time tbody tr").nth(3)
    offered = row.locator("td").nth(1).inner_text()
    assert int(offered.replace(",", "")) > 0
    follow(reader, row.locator("a"))
    assert "workload=chat" in reader.tab.url
    assert reader.text("#shown").startswith(f"{offered} request")
    key = reader.tab.locator("tbody a").first.inner_text()
    follow(reader, reader.tab.locator("tbody a").first)
    assert key in reader.text("dl")
    assert "Gates, in the order in which verdicts are decided" in reader.text("main")
    reader.tab.go_back()
    reader.tab.go_back()
    reader.tab.wait_for_function("document.body.dataset.shown")
    assert reader.text("#shown").startswith("workload chat")


def test_a_point_of_a_line_leads_to_its_window(reader: Reader) -> None:
    points = reader.tab.locator("#accepted_over_time .mark-symbol path")
    name = points.nth(2).get_attribute("aria-label") or ""
    with reader.tab.expect_navigation():
        points.nth(2).click(force=True)
    assert "/requests?from=" in reader.tab.url
    assert not reader.text("#shown").startswith("0 "), name


@pytest.mark.parametrize(("chart", "parameter"), [("verdict_totals", "verdict"), ("gate_totals", "gate")])
def test_a_verdict_or_a_gate_leads_to_as_many_requests(reader: Reader, chart: str, parameter: str) -> None:
    reader.tab.click(f"#{chart} summary")
    row = reader.tab.locator(f"#{chart} tbody tr").first
    name = row.locator("a").inner_text()
    numbers = row.locator("td").all_inner_texts()[1:]
    follow(reader, row.locator("a"))
    assert f"{parameter}={name}" in reader.tab.url
    assert reader.text("#shown").split()[0] in numbers


def test_a_bar_leads_to_its_verdict(reader: Reader) -> None:
    bars = reader.tab.locator("#verdict_totals .mark-rect path")
    with reader.tab.expect_navigation():
        bars.first.click(force=True)
    assert "verdict=accepted" in reader.tab.url


def test_from_an_alarm_to_its_evidence_to_its_requests(reader: Reader) -> None:
    reader.tab.click("#alarm_spans summary")
    rows = reader.tab.locator("#alarm_spans tbody tr")
    assert rows.count() == 2
    follow(reader, rows.filter(has_text="of chat").locator("a"))
    assert reader.tab.url.endswith("/alarms/a1b2c3d4e5f6")
    assert "slope_ratio_per_h" in reader.text("main")
    assert reader.tab.evaluate("document.querySelector('img').naturalWidth") == pytest.approx(1200, abs=10)
    follow(reader, reader.tab.get_by_text("Requests from an hour before"))
    assert "pool=chat" in reader.tab.url
    assert not reader.text("#shown").startswith("0 ")


def test_the_form_of_requests_asks_by_the_address(reader: Reader, served: Served) -> None:
    reader.tab.goto(f"{served.url}/requests")
    reader.tab.select_option("select[name=verdict]", "slow")
    reader.tab.fill("input[name=workload]", "rag")
    follow(reader, reader.tab.locator("#filters button"))
    assert "verdict=slow" in reader.tab.url
    verdicts = reader.tab.locator("tbody td:nth-child(3)").all_inner_texts()
    assert set(verdicts) == {"slow"}
    assert reader.tab.input_value("input[name=workload]") == "rag"


def test_a_run_that_publishes_is_followed(
    chromium: "playwright.Browser", copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once, with what was chosen; where the reader has opened something it is offered."""
    monkeypatch.setattr(report_page, "ASK_EVERY_S", 0.2)
    with serving(copy) as served:
        reader = Reader(chromium)
        reader.open(served.url, period="latest", workload="chat")
        tiles, newer = reader.tab.locator("#tiles"), reader.tab.locator("#newer")
        publish(copy, "offered = 12345")
        playwright.expect(tiles).to_contain_text("of 12,345 requests", timeout=30_000)
        assert reader.text("#shown").startswith("workload chat")
        reader.tab.click("#accepted_over_time summary")
        publish(copy, "offered = 54321")
        playwright.expect(newer).to_be_visible(timeout=30_000)
        assert "of 12,345 requests" in reader.text("#tiles")
        reader.tab.click("#renew")
        playwright.expect(tiles).to_contain_text("of 54,321 requests", timeout=30_000)
        assert reader.complaints == []
        reader.tab.context.close()


@pytest.mark.parametrize("path", ["/requests", "/alarms", "/alarms/a1b2c3d4e5f6"])
def test_pages_beside_the_report_say_that_a_run_has_published(
    chromium: "playwright.Browser", copy: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr(pages, "ASK_EVERY_S", 0.2)
    with serving(copy) as served:
        reader = Reader(chromium)
        reader.tab.goto(f"{served.url}{path}")
        newer = reader.tab.locator("#newer")
        reader.tab.wait_for_timeout(1000)
        playwright.expect(newer).to_be_hidden()
        publish(copy, "offered = 12345")
        playwright.expect(newer).to_be_visible(timeout=30_000)
        follow(reader, reader.tab.locator("#renew"))
        playwright.expect(newer).to_be_hidden()
        assert reader.complaints == []
        reader.tab.context.close()


def publish(lake: Path, change: str) -> None:
    """What a run does: another file, renamed over."""
    following = lake / "next.duckdb"
    following.write_bytes((lake / "goodput.duckdb").read_bytes())
    with duckdb.connect(following) as connection:
        connection.execute(f"UPDATE stored.goodput SET {change}")
    os.replace(following, lake / "goodput.duckdb")


def test_hostile_names_are_only_text(reader: Reader, served: Served) -> None:
    for path in ("/alarms", "/alarms/ffffffffffff"):
        reader.tab.goto(f"{served.url}{path}")
        assert HOSTILE in reader.text("main")
        assert "owned" not in reader.tab.title()
    reader.open(served.url)
    reader.tab.click("#alarm_spans summary")
    assert HOSTILE in reader.text("#alarm_spans .numbers")


def test_the_token_is_asked_for_as_a_password(chromium: "playwright.Browser", lake: Path) -> None:
    with serving(lake, TOKEN) as served:
        reader = Reader(chromium, http_credentials={"username": "", "password": TOKEN})
        reader.open(served.url)
        assert reader.complaints == []
        reader.tab.context.close()
        stranger = Reader(chromium, http_credentials={"username": "", "password": "guess"})
        assert stranger.tab.goto(served.url).status == 401
        stranger.tab.context.close()


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("path", ["/requests", "/alarms", "/alarms/a1b2c3d4e5f6", "/requests/nothing", "one"])
def test_pages_fit_the_screen(reader: Reader, served: Served, path: str, width: int) -> None:
    reader.tab.set_viewport_size({"width": width, "height": 900})
    _open(reader, served, path)
    assert reader.tab.evaluate("document.documentElement.scrollWidth") <= width
    reader.complaints.clear()  # a browser says of each 404 that it is one


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/", "/requests", "/alarms", "/alarms/a1b2c3d4e5f6", "/requests/nothing", "one"])
def test_nothing_stands_in_the_way_of_a_screen_reader(
    chromium: "playwright.Browser", served: Served, path: str, scheme: str
) -> None:
    reader = Reader(chromium, color_scheme=scheme)
    _open(reader, served, path)
    assert reader.violations() == []
    reader.tab.context.close()


def _open(reader: Reader, served: Served, path: str) -> None:
    """A page by its path; the latest request for `one`."""
    if path == "/":
        reader.open(served.url)
        return
    reader.tab.goto(f"{served.url}{'/requests' if path == 'one' else path}")
    if path == "one":
        follow(reader, reader.tab.locator("tbody a").first)
