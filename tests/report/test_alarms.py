"""Alarms in the page: what fired, and the series of the newest beside what was usual. Their rows are put in by hand."""

import shutil
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from browser import Reader, launched, needs_chromium
from goodput.ask.database import published
from goodput.contracts import arrow_schema
from goodput.plumbing.sql_files import compute, connect
from goodput.report.catalog import all_charts
from goodput.report.gather import Gathered, gather
from goodput.report.shown import periods, slices
from goodput.report.summary import markdown
from goodput.report.write import write_page
from notify.alarms import NOON, event, windows

CHARTS = all_charts()
HOUR = timedelta(hours=1)
HOSTILE = "</script><b>"


def put(database: Path, relation: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Make a table of a relation, which has these rows alone."""
    frame = pl.DataFrame(list(rows), infer_schema_length=None).to_arrow()
    with duckdb.connect(database) as connection:
        connection.execute("SET VARIABLE goodput_lake = $folder", {"folder": str(database.parent)})
        connection.execute(f"CREATE TABLE written AS FROM {relation} LIMIT 0")
        connection.register("rows", frame)
        connection.execute("INSERT INTO written BY NAME SELECT * FROM rows")
        for kind in ("VIEW", "TABLE"):
            of_kind = f"SELECT 1 FROM duckdb_{kind}s() WHERE {kind}_name = $1 AND schema_name = 'main'"
            if connection.execute(of_kind, [relation]).fetchall():
                connection.execute(f"DROP {kind} {relation}")
        connection.execute(f"ALTER TABLE written RENAME TO {relation}")


def fired(alarm_id: str, at: datetime, **columns: Any) -> dict[str, Any]:
    named = {"kind": "trend", "method": "m", "labels": "{}", "alarm_id": alarm_id, "starts_at": at, "occurred_at": at}
    return event(f"{alarm_id} {columns.get('transition')}", **{**named, "recorded_at": at, **columns})


@pytest.fixture(scope="module")
def alarmed(config: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five alarms with series of 168 hours, of which one still fires, a ticket, and one that was suppressed."""
    root = tmp_path_factory.mktemp("alarmed")
    shutil.copytree(config.parent / "lake", root / "lake")
    shutil.copy(config, root / "goodput.toml")
    database = root / "lake/goodput.duckdb"
    with duckdb.connect(database) as connection:
        ((begin, end),) = connection.execute("SELECT min(window_start), max(window_start) FROM goodput").fetchall()
    events, series = [], []
    for nth in range(5):
        at, over = begin - nth * HOUR, end + HOUR
        events.append(fired(f"over{nth}", at, pool="chat", rule=f"rule{nth}"))
        events.append(fired(f"over{nth}", at, pool="chat", rule=f"rule{nth}", transition="resolved", ends_at=over))
    events.append(fired("firing", begin, pool=HOSTILE, severity="ticket", rule="still"))
    events.append(fired("quiet", begin, pool="chat", rule="quiet", suppressed="inhibited"))
    for row in events:
        if row["transition"] == "firing":
            level = 1 + len(series) // 168  # each series has its own
            found = windows(row["alarm_id"], end, 168)
            series += [one | {"value": level * (2.0 if one["window_start"] >= begin else 1.0)} for one in found]
    for one in series:
        if one["alarm_id"] == "over0" and one["window_start"] < begin - 48 * HOUR:
            one |= {"value": None}
    put(database, "alarm_events", events)
    put(database, "alarm_series", series)
    return root / "goodput.toml"


@pytest.fixture(scope="module")
def gathered(alarmed: Path) -> Gathered:
    with published(alarmed, None) as connection:
        shown = periods(connection, None, None)
        return gather(connection, CHARTS, shown, *slices(connection, shown, {}))


def test_four_series_are_shown_and_what_still_fires_is_the_first(gathered: Gathered) -> None:
    rows = gathered.rows["alarm_windows"].filter(period=gathered.periods[0].period)
    order = rows.select("nth", "rule").unique().sort("nth")["rule"].to_list()
    assert order == ["still", "rule0", "rule1", "rule2"]


def test_a_series_begins_four_days_before_its_alarm_and_ends_with_the_period(gathered: Gathered) -> None:
    period = gathered.periods[0]
    rows = gathered.rows["alarm_windows"].filter(period=period.period, rule="rule0")
    at = rows["at"].to_list()
    fired_at = rows["fired_at"][0]
    assert min(at) >= fired_at - 4 * 24 * 3_600_000
    assert min(at) < fired_at - (4 * 24 - 1) * 3_600_000
    assert max(at) < period.until_at.timestamp() * 1000


def test_its_sentence_names_the_alarm_that_fires_and_its_last_value(gathered: Gathered) -> None:
    answer = gathered.answers["alarm_windows"][gathered.periods[0].period, 0]
    assert answer is not None
    assert f"still {HOSTILE} fired at " in answer
    assert answer.startswith("4 alarms shown.")
    last = gathered.rows["alarm_windows"].filter(rule="still").sort("at")["value"][-1]
    assert f"came to {last:.3g} by" in answer


@needs_chromium
def test_a_browser_draws_all_of_them(alarmed: Path, tmp_path: Path) -> None:
    write_page(alarmed, None, tmp_path / "report.html")
    with launched() as chromium:
        reader = Reader(chromium, offline=True, viewport={"width": 1000, "height": 900})
        reader.open((tmp_path / "report.html").as_uri())
        picture = reader.tab.locator("#alarm_windows .picture:not([hidden]) svg")
        assert picture.count() == 1
        text = picture.evaluate("one => one.textContent")
        assert all(rule in text for rule in ("still", "rule0", "rule1", "rule2"))
        assert HOSTILE in text
        assert reader.tab.locator("#alarm_windows svg .mark-rect path").count() == 4, "each with its own time only"
        assert reader.complaints == []


LATER = NOON + 9 * HOUR
FIRING = {"suppressed": "backfill", "recorded_at": LATER}


def spans(*events: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows of the chart of the day of NOON, given all that was recorded."""
    frame = pl.DataFrame(list(events), infer_schema_length=None)
    midnight = NOON.replace(hour=0)
    with connect() as connection:
        connection.register("alarm_events", frame.to_arrow().cast(_cast(frame)))
        shown = pl.DataFrame({"period": ["day"], "from_at": [midnight], "until_at": [midnight + 24 * HOUR]})
        connection.register("shown_periods", shown.to_arrow())
        for name in ("alarm_episodes", "alarm_spans"):
            compute(connection, name)
        return connection.sql("FROM alarm_spans").pl().to_dicts()


def _cast(frame: pl.DataFrame) -> pa.Schema:
    contract = arrow_schema("alarm_events")
    return pa.schema([contract.field(name) for name in frame.columns])


def over(at: datetime, ends_at: datetime, **columns: Any) -> dict[str, Any]:
    return fired("a", at, transition="resolved", ends_at=ends_at, **columns)


def test_what_a_backfill_found_is_shown_and_why_nobody_was_notified() -> None:
    (row,) = spans(fired("a", NOON, **FIRING), over(NOON, NOON + 2 * HOUR, **FIRING))
    assert (row["suppressed"], row["at"], row["until_at"], row["is_firing"]) == (
        "backfill",
        NOON,
        NOON + 2 * HOUR,
        False,
    )


def test_what_was_held_back_at_first_and_then_reported_is_reported() -> None:
    later = fired("a", NOON, occurred_at=NOON + 4 * HOUR, recorded_at=NOON + 4 * HOUR) | {"event_id": "later"}
    (row,) = spans(fired("a", NOON, suppressed="silenced"), later)
    assert (row["suppressed"], row["is_firing"]) == (None, True)


def test_what_was_held_back_twice_says_why_it_last_was() -> None:
    later = fired("a", NOON, occurred_at=NOON + 4 * HOUR, suppressed="inhibited") | {"event_id": "later"}
    (row,) = spans(later, fired("a", NOON, suppressed="silenced"))
    assert row["suppressed"] == "inhibited"


def test_what_late_data_corrected_has_not_fired() -> None:
    first = fired("a", NOON)
    no_longer = first | {"event_id": "c", "transition": "corrected", "reason": "firing", "corrects": first["event_id"]}
    assert spans(first, no_longer) == []


def test_an_end_that_late_data_corrected_is_none() -> None:
    first, end = fired("a", NOON), over(NOON, NOON + HOUR)
    no_end = end | {"event_id": "c", "transition": "corrected", "reason": "resolved", "corrects": end["event_id"]}
    (row,) = spans(first, end, no_end)
    assert (row["ended_at"], row["is_firing"]) == (None, True)


def span(**columns: Any) -> dict[str, Any]:
    return {"is_firing": True, "at": NOON.timestamp() * 1000, "summary": "s", "suppressed": None, **columns}


def test_the_sentence_counts_of_what_nobody_was_notified() -> None:
    answer = next(chart.answer for chart in CHARTS if chart.name == "alarm_spans")
    held = [span(suppressed=kind) for kind in ("inhibited", "backfill", "inhibited", "over_budget")]
    assert answer([span()]) == "1 alarm firing now, the oldest since 21 Nov 12:00 UTC: s"
    assert answer([*held, span()]) == (
        "5 alarms firing now (nobody was notified of 4 of them: 1 backfill, 2 inhibited, 1 over budget), "
        "the oldest since 21 Nov 12:00 UTC: s"
    )
    over = [span(is_firing=False, suppressed="backfill")]
    assert answer(over) == (
        "1 alarm fired, none does now (nobody was notified of it: 1 backfill). Last at 21 Nov 12:00 UTC: s"
    )
    assert "nobody was notified of any of them: 1 backfill, 2 inhibited" in answer(held)


def test_a_page_shows_what_was_held_back(gathered: Gathered) -> None:
    rows = gathered.rows["alarm_spans"].filter(period=gathered.periods[0].period)
    assert dict(rows.select("rule", "suppressed").iter_rows())["quiet"] == "inhibited"
    assert rows.height == 7
    answer = gathered.answers["alarm_spans"][gathered.periods[0].period, 0]
    assert answer is not None
    assert answer.startswith("2 alarms firing now (nobody was notified of 1 of them: 1 inhibited), the oldest since ")


def test_nothing_fired_is_not_said_where_nothing_is_watched(config: Path, tmp_path: Path) -> None:
    shutil.copytree(config.parent / "lake", tmp_path / "lake")
    shutil.copy(config, tmp_path / "goodput.toml")
    database = tmp_path / "lake/goodput.duckdb"
    put(database, "alarms", [{"alarm_id": "a", "rule": "r", "kind": "bound", "severity": "page", "state": "inactive"}])
    assert emptiness(tmp_path / "goodput.toml").startswith("Nothing fired in this period, which does not say")
    with duckdb.connect(database) as connection:
        connection.execute("DELETE FROM alarms")
    assert emptiness(tmp_path / "goodput.toml").startswith("Nothing is watched yet: ")


def emptiness(settings: Path) -> str:
    """What the page and the summary say where no alarm fired."""
    with published(settings, None) as connection:
        shown = periods(connection, None, None)
        found = gather(connection, CHARTS, shown, *slices(connection, shown, {}))
    assert f"**What is alarming, since when?** {found.empties['alarm_spans'][:20]}" in markdown(found, CHARTS)
    return found.empties["alarm_spans"]
