"""What is read of the database for each page: requests, one, alarms, one. How it looks is `pages`' work."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import duckdb

from goodput.ask.alarm_evidence import AlarmEvidence, counted_alarms, drawn_series, evidence, listed_alarms
from goodput.ask.database import Row, rows
from goodput.ask.request_record import RequestRecord, read_request_record
from goodput.errors import NothingToReport, UnknownAlarm
from goodput.notify.chart import chart_of
from goodput.notify.plot import draw_one
from goodput.plumbing.parameters import as_rows, register
from goodput.plumbing.sql_files import HOURS_VARIABLE, MACROS, compute, sql_file
from goodput.serve.request_filter import RequestFilter

PAGE_ROWS = 100
ALARMS_SHOWN = 1000
_PERIOD = "SELECT window_start, window_s FROM latest_window"
_SESSIONS = "SELECT DISTINCT workload FROM workloads WHERE unit = 'session' ORDER BY workload"


@dataclass(frozen=True)
class Requests:
    """A page of requests, how many there are of each verdict, and the workloads whose windows count sessions."""

    found: Sequence[Row]
    verdicts: Sequence[Row]
    of_sessions: Sequence[str]
    next_page: tuple[datetime, str] | None


def latest_period(connection: duckdb.DuckDBPyConnection) -> tuple[datetime, datetime]:
    """The latest of the longest windows, a day as a rule. Raises NothingToReport."""
    found = rows(connection, _PERIOD)
    if not found:
        raise NothingToReport(None, None)
    start, length = found[0]["window_start"], timedelta(seconds=found[0]["window_s"])
    return start, start + length


def requests(connection: duckdb.DuckDBPyConnection, asked: RequestFilter) -> Requests:
    """The requests that are asked for, the latest first."""
    connection.execute(sql_file(MACROS).text)
    connection.execute(f"SET VARIABLE {HOURS_VARIABLE} = $hours", {"hours": asked.hours()})
    register(connection, "request_filter", as_rows("request_filter", asked.filter_row()))
    after_at, after_id = asked.after or (None, None)
    page = {"after_at": after_at, "after_id": after_id, "max_rows": PAGE_ROWS + 1}  # one more shows that there are more
    register(connection, "request_page", as_rows("request_page", page))
    compute(connection, "asked_requests")
    found = rows(connection, sql_file("asked_page").text)
    shown = found[:PAGE_ROWS]
    more = (shown[-1]["ended_at"], shown[-1]["delivering_attempt_id"]) if len(found) > len(shown) else None
    verdicts = rows(connection, sql_file("asked_verdicts").text)
    return Requests(shown, verdicts, [row["workload"] for row in rows(connection, _SESSIONS)], more)


def request(connection: duckdb.DuckDBPyConnection, key: str) -> RequestRecord:
    """All that was published about one request. Raises UnknownRequest and SeveralRequests."""
    return read_request_record(connection, key)


def alarms(connection: duckdb.DuckDBPyConnection, *, every: bool) -> tuple[list[Row], str]:
    """Alarms, what fires first, and how many there are in which state."""
    return listed_alarms(connection, every=every)[:ALARMS_SHOWN], counted_alarms(connection)


def alarm(connection: duckdb.DuckDBPyConnection, key: str) -> tuple[AlarmEvidence, bool]:
    """All that speaks for one alarm, and whether there is a picture of its series. Raises UnknownAlarm."""
    found = evidence(connection, key)
    return found, bool(drawn_series(connection, found.alarm))


def picture(connection: duckdb.DuckDBPyConnection, key: str) -> bytes:
    """The series of an alarm as a PNG. Raises UnknownAlarm where there is nothing to draw, and NotDrawn."""
    found = evidence(connection, key).alarm
    series = drawn_series(connection, found)
    if not series:
        raise UnknownAlarm(key, [])
    return draw_one(chart_of(found, series))
