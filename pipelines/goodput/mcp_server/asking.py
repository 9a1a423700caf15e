"""One question at a time to the published database: how long it may take, and what SQL of a model may touch.

What is asked belongs to `tools`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

import duckdb

from goodput.ask.confined import confine
from goodput.ask.database import published
from goodput.ask.time_limit import ended_in_time
from goodput.plumbing.sql_files import Config
from goodput.settings.load import load_settings


@dataclass(frozen=True)
class AnswerLimits:
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
    limits: AnswerLimits
    _turn: Lock = field(default_factory=Lock)

    @contextmanager
    def connection(
        self, *, confined: bool = False, bounds: Config | None = None
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection for one answer; a `confined` one reads parts of the lake alone, and nothing can change that.

        `bounds` are settings of DuckDB that hold for it.

        Raises TookTooLong for what takes too long, and what `published` raises.
        """
        with self._turn, published(self.config, self.lake) as connection:
            for name, value in (bounds or {}).items():
                connection.execute(f"SET {name} = $1", [value])
            if confined:
                confine(connection, load_settings(self.config, lake=self.lake).lake_path, is_final=True)
            with ended_in_time(connection, self.limits.seconds):
                yield connection
