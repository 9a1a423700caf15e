"""Which periods and slices a report shows: only what is published, and nothing that its windows do not fill."""

from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import pytest

from goodput.errors import NothingToReport, SliceNotPublished
from goodput.report import write
from goodput.report.shown import periods, slices

DAY = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.fixture
def connection() -> duckdb.DuckDBPyConnection:
    """Ten days of windows of 300 s, an hour and a day; two workloads, one of them in two pools."""
    found = duckdb.connect()
    found.execute("SET TimeZone = 'UTC'")
    found.execute(
        """
        CREATE TABLE goodput AS
        SELECT t AS window_start, window_s, s.*, 10 AS offered, 1.0 AS cost_usd
        FROM (VALUES (300), (3600), (86400)) AS w(window_s),
            LATERAL (SELECT unnest(generate_series(
                TIMESTAMPTZ '2026-11-01', TIMESTAMPTZ '2026-11-10 23:59', to_seconds(window_s))) AS t),
            (VALUES
                ('overall', NULL, NULL, NULL, NULL, NULL),
                ('workload', NULL, 'chat', NULL, NULL, NULL),
                ('workload', NULL, 'rag', NULL, NULL, NULL),
                ('workload_pool', NULL, 'chat', NULL, 'a', NULL),
                ('workload_pool', NULL, 'chat', NULL, 'b', NULL),
                ('tenant', 'acme', NULL, NULL, NULL, NULL),
                ('workload_tenant', 'acme', 'chat', NULL, NULL, NULL),
                ('workload_attributes.team', 'x', 'rag', NULL, NULL, NULL),
                ('finest', NULL, 'chat', 'm', 'a', 'r')
            ) AS s(slice, slice_value, workload, model, pool, route)
        """
    )
    found.execute("CREATE TABLE latest_window AS SELECT TIMESTAMPTZ '2026-11-10' AS window_start, 86400 AS window_s")
    found.execute("CREATE TABLE pruned (relation VARCHAR, holds VARCHAR, kept_from TIMESTAMPTZ)")
    return found


def test_a_period_of_pruned_windows(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute(
        "INSERT INTO pruned VALUES ('goodput', 'windows', '2026-11-01'), ('requests', 'rows', '2026-11-05')"
    )
    with pytest.raises(NothingToReport, match=r"Windows before 2026-11-01T00:00Z were pruned\."):
        periods(connection, None, datetime(2026, 10, 1, tzinfo=UTC))


def test_without_bounds_the_latest_day_a_week_and_all(connection: duckdb.DuckDBPyConnection) -> None:
    found = {one.period: one for one in periods(connection, None, None)}
    ends = {name: (one.from_at, one.until_at, one.whole_s, one.drawn_s) for name, one in found.items()}
    last = DAY + timedelta(days=10)
    assert ends == {
        "latest": (DAY + timedelta(days=9), last, 86400, 300),
        "week": (DAY + timedelta(days=3), last, 86400, 3600),
        "all": (DAY, last, 86400, 3600),
    }


@pytest.mark.parametrize(("form", "gathers"), [("md", ["latest"]), ("html", ["latest", "week", "all"])])
def test_a_summary_is_of_one_period_and_so_is_what_it_says_of_telemetry(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, form: str, gathers: list[str]
) -> None:
    class Gathers(Exception):
        pass

    def gather(*asked: Any) -> None:
        raise Gathers([one.period for one in asked[2]])

    monkeypatch.setattr(write, "gather", gather)
    with pytest.raises(Gathers) as found:
        write.write_report(connection, (None, None), {}, form, DAY)
    assert found.value.args[0] == gathers


def test_windows_ahead_of_the_headline_are_not_the_latest(connection: duckdb.DuckDBPyConnection) -> None:
    """A clock that is ahead makes windows of next year: they are shown to whoever asks for their time."""
    before = periods(connection, None, None)
    ahead = DAY + timedelta(days=400)
    connection.execute(
        "INSERT INTO goodput BY NAME "
        "SELECT $at AS window_start, unnest([300, 3600, 86400]) AS window_s, 'overall' AS slice",
        {"at": ahead},
    )
    assert periods(connection, None, None) == before
    assert periods(connection, DAY + timedelta(days=2), None)[0].until_at == DAY + timedelta(days=10)
    (asked,) = periods(connection, ahead, None)
    assert (asked.from_at, asked.until_at) == (ahead, ahead + timedelta(days=1))
    connection.execute("DELETE FROM latest_window")
    assert {one.until_at for one in periods(connection, None, None)} == {ahead + timedelta(days=1)}


def test_a_day_of_few_windows_is_drawn_in_short_ones(connection: duckdb.DuckDBPyConnection) -> None:
    """Of a day with an hour of telemetry a line has room for each minute, of a whole day it has not."""
    minutes = (
        "INSERT INTO goodput BY NAME SELECT 60 AS window_s, 'overall' AS slice, "
        "unnest(generate_series({0}, {1}, INTERVAL 1 MINUTE)) AS window_start"
    )
    connection.execute(minutes.format("TIMESTAMPTZ '2026-11-10 09:00'", "TIMESTAMPTZ '2026-11-10 09:59'"))
    assert {one.period: one.drawn_s for one in periods(connection, None, None)}["latest"] == 60
    connection.execute(minutes.format("TIMESTAMPTZ '2026-11-10 10:00'", "TIMESTAMPTZ '2026-11-10 18:00'"))
    assert {one.period: one.drawn_s for one in periods(connection, None, None)}["latest"] == 300


def test_bounds_within_a_day_are_filled_by_hours(connection: duckdb.DuckDBPyConnection) -> None:
    since, until = DAY + timedelta(hours=30), DAY + timedelta(hours=40)
    (found,) = periods(connection, since, until)
    assert (found.from_at, found.until_at, found.whole_s, found.drawn_s) == (since, until, 3600, 300)


def test_bounds_that_no_hour_fills_are_filled_by_the_shortest(connection: duckdb.DuckDBPyConnection) -> None:
    since = DAY + timedelta(minutes=10)
    (found,) = periods(connection, since, DAY + timedelta(hours=2))
    assert (found.from_at, found.whole_s) == (since, 300)


def test_a_period_before_all_telemetry(connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(NothingToReport, match="no window is published to 2026-10-01T00:00Z"):
        periods(connection, None, datetime(2026, 10, 1, tzinfo=UTC))


def test_the_slice_that_is_asked_for_comes_first_and_others_only_within_it(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    shown = periods(connection, None, None)
    found, left_out = slices(connection, shown, {})
    assert found[0].slice == "overall"
    assert (len(found), left_out) == (8, 0)  # every slice but the finest
    found, _ = slices(connection, shown, {"workload": "chat"})
    assert [one.named() for one in found] == [
        {"workload": "chat"},
        {"workload": "chat", "pool": "a"},
        {"workload": "chat", "pool": "b"},
        {"workload": "chat", "tenant": "acme"},
    ]
    found, _ = slices(connection, shown, {"tenant": "acme"})
    assert [one.named() for one in found] == [{"tenant": "acme"}, {"workload": "chat", "tenant": "acme"}]
    ((one,), _) = slices(connection, shown, {"workload": "chat", "tenant": "acme"})
    assert (one.slice, one.slice_value) == ("workload_tenant", "acme")
    found, _ = slices(connection, shown, {"workload": "rag"})
    assert [one.named() for one in found] == [{"workload": "rag"}, {"workload": "rag", "attributes.team": "x"}]


def pools_by_slice(connection: duckdb.DuckDBPyConnection) -> dict[str, tuple[str, ...] | None]:
    found, _ = slices(connection, periods(connection, None, None), {})
    return {" ".join(one.named().values()): one.pools for one in found}


def test_a_slice_knows_which_pools_serve_it(connection: duckdb.DuckDBPyConnection) -> None:
    assert pools_by_slice(connection)["chat"] is None  # the fleet has no other pool
    connection.execute(
        "INSERT INTO goodput SELECT * REPLACE ('rag' AS workload, 'c' AS pool) FROM goodput WHERE slice = 'finest'"
    )
    known = pools_by_slice(connection)
    assert (known["chat"], known["rag"]) == (("a",), ("c",))
    # all requests have all pools; a pool has itself; of a tenant it is not known
    assert (known[""], known["chat a"], known["acme"]) == (None, None, None)
    connection.execute(
        "INSERT INTO goodput SELECT * REPLACE (NULL AS pool) FROM goodput WHERE slice = 'finest' AND workload = 'rag'"
    )
    assert pools_by_slice(connection)["rag"] is None  # some of its requests may be anywhere


@pytest.mark.parametrize("asked", [{"workload": "caht"}, {"pool": "a"}, {"workload": "rag", "route": "r"}])
def test_what_is_not_published_is_refused(connection: duckdb.DuckDBPyConnection, asked: dict[str, str]) -> None:
    with pytest.raises(SliceNotPublished, match="no slice is published of"):
        slices(connection, periods(connection, None, None), asked)


def test_what_is_misspelt_is_refused_with_what_there_is(connection: duckdb.DuckDBPyConnection) -> None:
    shown = periods(connection, None, None)
    with pytest.raises(SliceNotPublished, match=r"of workload 'caht'\.\nWorkloads: 'chat', 'rag'\.\nPublished are"):
        slices(connection, shown, {"workload": "caht"})
    named = "SELECT g.* REPLACE ('w' || n AS workload) FROM goodput AS g, range(9) AS r(n) WHERE slice = 'workload'"
    connection.execute(f"INSERT INTO goodput {named}")
    with pytest.raises(SliceNotPublished, match=r" and 3 more\.\nPublished are"):
        slices(connection, shown, {"workload": "caht"})
