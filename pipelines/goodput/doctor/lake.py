"""The lake: format, last run, how far it lags behind, what is blocked, refused, undelivered or warned of."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import duckdb
import polars as pl

from goodput.ask.database import let_in_by
from goodput.collect.scan import unseen
from goodput.doctor.finding import Finding, attention, broken, ok
from goodput.errors import (
    BlockedPartition,
    GoodputError,
    LakeBusy,
    LakeTooNew,
    LakeTooOld,
    LakeUnreadable,
    LakeUnwritable,
    SecretUnusable,
    StoreFailed,
    StoreRefused,
)
from goodput.notify.health import undelivered
from goodput.notify.outbox import Outbox, outbox_file
from goodput.plumbing.blocked import Blocked
from goodput.plumbing.database import published as published_database
from goodput.plumbing.foreign_log import logs_beside
from goodput.plumbing.identity_choice import read_choice
from goodput.plumbing.lake import Lake
from goodput.plumbing.pseudonyms import Pseudonyms
from goodput.plumbing.sql_files import sql_file
from goodput.plumbing.workspace import lake_of
from goodput.settings.model import Settings

_WAITS = timedelta(hours=2)  # a file that lies unread for longer shows that no run comes
_SILENT = timedelta(hours=24)
_SHOWN = 3


def lake(settings: Settings, landed: pl.DataFrame | None, now: datetime) -> Iterator[Finding]:
    """How the lake is and, where it can be read, what is in it; `landed` are the files of the landing zone."""
    try:
        lake = lake_of(settings)
        lake.pull()
    except GoodputError as error:
        found, _, to_do = str(error).partition("\n")
        yield broken("lake", found, to_do)
        return
    if not lake.is_made:
        yield attention("lake", f"{lake.address} is not made yet", "goodput run")
        return
    try:
        lake.open()
        yield ok("lake", f"{lake.address}, {_activity(lake)}")
    except LakeTooOld as error:
        yield broken("lake", str(error), "goodput rebuild")
        return
    except LakeUnreadable as error:
        found, _, to_do = str(error).partition("\n")
        yield broken("lake", found, to_do)
        return
    except LakeTooNew as error:
        yield broken("lake", str(error), "install the version that wrote it, or see docs/operations.md")
        return
    yield from _identities(lake, settings)
    yield from _last_run(lake, settings, landed, now)
    blocked = Blocked(lake).all()
    yield _blocked(blocked)
    yield from _published(lake, settings, now, blocked)
    yield from _deliveries(lake)


def _activity(lake: Lake) -> str:
    try:
        with lake.lock():
            return "no run goes on"
    except LakeBusy:
        return "a run goes on"
    except LakeUnwritable:
        return "which may only be read here, so that nobody can see whether a run goes on"
    except (StoreFailed, StoreRefused) as error:
        return str(error)


def _identities(lake: Lake, settings: Settings) -> Iterator[Finding]:
    pseudonyms = Pseudonyms(settings)
    try:
        is_done = read_choice(lake.root).is_of(pseudonyms)
    except (SecretUnusable, LakeUnreadable) as error:
        yield broken("identities", str(error), "correct [privacy]; without its key no run goes on")
        return
    if not is_done:
        found = "[privacy] has another choice or key than the last run, and what that left is still there"
        yield attention("identities", found, "goodput run")
    elif not pseudonyms.are_clear:
        yield ok("identities", f"{settings.privacy.identities} in all that the lake holds")


def _last_run(lake: Lake, settings: Settings, landed: pl.DataFrame | None, now: datetime) -> Iterator[Finding]:
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
    waiting = _changed_since(published, unseen(lake, settings, landed))
    oldest = min(waiting, default=None)
    if oldest is not None and now - datetime.fromtimestamp(oldest / 1e9, UTC) > _WAITS:
        found = f"{published:%Y-%m-%d %H:%M} UTC; {len(waiting):,} file(s) have changed since"
        yield broken("last run", found, "goodput run, and look at what should start it: cron, or Dagster's sensors")
    else:
        yield ok("last run", f"published {published:%Y-%m-%d %H:%M} UTC, {len(waiting):,} file(s) have changed since")


def _changed_since(published: datetime, files: pl.DataFrame) -> list[int]:
    """When each of the files changed that did since then: one moved here with its old time did when it was moved."""
    since_ns = (published.timestamp() + 1) * 1e9
    modified_ns, changed_ns = pl.col("modified_ns"), pl.col("changed_ns")
    at_ns = pl.when(modified_ns > since_ns).then(modified_ns).otherwise(changed_ns)
    return files.select(at_ns.alias("at_ns")).filter(pl.col("at_ns") > since_ns)["at_ns"].to_list()


def _see(is_there: bool, path: object) -> str:
    return f"; {path} says where it broke" if is_there else ""


def _blocked(found: Sequence[BlockedPartition]) -> Finding:
    if not found:
        return ok("partitions", "none is blocked")
    first = "; ".join(f"{one.table} {one.partition}: {one.reason}" for one in found[:_SHOWN])
    return broken("partitions", f"{len(found)} blocked: {first}", "goodput sources lists them with what to do")


def _published(lake: Lake, settings: Settings, now: datetime, blocked: Sequence[BlockedPartition]) -> Iterator[Finding]:
    if not lake.database.exists():
        return
    try:
        with published_database(lake) as connection:
            connection.execute("SET VARIABLE quarantined_ratio = $1", [settings.limits.quarantined_ratio])
            yield from _sources(connection)
            yield from _lag(connection, now)
            yield _warnings(connection, is_blocked=any(one.table == "warnings" for one in blocked))
    except duckdb.Error as error:
        to_do = let_in_by(error) or f"delete {lake.database} and run again"
        yield broken("database", str(error).splitlines()[0], to_do)
        return
    if logs := logs_beside(lake.database):
        found = f"another program wrote to {lake.database}: {', '.join(log.name for log in logs)} lies beside it"
        yield attention("database", found, "open it read-only; the next run drops what was written")


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


def _warnings(connection: duckdb.DuckDBPyConnection, *, is_blocked: bool) -> Finding:
    kinds = connection.execute(f"SELECT kind, message, high FROM ({sql_file('warned_kinds').text})").fetchall()  # noqa: S608
    high = [(kind, message) for kind, message, count in kinds if count]
    of_before = "of an earlier run, as they are blocked since: " if is_blocked else ""
    if high:
        found = "; ".join(f"{kind}: {message}" for kind, message in high[:_SHOWN])
        text = f"{of_before}{len(high)} kind(s) of high severity: {found}"
        return attention("warnings", text, 'goodput query "from warnings"')
    text = f"{of_before}{len(kinds)} kind(s), none of high severity"
    return attention("warnings", text, "goodput sources lists what is blocked") if is_blocked else ok("warnings", text)


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
