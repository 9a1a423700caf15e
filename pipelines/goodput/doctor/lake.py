"""The lake: format, last run, how far it lags behind, what is blocked, refused, undelivered or warned of."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import duckdb
import polars as pl

from goodput.doctor.finding import Finding, attention, broken, ok
from goodput.errors import GoodputError, LakeBusy, LakeTooNew, LakeTooOld, LakeUnreadable
from goodput.notify.health import undelivered
from goodput.notify.outbox import Outbox, outbox_file
from goodput.plumbing.blocked import Blocked
from goodput.plumbing.lake import Lake
from goodput.plumbing.sql_files import connect, sql_file
from goodput.settings.model import Settings

_WAITS = timedelta(hours=2)  # a file that lies unread for longer shows that no run comes
_SILENT = timedelta(hours=24)
_SHOWN = 3


def lake(lake: Lake, settings: Settings, landed: pl.DataFrame | None, now: datetime) -> Iterator[Finding]:
    """How the lake is and, where it can be read, what is in it; `landed` are the files of the landing zone."""
    if not lake.is_made:
        yield attention("lake", f"{lake.root} is not made yet", "goodput run")
        return
    try:
        lake.open()
        yield ok("lake", f"{lake.root}, {_activity(lake)}")
    except LakeTooOld as error:
        yield broken("lake", str(error), "goodput rebuild")
        return
    except (LakeTooNew, LakeUnreadable) as error:
        yield broken("lake", str(error), "install the version that wrote it, or see docs/operations.md")
        return
    yield from _last_run(lake, landed, now)
    yield from _blocked(lake)
    yield from _published(lake, settings, now)
    yield from _deliveries(lake)


def _activity(lake: Lake) -> str:
    try:
        with lake.lock():
            return "no run goes on"
    except LakeBusy:
        return "a run goes on"


def _last_run(lake: Lake, landed: pl.DataFrame | None, now: datetime) -> Iterator[Finding]:
    crash = lake.root / "traceback.txt"
    if not lake.database.exists():
        yield broken("last run", "nothing was ever published", f"goodput run{_see(crash.exists(), crash)}")
        return
    published = datetime.fromtimestamp(lake.database.stat().st_mtime, UTC)
    if crash.exists() and crash.stat().st_mtime > published.timestamp():
        yield broken("last run", "it crashed", f"run again; {crash} says where it broke")
        return
    if landed is None:
        return
    modified_ns = landed["modified_ns"]
    waiting = modified_ns.filter(modified_ns > (published.timestamp() + 1) * 1e9)
    oldest = min(waiting.to_list(), default=None)
    if oldest is not None and now - datetime.fromtimestamp(oldest / 1e9, UTC) > _WAITS:
        found = f"{published:%Y-%m-%d %H:%M} UTC; {len(waiting):,} file(s) have changed since"
        yield broken("last run", found, "goodput run, and look at what should start it: cron, or Dagster's sensors")
    else:
        yield ok("last run", f"published {published:%Y-%m-%d %H:%M} UTC, {len(waiting):,} file(s) have changed since")


def _see(is_there: bool, path: object) -> str:
    return f"; {path} says where it broke" if is_there else ""


def _blocked(lake: Lake) -> Iterator[Finding]:
    found = Blocked(lake).all()
    if found:
        first = "; ".join(f"{one.table} {one.partition}: {one.reason}" for one in found[:_SHOWN])
        yield broken("partitions", f"{len(found)} blocked: {first}", "goodput sources lists them with what to do")
    else:
        yield ok("partitions", "none is blocked")


def _published(lake: Lake, settings: Settings, now: datetime) -> Iterator[Finding]:
    if not lake.database.exists():
        return
    try:
        with connect(str(lake.database), read_only=True) as connection:
            connection.execute("SET VARIABLE quarantined_ratio = $1", [settings.limits.quarantined_ratio])
            yield from _sources(connection)
            yield from _lag(connection, now)
            yield from _warnings(connection)
    except duckdb.Error as error:
        yield broken("database", str(error).splitlines()[0], f"delete {lake.database} and run again")


def _sources(connection: duckdb.DuckDBPyConnection) -> Iterator[Finding]:
    failed = connection.execute(sql_file("failed_sources").text).fetchall()
    if failed:
        first = "; ".join(f"{path}: {wrong}" for path, _, wrong in failed[:_SHOWN])
        yield broken("sources", f"{len(failed)} file(s): {first}", "goodput sources --problems")
    else:
        yield ok("sources", "every row that was read is accounted for")


def _lag(connection: duckdb.DuckDBPyConnection, now: datetime) -> Iterator[Finding]:
    ((newest, files),) = connection.execute(sql_file("newest_telemetry").text).fetchall()
    if newest is None:
        yield attention("telemetry", f"{files} file(s) were read, without a row of telemetry", "goodput sources")
        return
    lag = now - newest.astimezone(UTC)
    hours = f"the newest row is of {newest.astimezone(UTC):%Y-%m-%d %H:%M} UTC, {lag.total_seconds() / 3600:,.1f} h ago"
    if lag > _SILENT:
        yield attention("telemetry", hours, "see whether the Collector still writes to the landing zone")
    else:
        yield ok("telemetry", hours)


def _warnings(connection: duckdb.DuckDBPyConnection) -> Iterator[Finding]:
    kinds = connection.execute(f"SELECT kind, message, high FROM ({sql_file('warned_kinds').text})").fetchall()  # noqa: S608
    high = [(kind, message) for kind, message, count in kinds if count]
    if high:
        found = "; ".join(f"{kind}: {message}" for kind, message in high[:_SHOWN])
        yield attention("warnings", f"{len(high)} kind(s) of high severity: {found}", 'goodput query "from warnings"')
    else:
        yield ok("warnings", f"{len(kinds)} kind(s), none of high severity")


def _deliveries(lake: Lake) -> Iterator[Finding]:
    file = outbox_file(lake)
    if not file.exists():
        yield ok("deliveries", "nothing was ever to be sent")
        return
    try:
        with Outbox(file) as outbox:
            waiting = list(undelivered(outbox))
    except GoodputError as error:
        yield broken("deliveries", str(error), "see docs/operations.md")
        return
    faults = [one for one in waiting if one.is_fault]
    if faults:
        first = f"{faults[0].channel}: {faults[0].error}"
        yield broken("deliveries", f"{len(faults)} undelivered, such as of {first}", faults[0].to_do)
    else:
        yield ok("deliveries", f"{len(waiting)} wait, none for too long")
