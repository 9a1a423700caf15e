"""One question at a time to the published database: how long it may take, and what SQL of a model may touch.

What is asked belongs to `tools`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock, Thread

import duckdb

from goodput.cli.database import published
from goodput.errors import AnswerTooSlow
from goodput.plumbing.sql_files import quoted
from goodput.settings.load import load_settings

_AGAIN_S = 0.05  # between two interrupts: one strikes only what runs at that moment


@dataclass(frozen=True)
class Limits:
    """What an answer may be at most: rows of SQL, seconds that it takes, bytes of its text."""

    rows: int
    seconds: float
    bytes: int


@dataclass(frozen=True)
class Asker:
    """Opens the database for one question after another, so that each sees what the latest run published.

    A second connection of the process would get the file that the first one has open, even where a run has replaced
    it, and the settings that the first one has locked.
    """

    config: Path | None
    lake: Path | None
    limits: Limits
    _turn: Lock = field(default_factory=Lock)

    @contextmanager
    def connection(self, *, confined: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection for one answer; a `confined` one reads parts of the lake alone, and nothing can change that.

        Raises AnswerTooSlow for what takes too long, and what `published` raises.
        """
        with self._turn, published(self.config, self.lake) as connection:
            if confined:
                _confine(connection, load_settings(self.config, lake=self.lake).lake_path)
            with _ended_in_time(connection, self.limits.seconds):
                yield connection


def _confine(connection: duckdb.DuckDBPyConnection, lake: Path) -> None:
    """Let it read the folders of parts, for views; a read-only connection could else read and write any file."""
    folders = sorted(folder for folder in lake.absolute().iterdir() if folder.is_dir())
    listed = ", ".join(quoted(str(folder)) for folder in folders)
    connection.execute(f"SET allowed_directories = [{listed}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


@contextmanager
def _ended_in_time(connection: duckdb.DuckDBPyConnection, seconds: float) -> Iterator[None]:
    is_over, is_late = Event(), Event()

    def watch() -> None:
        if not is_over.wait(seconds):
            is_late.set()
            while not is_over.wait(_AGAIN_S):
                connection.interrupt()

    watcher = Thread(target=watch, name="time limit", daemon=True)
    watcher.start()
    try:
        yield
    except duckdb.InterruptException as error:
        if not is_late.is_set():
            raise
        raise AnswerTooSlow(seconds) from error
    finally:
        is_over.set()
        watcher.join()
