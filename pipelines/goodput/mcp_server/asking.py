"""One question at a time to the published database: how long it may take, and what SQL of a model may touch.

What is asked belongs to `tools`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

import duckdb

from goodput.cli.database import published
from goodput.cli.time_limit import ended_in_time
from goodput.plumbing.sql_files import quoted
from goodput.settings.load import load_settings


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

        Raises TookTooLong for what takes too long, and what `published` raises.
        """
        with self._turn, published(self.config, self.lake) as connection:
            if confined:
                _confine(connection, load_settings(self.config, lake=self.lake).lake_path)
            with ended_in_time(connection, self.limits.seconds):
                yield connection


def _confine(connection: duckdb.DuckDBPyConnection, lake: Path) -> None:
    """Let it read the folders of parts, for views; a read-only connection could else read and write any file."""
    folders = sorted(folder for folder in lake.absolute().iterdir() if folder.is_dir())
    listed = ", ".join(quoted(str(folder)) for folder in folders)
    connection.execute(f"SET allowed_directories = [{listed}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
