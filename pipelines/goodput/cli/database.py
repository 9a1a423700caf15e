"""Opening the published database to ask it something, and the options that every asking command shares.

What is asked belongs to the commands; what may be asked is in the database itself.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import duckdb
import typer

from goodput.errors import NotPublished, QueryFailed
from goodput.plumbing import interrupt
from goodput.plumbing.sql_files import CAUTIOUS
from goodput.settings.load import load_settings

Row = dict[str, Any]
Config = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Settings; without it ./goodput.toml where that exists."),
]
LakeRoot = Annotated[
    Path | None,
    typer.Option("--lake", metavar="FOLDER", help="The lake to ask, instead of the one in the settings."),
]

# An answer must not depend on a network: what an extension is missing for is an error instead.
OFFLINE: dict[str, str | bool | int | float | list[str]] = {"autoinstall_known_extensions": "false", **CAUTIOUS}
_MESSAGE_LINES = 8


@contextmanager
def published(config: Path | None, lake: Path | None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A read-only connection to the lake's goodput.duckdb, in UTC.

    Raises SettingsError, NotPublished, and QueryFailed for whatever the database refuses inside the block.
    """
    database = load_settings(config, lake=lake).lake_path / "goodput.duckdb"
    if not database.is_file():
        raise NotPublished(database)
    try:
        with interrupt.stoppable(duckdb.connect(database, read_only=True, config=OFFLINE)) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            # Views read Parquet files of the lake that the database is in now, wherever it was published.
            connection.execute("SET VARIABLE goodput_lake = $folder", {"folder": str(database.absolute().parent)})
            yield connection
    except (duckdb.Error, RuntimeError) as error:
        interrupt.check(error)
        if not isinstance(error, duckdb.Error):
            raise
        raise refused(error) from error


def refused(error: duckdb.Error) -> QueryFailed:
    """What the database says against a question, in its first lines."""
    return QueryFailed("\n".join(str(error).splitlines()[:_MESSAGE_LINES]).rstrip())


def rows(connection: duckdb.DuckDBPyConnection, sql: str, parameters: Mapping[str, object] | None = None) -> list[Row]:
    """All rows of one query, each by the names of its columns."""
    found = connection.execute(sql, dict(parameters or {}))
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
