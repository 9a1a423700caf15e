"""Requests behind a window: as many of each verdict as the window counts, each once over the pages."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import duckdb
import pytest

from goodput.errors import UsageError
from goodput.serve.answers import PAGE_ROWS, Requests, requests
from goodput.serve.generations import Generations
from goodput.serve.request_filter import VERDICTS, RequestFilter, asked_for, request_link
from goodput.settings.gates import GATES

NAMES = ("workload", "model", "pool", "route")


def answer(lake: Path, asked: RequestFilter) -> Requests:
    return Generations(lake).ask(lambda connection, _: requests(connection, asked))


def published_rows(lake: Path, sql: str) -> list[dict[str, Any]]:
    with duckdb.connect(lake / "goodput.duckdb", read_only=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        found = connection.execute(sql)
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def asked_of(window: dict[str, Any], **more: str) -> RequestFilter:
    start = window["window_start"]
    chosen = {name: window[name] for name in NAMES if window[name] is not None}
    value = window.get("slice_value")
    cut = {window["slice"].removeprefix("workload_"): value} if value is not None else {}
    return RequestFilter(start, start + timedelta(seconds=window["window_s"]), chosen | cut | more)


def test_a_window_leads_to_as_many_requests_of_each_verdict_as_it_counts(lake: Path) -> None:
    windows = published_rows(lake, "SELECT * FROM goodput WHERE window_s >= 3600 AND slice <> 'finest'")
    windows += published_rows(lake, "SELECT * FROM goodput WHERE window_s = 300 AND slice = 'workload_route' LIMIT 6")
    assert {window["slice"] for window in windows} >= {
        "overall",
        "workload",
        "pool",
        "model",
        "workload_route",
        "tenant",
        "workload_tenant",
    }
    generations = Generations(lake)
    for window in windows:
        asked = asked_of(window)
        found = generations.ask(lambda connection, _, asked=asked: requests(connection, asked))
        counted = {row["verdict"]: row["requests"] for row in found.verdicts}
        assert counted == {name: window[name] for name in VERDICTS if window[name]}, window
        assert sum(counted.values()) == window["offered"]
        assert len(found.found) == min(window["offered"], PAGE_ROWS)


def test_a_gate_leads_to_as_many_requests_as_failed_it(lake: Path) -> None:
    failures = published_rows(lake, "FROM gate_failures WHERE window_s = 86400 AND slice IN ('overall', 'workload')")
    assert {row["gate"] for row in failures if row["failing"]} >= {"success", "ttft", "tpot", "quality"}
    for row in failures:
        found = answer(lake, asked_of(row, gate=row["gate"]))
        assert sum(one["requests"] for one in found.verdicts) == row["failing"], row


@pytest.mark.parametrize("gate", GATES)
def test_every_gate_can_be_asked_for(gate: str, copy: Path) -> None:
    """On a request that fails this gate alone, and one that fails no gate."""
    gates = ", ".join(f"n <> 1 AS pass_{name}" if name == gate else f"true AS pass_{name}" for name in GATES)
    with duckdb.connect(copy / "goodput.duckdb") as connection:
        connection.execute("CREATE TABLE stored.two AS SELECT *, row_number() OVER () AS n FROM requests LIMIT 2")
        connection.execute("DROP VIEW main.requests")
        connection.execute(f"CREATE VIEW main.requests AS SELECT * REPLACE ({gates}) FROM stored.two")
    found = answer(copy, asked_for({"gate": gate, "from": "2026-11-20", "until": "2026-11-21"}, _never))
    assert [row["requests"] for row in found.verdicts] == [1]


def _never() -> tuple[datetime, datetime]:
    raise AssertionError("both ends are given")


def test_a_tenant_leads_to_its_requests(lake: Path) -> None:
    day = {"from": "2026-11-20", "until": "2026-11-21"}
    counts = published_rows(lake, "SELECT tenant, count(*) AS many FROM requests GROUP BY ALL")
    assert len(counts) > 2
    for row in counts:
        found = answer(lake, asked_for({**day, "tenant": row["tenant"] or "unknown"}, _never))
        assert sum(one["requests"] for one in found.verdicts) == row["many"]


@pytest.mark.parametrize(("value", "many"), [("blue", 2), ("unknown", 1), ("it's", 1), ("green", 0)])
def test_an_attribute_leads_to_its_requests(value: str, many: int, copy: Path) -> None:
    with duckdb.connect(copy / "goodput.duckdb") as connection:
        connection.execute("CREATE TABLE stored.four AS SELECT *, row_number() OVER () AS n FROM requests LIMIT 4")
        connection.execute("DROP VIEW main.requests")
        teams = "CASE n WHEN 1 THEN 'blue' WHEN 2 THEN 'blue' WHEN 3 THEN 'it''s' END"
        attributes = f"CASE WHEN n = 4 THEN NULL ELSE json_object('my team', {teams}, 'x.y', 1)::VARCHAR END"
        connection.execute(
            f"CREATE VIEW main.requests AS SELECT * REPLACE ({attributes} AS attributes) FROM stored.four"
        )
    given = {"from": "2026-11-20", "until": "2026-11-21", "attributes.my team": value}
    found = answer(copy, asked_for(given, _never))
    assert sum(one["requests"] for one in found.verdicts) == many


def test_pages_have_every_request_once_the_latest_first(lake: Path) -> None:
    asked = asked_for({"from": "2026-11-20", "until": "2026-11-21", "workload": "rag"}, _never)
    seen: list[tuple[datetime, str]] = []
    while True:
        page = answer(lake, asked)
        seen += [(row["ended_at"], row["delivering_attempt_id"]) for row in page.found]
        if page.next_page is None:
            break
        assert len(page.found) == PAGE_ROWS
        # the address of the next page, read back as a browser sends it
        link = RequestFilter(asked.from_at, asked.until_at, asked.chosen, page.next_page).link()
        asked = asked_for(_parameters(link), _never)
    ((many,),) = [row.values() for row in published_rows(lake, "SELECT count(*) FROM requests WHERE workload = 'rag'")]
    assert many > PAGE_ROWS
    assert len(seen) == len(set(seen)) == many
    assert seen == sorted(seen, reverse=True)


def _parameters(link: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(link).query))


def test_hours_are_those_in_which_requests_may_have_ended() -> None:
    asked = asked_for({"from": "2026-11-20T09:30", "until": "2026-11-20T11:00"}, _never)
    assert asked.hours() == ["2026-11-20T09", "2026-11-20T10"]
    asked = asked_for({"from": "2026-11-20T23:59:59", "until": "2026-11-21T00:00:01+00:00"}, _never)
    assert asked.hours() == ["2026-11-20T23", "2026-11-21T00"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"from": "x"}, "no time"),
        ({"from": "2026-11-21"}, "until"),
        ({"from": "1926-11-20"}, "400 days"),
        ({"gate": "ttft'; DROP TABLE goodput; --"}, "there are success"),
        ({"verdict": "good"}, "there are accepted"),
        ({"sort": "x"}, "no such choice"),
        ({"tenant": "a", "attributes.team": "b"}, "one tenant or attribute"),
        ({"after": "x y"}, "no time"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_what_can(given: dict[str, str], said: str) -> None:
    latest = datetime.fromisoformat("2026-11-20T00:00Z"), datetime.fromisoformat("2026-11-21T00:00Z")
    with pytest.raises(UsageError, match=said):
        asked_for(given, lambda: latest)


def test_a_key_that_a_browser_takes_for_a_folder_has_another_address() -> None:
    assert request_link({"request_key": "..", "delivering_attempt_id": "a"}) == "/requests/a"
    assert (
        request_link({"request_key": "a/../b?c#d%", "delivering_attempt_id": "a"}) == "/requests/a%2F..%2Fb%3Fc%23d%25"
    )
