"""Questions about rows that tie are answered alike in whatever order the rows are stored.

Each is asked with its rows in every order, and what must come of it is told by hand.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import permutations, product
from typing import Any

import polars as pl
import pyarrow as pa

from goodput.contracts import arrow_schema
from goodput.join.doubles import doubles
from goodput.plumbing.sql_files import connect, sql_file
from notify.alarms import NOON, event
from river import Row, at_ns, judged, session_hours

Rows = Sequence[Mapping[str, Any]]
NINE = datetime(2026, 11, 20, 9, tzinfo=UTC)
HOUR = timedelta(hours=1)


def orders(tables: Mapping[str, Rows]) -> Iterator[dict[str, Rows]]:
    """These tables with the rows of each in every order."""
    for chosen in product(*(permutations(rows) for rows in tables.values())):
        yield dict(zip(tables, chosen, strict=True))


def answer(name: str, columns: str, tables: Mapping[str, Rows], **given: str) -> list[tuple[Any, ...]]:
    """Columns of a relation over rows of these tables, whatever their order; `given`: parameters as SQL."""
    found: set[tuple[tuple[Any, ...], ...]] = set()
    asked = f"SELECT {columns} FROM ({sql_file(name).text}\n)"
    for ordered in orders(tables):
        with connect() as connection:
            for table, rows in ordered.items():
                shape = arrow_schema(table)
                every = [{**dict.fromkeys(shape.names), **row} for row in rows]
                connection.register(table, pa.Table.from_pylist(every, schema=shape))
            for table, sql in given.items():
                connection.execute(f"CREATE TEMP VIEW {table} AS {sql}")
            found.add(tuple(connection.sql(asked).fetchall()))
    (one,) = found
    return list(one)


def test_a_session_of_requests_that_ended_at_once_is_where_the_same_one_of_them_was() -> None:
    # keys of which hash() ends alike
    requests = [
        judged(key, "accepted", session_id="s", model=key, pool=key, route=key, tenant=key)
        for key in ("r318", "r646", "r1166", "r1722")
    ]
    found = {
        tuple(session_hours(list(rows)).select(["model", "pool", "route", "tenant"]).to_pylist()[0].values())
        for rows in permutations(requests)
    }
    (last,) = found
    assert len(set(last)) == 1


def test_a_corrected_record_was_seen_when_its_newest_copy_began() -> None:
    copies: list[Row] = [
        {"record_id": "r", "source_id": source, "started_ns": at_ns(started), "outcome": "ok"}
        for source, started in (("s1", 0), ("s2", 60), ("s3", 120))
    ]
    sources: list[Row] = [
        {"source_id": source, "path": f"{source}.csv", "ingested_ns": ingested}
        for source, ingested in (("s1", 1), ("s2", 3), ("s3", 2))
    ]
    tables = {"serving_records": copies, "source_ledger": sources}
    found = answer("record_corrected", "subject, first_seen_at, last_seen_at", tables)
    assert found == [("s2.csv", NINE + timedelta(minutes=1), NINE + timedelta(minutes=1))]


def test_files_of_one_name_below_two_landing_paths_are_each_measured_by_their_own_rows() -> None:
    files: list[Row] = [
        {"source_id": "s1", "landing": "eu", "path": "calls.csv", "reader": "calls", "rows_read": 10, "ingested_ns": 1},
        {
            "source_id": "s2",
            "landing": "us",
            "path": "calls.csv",
            "reader": "calls",
            "rows_read": 990,
            "ingested_ns": 1,
        },
    ]
    bad: list[Row] = [
        {"source_id": source, "line": 1, "position": 0, "table_name": "serving_records", "reason": f"why of {source}"}
        for source in ("s1", "s2")
    ]
    tables = {"source_ledger": files, "quarantine": bad}
    # one row of ten is a tenth, one of 990 less than a hundredth
    ((affected, total, message),) = answer("record_quarantined", "affected, total, message", tables)
    assert (affected, total, "(why of s1)" in message, "of 1 file(s)" in message) == (1, 10, True, True)


def test_of_unread_lines_of_costs_in_files_of_one_name_the_first_by_source_says_why() -> None:
    files: list[Row] = [
        {"source_id": source, "landing": landing, "path": "bill.csv", "ingested_ns": 1}
        for source, landing in (("s1", "us"), ("s2", "eu"))
    ]
    bad: list[Row] = [
        {"source_id": source, "line": 7, "position": 0, "table_name": "cost_lines", "reason": f"why of {source}"}
        for source in ("s1", "s2")
    ]
    tables = {"source_ledger": files, "quarantine": bad, "cost_line_rows": []}
    ((affected, message),) = answer("cost_line_quarantined", "affected, message", tables)
    assert (affected, "such as line 7 (why of s1)" in message) == (2, True)


def test_of_repeated_costs_that_begin_at_once_the_first_to_end_is_named() -> None:
    costs: list[Row] = [
        {
            "cost_id": "0" * 32,
            "basis": "allocation",
            "resource_id": resource,
            "source": source,
            "amount_usd": 1.0,
            "period_start": NINE,
            "period_end": NINE + hours * HOUR,
        }
        for resource, hours in (("a", 2), ("b", 1))
        for source in ("s1", "s2")
    ]
    files: list[Row] = [{"source_id": source, "path": f"{source}.csv"} for source in ("s1", "s2")]
    ((message,),) = answer("cost_repeated", "message", {"cost_records": costs, "source_ledger": files})
    assert "such as of a from 2026-11-20 09:00 to 2026-11-20 10:00" in message


def test_of_labels_as_uneven_over_tenants_as_over_lengths_the_lengths_are_named() -> None:
    uneven: Row = {
        "window_start": NINE,
        "window_s": 3600,
        "workload": "qa",
        "need_label": 400,
        "labelled": 200,
        "draws": 400.0,
        "label_draws": 200.0,
        "df": 1,
        "chi_square": 100.0,
        "chi_square_variance": 2.0,
        "cell_tenant": "acme",
        "cell_from_tokens": 8,
        "cell_start": NINE,
        "cell_need_label": 200,
        "cell_labelled": 150,
    }
    tables = {
        "label_rates": [{**uneven, "cut_by": cut} for cut in ("tenant", "length")],
        "latest_window": [{"window_start": NINE, "window_s": 3600}],
    }
    ((message,),) = answer("label_uneven", "message", tables)
    assert "of answers of 8 to 15 tokens" in message


def test_where_two_deployments_at_once_name_a_replica_in_two_pools_it_is_of_the_first_by_name() -> None:
    done: list[Row] = [
        {"event_id": "1", "occurred_at": NINE, "replica": "r", "pool": "b", "revision": "v1"},
        {"event_id": "2", "occurred_at": NINE, "replica": "r", "pool": "a", "revision": "v1"},
        {"event_id": "3", "occurred_at": NINE + HOUR, "pool": "a", "revision": "v2"},
    ]
    tables = {"ops_events": [{**event, "kind": "deployment"} for event in done], "requests": []}
    found = answer("deployed_revisions", "replica, until_at", tables)
    assert ("r", NINE + HOUR) in found


def test_an_alarm_that_fired_and_was_over_in_one_run_is_told_as_it_ended() -> None:
    told = {"recorded_at": NOON + 2 * HOUR, "kind": "trend", "labels": None}
    events = [
        event("2", **told, summary="fired", value=2.0),
        event("1", "resolved", after_h=1, **told, summary="is over", value=1.0),
    ]
    found = answer("alarm_episodes", "summary, value", {"alarm_events": events})
    assert found == [("is over", 1.0)]


def test_events_of_an_alarm_at_one_moment_are_listed_by_their_ids() -> None:
    told = [event(event_id, summary=event_id, recorded_at=NOON, kind="trend", labels=None) for event_id in "acb"]
    text = sql_file("latest_alarm_events").text.replace("$key", "'trend-ttft-chat'")
    listed = set()
    for rows in permutations(told):
        with connect() as connection:
            shape = arrow_schema("alarm_events")
            every = [{**dict.fromkeys(shape.names), **row} for row in rows]
            connection.register("alarm_events", pa.Table.from_pylist(every, schema=shape))
            listed.add(tuple(row[-1] for row in connection.sql(text).fetchall()))
    assert listed == {("a", "b", "c")}


def test_of_leaks_as_large_the_first_by_name_are_told() -> None:
    spent: list[Row] = [
        {
            "window_start": NINE,
            "window_s": 3600,
            "slice": "overall",
            "bucket": bucket,
            "usd": usd,
            "estimated": False,
            "unpriced": 0,
        }
        for bucket, usd in (("slow", 1.0), ("failed", 1.0), ("retry", 1.0), ("abandoned", 1.0), ("idle", 2.0))
    ]
    tables = {"waste": spent, "latest_window": [{"window_start": NINE, "window_s": 3600}]}
    assert answer("leaks", "leak", tables) == [("idle",), ("abandoned",), ("failed",)]


def test_a_replica_of_several_lakes_is_told_in_the_first_two_of_them() -> None:
    shape = "(VALUES {}) AS t(lake, replica, window_start)"
    seen = [("c", 1), ("b", 1), ("b", 2), ("a", 2)]
    found = set()
    for rows in permutations(seen):
        values = ", ".join(f"('{lake}', 'r', {window})" for lake, window in rows)
        with connect() as connection:
            connection.execute(f"CREATE TEMP TABLE replica_windows AS FROM {shape.format(values)}")
            found |= set(connection.sql(f"SELECT message FROM ({sql_file('shared_replicas').text}\n)").fetchall())
    ((message,),) = found
    assert "such as r in a and b" in message


def test_calls_that_begin_at_once_are_compared_with_the_same_one_of_another_emitter() -> None:
    def call(name: str, dialect: str, ended_s: float) -> Row:
        told = {"record_id": name, "dialect": dialect, "layer": "client", "ended_ns": at_ns(ended_s), "model": "m"}
        ids = dict.fromkeys(("scope", "trace_id", "span_id", "parent_span_id", "response_id", "call_id"))
        return {**ids, **told, "started_ns": at_ns(0), "output_tokens": 1, "covers_tries": None}

    shape = dict.fromkeys(("scope", "trace_id", "span_id", "parent_span_id", "response_id", "call_id"), pl.String)
    calls = [call("x", "a", 1), call("y", "b", 5), call("z", "b", 1), call("w", "b", 9)]
    found = {
        tuple(
            one.calls
            for one in doubles(pl.DataFrame(list(rows), schema_overrides={**shape, "covers_tries": pl.Boolean}))
        )
        for rows in permutations(calls)
    }
    assert found == {(1,)}
