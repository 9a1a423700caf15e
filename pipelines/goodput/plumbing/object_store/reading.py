"""Questions to the published database of which the views read parts that are not on this machine yet.

DuckDB looks for every file of a view before it reads the first, and names one that is not there; the parts of that
table come then, of all hours or of those asked for, and the question is asked again.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import duckdb

from goodput.plumbing.catalog import PARTITION
from goodput.plumbing.sql_files import HOURS_VARIABLE

_MISSING = re.compile(r'No files found that match the pattern "([^"]+)"')


class FetchingConnection:
    """A connection as DuckDB's own, whose `execute` and `sql` have the parts fetched that they read."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, root: Path, fetch: Callable[[Iterable[Path]], None]
    ) -> None:
        self._connection = connection
        self._root = root.absolute()
        self._fetch = fetch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def __enter__(self) -> "FetchingConnection":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def execute(self, *given: Any, **named: Any) -> Any:
        """As DuckDB's. Raises LakeUnreadable, StoreFailed, and what it raises."""
        return self._asked(self._connection.execute, *given, **named)

    def sql(self, *given: Any, **named: Any) -> Any:
        """As DuckDB's. Raises LakeUnreadable, StoreFailed, and what it raises."""
        return self._asked(self._connection.sql, *given, **named)

    def _asked(self, ask: Callable[..., Any], *given: Any, **named: Any) -> Any:
        fetched: set[str] = set()
        while True:
            try:
                return ask(*given, **named)
            except duckdb.IOException as error:
                table = self._table_of(str(error))
                if table is None or table in fetched:
                    raise
                fetched.add(table)
            self._fetch(self._parts_of(table))

    def _table_of(self, message: str) -> str | None:
        """The layer and table of the part that a message misses, such as `joined/requests`."""
        found = _MISSING.search(message)
        if found is None or not Path(found[1]).is_relative_to(self._root):
            return None
        layer, table, *rest = Path(found[1]).relative_to(self._root).parts
        return f"{layer}/{table}" if rest and rest[0].startswith(f"{PARTITION}=") else None

    def _parts_of(self, table: str) -> list[Path]:
        views = self._connection.cursor().execute("SELECT sql FROM duckdb_views()").fetchall()
        ((hours,),) = self._connection.execute(f"SELECT getvariable('{HOURS_VARIABLE}')").fetchall()
        part = re.compile(rf"{re.escape(table)}/{PARTITION}=([^/\s']+)/[\w-]+\.parquet")
        names = {found[0]: found[1] for (sql,) in views for found in part.finditer(sql)}
        first = min(names, default=None)
        wanted = [name for name, period in names.items() if hours is None or period in {*hours, "all"} or name == first]
        return [self._root / name for name in wanted]
