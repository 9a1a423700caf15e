"""Opening the published database to ask it something.

What is asked belongs to those who ask; what may be asked is in the database itself.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from goodput.ask.renamed import new_names
from goodput.errors import NotPublished, QueryFailed
from goodput.plumbing import interrupt
from goodput.plumbing.checked_settings import lake_of_checked
from goodput.plumbing.several_lakes import refuse_several
from goodput.plumbing.sql_files import Config, spilling, sql_file
from goodput.plumbing.store import IN_FOLDER, Store, store_of

Row = dict[str, Any]
# An answer must not depend on a network: what an extension is missing for is an error instead.
OFFLINE: Config = {"autoinstall_known_extensions": "false"}
_MESSAGE_LINES = 8
_READ_ONLY = "open the database read-only from then on."
_SHUT_OUT = {
    "WAL file": "Another program wrote to goodput.duckdb, and its log is not of what is published now. "
    f"Close that program, then `goodput run`, which removes the log; {_READ_ONLY}",
    "Could not set lock": "Another program has goodput.duckdb open to write. "
    f"Close it, or `goodput run`, which publishes beside it; {_READ_ONLY}",
}
_NO_FILES = "No files found that match the pattern"
_PART_MISSING = (
    "Relations with a row for each request, attempt or record are views over parts of the lake: ask the whole lake, as "
    "a copied goodput.duckdb has only what was measured. Where it is whole, `goodput verify` names what is missing."
)


def lake_meant(config: Path | None, lake: Path | None) -> tuple[Path, Store]:
    """Folder of the lake that a command means, and where it is kept.

    Raises SettingsError, ExtraMissing, StoreFailed.
    """
    folder = lake_of_checked(config, lake)
    if folder is not None:
        return folder, IN_FOLDER
    from goodput.settings.load import load_settings  # noqa: PLC0415  (takes longer than most answers)

    settings = load_settings(config, lake=lake)
    return settings.lake_path, store_of(settings)


@contextmanager
def published(
    config: Path | None, lake: Path | None, *, of_several: bool = False
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A read-only connection to the lake's goodput.duckdb, in UTC; `of_several`: it may be one of several lakes.

    Raises SettingsError, NotPublished, SeveralLakes, and QueryFailed for what the database refuses inside the block.
    """
    folder, store = lake_meant(config, lake)
    database = folder / "goodput.duckdb"
    store.pull_published()
    if not database.is_file():
        raise NotPublished(database)
    if not of_several:
        refuse_several(folder)
    try:
        with interrupt.stoppable(_connect(database)) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            # Views read Parquet files of the lake that the database is in now, wherever it was published.
            connection.execute("SET VARIABLE goodput_lake = $folder", {"folder": str(database.absolute().parent)})
            yield store.reading(connection)
    except (duckdb.Error, RuntimeError) as error:
        interrupt.check(error)
        if not isinstance(error, duckdb.Error):
            raise
        raise refused(error) from error


def _connect(database: Path) -> duckdb.DuckDBPyConnection:
    try:
        return duckdb.connect(database, read_only=True, config=OFFLINE | spilling(str(database)))
    except duckdb.Error as error:
        raise unopened(error) from error


def unopened(error: duckdb.Error) -> QueryFailed:
    """Why the published database cannot be opened, with what to do where another program wrote to it."""
    return QueryFailed(f"{refused(error)}\n{let_in_by(error)}".rstrip())


def let_in_by(error: duckdb.Error) -> str:
    """What to do where another program shuts out whoever opens the published database; nothing for other errors."""
    return next((to_do for words, to_do in _SHUT_OUT.items() if words in str(error)), "")


def refused(error: duckdb.Error) -> QueryFailed:
    """What the database says against a question, in its first lines, and what old names in it are called now."""
    lines = str(error).splitlines()[:_MESSAGE_LINES]
    missing = [_PART_MISSING] if _NO_FILES in str(error) else []
    return QueryFailed("\n".join([*lines, *new_names("\n".join(lines)), *missing]).rstrip())


def rows(connection: duckdb.DuckDBPyConnection, sql: str, parameters: Mapping[str, object] | None = None) -> list[Row]:
    """All rows of one query, each by the names of its columns."""
    found = connection.execute(sql, dict(parameters or {}))
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def asked(
    connection: duckdb.DuckDBPyConnection, name: str, parameters: Mapping[str, object] | None = None
) -> list[Row]:
    """All rows of the question sql/ask/.../<name>.sql."""
    return rows(connection, sql_file(name).text, parameters)
