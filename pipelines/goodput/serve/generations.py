"""The published database while runs replace it: each question is answered by one generation of it, the newest.

A connection keeps the file that it opened, and others of the process to the same path get that one too. So each
generation is attached to a database in memory of its own, which can read the lake and nothing else.
"""

import math
import os
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import duckdb

from goodput.ask.confined import confine
from goodput.ask.database import OFFLINE, refused, unopened
from goodput.ask.time_limit import ended_in_time
from goodput.errors import NotPublished, StoreFailed
from goodput.plumbing.database import LAKE_VARIABLE
from goodput.plumbing.sql_files import quoted, spilling
from goodput.plumbing.store import IN_FOLDER, Store

QUESTION_S = 30.0
_FOLLOWS_EVERY_S = 10.0
Answer = TypeVar("Answer")
Question = Callable[[duckdb.DuckDBPyConnection, str], Answer]  # of a connection and the generation that it reads


@dataclass(frozen=True)
class Generation:
    """One published database: `name` differs from that of any other, and whoever holds `database` can go on asking."""

    name: str
    database: duckdb.DuckDBPyConnection


class Generations:
    """The generations of one lake, of which the newest answers."""

    def __init__(self, lake: Path, question_s: float = QUESTION_S, store: Store = IN_FOLDER) -> None:
        self._lake = lake.absolute()
        self._store = store
        self._following = threading.Lock()
        self._followed_s = -math.inf
        self._question_s = question_s
        self._newest: Generation | None = None
        self._opening = threading.Lock()

    def name(self) -> str:
        """The name of the newest generation. Raises NotPublished."""
        self._follow()
        try:
            found = os.stat(self._file)
        except OSError as error:
            raise NotPublished(self._file) from error
        return f"{found.st_ino:x}-{found.st_mtime_ns:x}"

    def ask(self, question: Question[Answer]) -> Answer:
        """What the newest generation answers.

        One whose files are taken away meanwhile, as by `goodput erase`, is followed by the next. Raises NotPublished,
        QueryFailed, and TookTooLong.
        """
        generation = self._open()
        try:
            return self._asked(generation, question)
        except duckdb.Error as error:
            if self.name() == generation.name:
                raise refused(error) from error
        try:
            return self._asked(self._open(), question)
        except duckdb.Error as error:
            raise refused(error) from error

    def check(self) -> None:
        """Open the newest generation and read a row of it. Raises NotPublished, QueryFailed and TookTooLong."""
        self.ask(lambda connection, _: connection.execute("SELECT max(window_start) FROM goodput").fetchone())

    def _follow(self) -> None:
        """Have what another machine has published; while a store does not answer, what is here does."""
        if self._store.url is None or not self._following.acquire(blocking=False):
            return
        try:
            if time.monotonic() - self._followed_s > _FOLLOWS_EVERY_S:
                self._followed_s = time.monotonic()
                with suppress(StoreFailed):
                    self._store.pull_published()
        finally:
            self._following.release()

    @property
    def _file(self) -> Path:
        return self._lake / "goodput.duckdb"

    def _open(self) -> Generation:
        with self._opening:
            name = self.name()
            while self._newest is None or self._newest.name != name:
                # what the name was read of may be replaced before it is opened: then it is opened again
                database, opened, name = self._attached(), name, self.name()
                self._newest = Generation(opened, database)
            return self._newest

    def _attached(self) -> duckdb.DuckDBPyConnection:
        database = duckdb.connect(config=OFFLINE | spilling())
        try:
            database.execute(f"ATTACH {quoted(str(self._file))} AS published (READ_ONLY)")
            confine(database, self._lake)
        except duckdb.Error as error:
            raise unopened(error) from error
        return database

    def _asked(self, generation: Generation, question: Question[Answer]) -> Answer:
        with closing(generation.database.cursor()) as connection, ended_in_time(connection, self._question_s):
            connection.execute("USE published")
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute(f"SET VARIABLE {LAKE_VARIABLE} = $folder", {"folder": str(self._lake)})
            return question(self._store.reading(connection), generation.name)
