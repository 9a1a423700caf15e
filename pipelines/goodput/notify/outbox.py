"""The outbox: deliveries in one SQLite file of the lake, so that none is lost and several processes may drain it.

What is sent where is decided in `decide`, who may send what now in `claims`. Every change is one transaction that
is on disk before it counts. Times are Unix nanoseconds of a clock that may jump.
"""

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from goodput.errors import OutboxUnusable
from goodput.plumbing.lake import Lake

Clock = Callable[[], int]
_VERSION = 1
_BUSY_S = 30.0
_RETRY_S = 0.01
_SCHEMA = """
CREATE TABLE IF NOT EXISTS deliveries (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT, delivery_id TEXT NOT NULL UNIQUE, channel TEXT NOT NULL,
    kind TEXT NOT NULL, group_key TEXT NOT NULL, status TEXT NOT NULL, severity TEXT NOT NULL, rule TEXT NOT NULL,
    summary TEXT NOT NULL, body BLOB NOT NULL, origin TEXT, state TEXT NOT NULL, reason TEXT,
    enqueued_ns INTEGER NOT NULL, not_before_ns INTEGER NOT NULL, expires_ns INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0, attempted_ns INTEGER, next_attempt_ns INTEGER NOT NULL DEFAULT 0,
    leased_ns INTEGER, leased_until_ns INTEGER, lease TEXT,
    http_status INTEGER, error TEXT, latency_ns INTEGER, settled_ns INTEGER);
CREATE INDEX IF NOT EXISTS waiting ON deliveries (channel, sequence) WHERE state = 'pending';
CREATE TABLE IF NOT EXISTS events (
    channel TEXT NOT NULL, event_id TEXT NOT NULL, delivery_id TEXT NOT NULL,
    PRIMARY KEY (channel, event_id)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS delivered_events ON events (delivery_id);
CREATE TABLE IF NOT EXISTS concerns (
    alarm_id TEXT NOT NULL, delivery_id TEXT NOT NULL, PRIMARY KEY (alarm_id, delivery_id)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS concerned ON concerns (delivery_id);
CREATE TABLE IF NOT EXISTS rests (channel TEXT PRIMARY KEY, since_ns INTEGER NOT NULL, until_ns INTEGER NOT NULL);
"""


def outbox_file(lake: Lake) -> Path:
    """The outbox of a lake."""
    return lake.root / "outbox.db"


@dataclass(frozen=True)
class Draft:
    """A delivery to be: what it says is rendered once, here; state pending, or suppressed with a reason."""

    delivery_id: str
    channel: str
    kind: str
    group_key: str
    status: str
    severity: str
    rule: str
    summary: str
    body: bytes
    event_ids: tuple[str, ...]
    alarm_ids: tuple[str, ...]
    state: str = "pending"
    reason: str | None = None
    not_before_ns: int = 0
    expires_ns: int | None = None
    origin: str | None = None


class Outbox:
    """One opening of an outbox file, new where there is none; each thread opens its own."""

    def __init__(self, path: Path, clock: Clock = time.time_ns) -> None:
        self.path = path
        self._clock = clock
        with self._damage_reported():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(self.path, timeout=_BUSY_S, isolation_level=None)
            self._connection.row_factory = sqlite3.Row
            self._write_ahead()
            self._connection.execute("PRAGMA synchronous = FULL")
            self._prepare()

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def __enter__(self) -> "Outbox":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def now_ns(self) -> int:
        """The clock that every time here is of."""
        return self._clock()

    def rows(self, sql: str, parameters: Mapping[str, object] | None = None) -> list[sqlite3.Row]:
        """All rows of a question. Raises OutboxUnusable."""
        with self._damage_reported():
            return self._connection.execute(sql, dict(parameters or {})).fetchall()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction that no other process writes beside; all of it is on disk at its end, or nothing."""
        with self._damage_reported():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def add(self, drafts: Iterable[Draft]) -> int:
        """Add deliveries inside `writing`; how many were new. What is there already stays as it is."""
        return sum(self._add(draft) for draft in drafts)

    def withdraw(self, reasons: Mapping[str, str]) -> None:
        """Take back, inside `writing`, deliveries (delivery_id -> why) that nobody has tried to send."""
        self._connection.executemany(
            "UPDATE deliveries SET state = 'suppressed', reason = ?, settled_ns = ? "
            "WHERE delivery_id = ? AND state = 'pending' AND attempts = 0",
            [(reason, self._clock(), delivery_id) for delivery_id, reason in reasons.items()],
        )

    def keep_only(self, channels: Iterable[str]) -> None:
        """Take back, inside `writing`, what waits for channels that the settings no longer have."""
        self._connection.execute(
            "UPDATE deliveries SET state = 'suppressed', reason = 'the settings no longer have this channel', "
            "settled_ns = ? WHERE state = 'pending' AND channel NOT IN (SELECT value FROM json_each(?))",
            (self._clock(), json.dumps(list(channels))),
        )

    def expire(self) -> None:
        """Take back, inside `writing`, what came too late to be of use: a newer message says the same."""
        now = self._clock()
        self._connection.execute(
            "UPDATE deliveries SET state = 'superseded', reason = 'a later message says the same', settled_ns = :now "
            "WHERE state = 'pending' AND expires_ns <= :now AND enqueued_ns <= :now "
            "AND (leased_until_ns IS NULL OR leased_until_ns <= :now)",
            {"now": now},
        )

    def requeue(self, channel: str) -> int:
        """Try a channel's dead letters anew; how many."""
        with self.writing():
            self._connection.execute("DELETE FROM rests WHERE channel = ?", (channel,))
            changed = self._connection.execute(
                "UPDATE deliveries SET state = 'pending', attempts = 0, next_attempt_ns = 0, enqueued_ns = ?, "
                "settled_ns = NULL, reason = NULL WHERE channel = ? AND state = 'dead'",
                (self._clock(), channel),
            )
            return changed.rowcount

    def _add(self, draft: Draft) -> int:
        added = self._connection.execute(
            "INSERT OR IGNORE INTO deliveries (delivery_id, channel, kind, group_key, status, severity, rule, summary, "
            "body, origin, state, reason, enqueued_ns, not_before_ns, expires_ns, settled_ns) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(draft.delivery_id, draft.channel, draft.kind, draft.group_key, draft.status, draft.severity),
                *(draft.rule, draft.summary, draft.body, draft.origin, draft.state, draft.reason),
                *(self._clock(), draft.not_before_ns, draft.expires_ns),
                None if draft.state == "pending" else self._clock(),
            ),
        ).rowcount
        if added:
            pairs = [(draft.channel, event, draft.delivery_id) for event in draft.event_ids]
            self._connection.executemany("INSERT OR IGNORE INTO events VALUES (?, ?, ?)", pairs)
            alarms = [(alarm, draft.delivery_id) for alarm in draft.alarm_ids]
            self._connection.executemany("INSERT OR IGNORE INTO concerns VALUES (?, ?)", alarms)
        return added

    def _write_ahead(self) -> None:
        """Let readers and a writer be at it at once. Of others that ask for the same SQLite waits for none."""
        until = time.monotonic() + _BUSY_S
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
                time.sleep(_RETRY_S)

    def _prepare(self) -> None:
        (found,) = self._connection.execute("PRAGMA user_version").fetchone()
        if found > _VERSION:
            raise OutboxUnusable(self.path, f"it is of version {found}, this program knows {_VERSION}")
        if found < _VERSION:
            with self.writing():
                for statement in _SCHEMA.split(";")[:-1]:
                    self._connection.execute(statement)
                self._connection.execute(f"PRAGMA user_version = {_VERSION}")

    @contextmanager
    def _damage_reported(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise OutboxUnusable(self.path, error) from error
