"""`goodput` alone: the state of things in this folder at a glance, and what to do next.

It shows what was published and computes nothing; `goodput doctor` looks deeper.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
from rich.console import Console
from rich.text import Text

from goodput.ask.cells import plain
from goodput.ask.database import published, rows
from goodput.cli.blocked import print_blocked
from goodput.cli.render import console, until_reader_leaves
from goodput.cli.sparkline import sparkline
from goodput.cli.warned import print_warnings
from goodput.plumbing.sql_files import MACROS, sql_file
from goodput.plumbing.store import store_of
from goodput.settings.lake_address import DEFAULT_FILE
from goodput.settings.load import load_settings

_OVERALL = "SELECT offered, goodput, definition, per_accepted FROM ({headline}) WHERE slice = 'all'"
_FIRING = """
    SELECT severity || coalesce(' (' || suppressed || ')', '') AS severity, summary
    FROM alarms
    WHERE state = 'firing'
    ORDER BY suppressed IS NOT NULL, alarms.severity, state_since_at DESC, alarm_id
"""
_SHOWN = 3
_SILENT = timedelta(hours=24)
_LABEL = 10


def is_here() -> bool:
    """Whether this folder has settings or a published lake."""
    return DEFAULT_FILE.exists() or _database().is_file()


def print_state(now: datetime) -> None:
    """Print when was published, how far telemetry reaches, what was accepted, fires, is warned of or blocked.

    Raises SettingsError, and QueryFailed where the database cannot be read.
    """
    out = console()
    database = _database()
    if not database.is_file():
        _line(out, "Published", f"nothing yet: {database} does not exist")
        _line(out, "Next", "goodput connect FOLDER shows what is in telemetry; goodput run computes and publishes")
        return
    with until_reader_leaves(), published(None, None) as connection:
        connection.execute(sql_file(MACROS).text)
        at = datetime.fromtimestamp(database.stat().st_mtime, UTC)
        _line(out, "Published", f"{at:%Y-%m-%d %H:%M} UTC, {_ago(now - at)}")
        is_late = _print_reach(out, connection, now)
        _print_accepted(out, connection)
        firing = _print_firing(out, connection)
        blocked = print_blocked(out, connection)
        print_warnings(out, connection)
        for number, step in enumerate(_next(is_late=is_late, firing=firing, blocked=blocked)):
            _line(out, "" if number else "Next", step)


def _database() -> Path:
    settings = load_settings(None)
    store_of(settings).pull_published()
    return settings.lake_path / "goodput.duckdb"


def _print_reach(out: Console, connection: duckdb.DuckDBPyConnection, now: datetime) -> bool:
    ((newest, files),) = connection.execute(sql_file("newest_telemetry").text).fetchall()
    if newest is None:
        _line(out, "Telemetry", f"none in {files} file(s)")
        return True
    _line(out, "Telemetry", f"until {newest.astimezone(UTC):%Y-%m-%d %H:%M} UTC, {_ago(now - newest)}")
    return bool(now - newest > _SILENT)


def _print_accepted(out: Console, connection: duckdb.DuckDBPyConnection) -> None:
    for (line,) in connection.execute(sql_file("headline_window").text).fetchall():
        _line(out, "Window", line)
    for row in rows(connection, _OVERALL.format(headline=sql_file("headline").text)):
        _line(out, "Accepted", f"{row['goodput']} of {row['offered']:,}, {row['definition']}")
        _line(out, "Cost", f"{row['per_accepted']} per accepted" if row["per_accepted"] else "not known")
    shares = [row["ratio"] for row in rows(connection, sql_file("accepted_by_hour").text)]
    if any(share is not None for share in shares) and out.encoding.startswith("utf"):
        _line(out, "By hour", f"{sparkline(shares)}  share accepted, full height is 100 %")


def _print_firing(out: Console, connection: duckdb.DuckDBPyConnection) -> int:
    firing = rows(connection, _FIRING)
    for row in firing[:_SHOWN]:
        _line(out, "Firing", f"{row['severity']}: {row['summary']}")
    if len(firing) > _SHOWN:
        _line(out, "", f"and {len(firing) - _SHOWN} more")
    if not firing:
        _line(out, "Firing", "no alarm")
    return len(firing)


def _next(*, is_late: bool, firing: int, blocked: int) -> Iterator[str]:
    if blocked:
        yield "goodput sources says what blocks"
    if firing:
        yield "goodput alarms explains what fires"
    if is_late:
        yield "goodput run reads what is new; goodput doctor says why nothing is"
    yield "goodput report shows more; goodput --help lists the commands"


def _ago(age: timedelta) -> str:
    minutes = age.total_seconds() / 60
    if minutes < 0:
        return "in the future"
    return f"{minutes:.0f} min ago" if minutes < 120 else f"{minutes / 60:,.1f} h ago"


def _line(out: Console, label: str, text: str) -> None:
    out.print(Text.assemble((f"{label:<{_LABEL}}", "bold"), plain(text)))
