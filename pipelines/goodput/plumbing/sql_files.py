"""sql/: one file per relation, named as it is, in folders by stage. Reading headers and running files belong here."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from goodput.errors import SqlMissing, SqlNotUnique
from goodput.plumbing import interrupt
from goodput.plumbing.part_check import check_parts
from goodput.plumbing.spill import own_folder
from goodput.project_files import project_folder

if TYPE_CHECKING:
    import pyarrow as pa

Config = dict[str, str | bool | int | float | list[str]]  # as duckdb.connect takes it

# Set to some hours, as "2026-11-20T09": the database's views by hour then open hardly any part of others.
HOURS_VARIABLE = "goodput_hours"

_limits: dict[str, str | int] = {}
_spill: list[Path] = []
_in_memory_databases = count()

MACROS = "macros"  # the one file that is no relation

_MACRO = re.compile(r"^CREATE OR REPLACE TEMP MACRO (\w+)\(.*?;$", re.MULTILINE | re.DOTALL)
_CALLED = re.compile(r"\b(\w+)\(")
_HEADER = re.compile(r"^-- (\w+): (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class SqlFile:
    """One relation: its SQL and what its header says (description, grain, ...)."""

    name: str
    text: str

    @property
    def header(self) -> dict[str, str]:
        """Header lines `-- word: text` by their word."""
        return dict(_HEADER.findall(self.text))


@cache
def _paths() -> dict[str, Path]:
    """Every file below sql/ by its name, which is unique whatever folder it lies in."""
    found: dict[str, Path] = {}
    for path in sorted(project_folder("sql").rglob("*.sql")):
        if path.stem in found:
            raise SqlNotUnique(path.stem, [found[path.stem], path])
        found[path.stem] = path
    return found


@cache
def sql_names() -> frozenset[str]:
    """Names of all relations that have an SQL file."""
    return frozenset(_paths()) - {MACROS}


@cache
def sql_file(name: str) -> SqlFile:
    """Read the file `name`.sql, anywhere below sql/. Raises SqlMissing and SqlNotUnique."""
    paths = _paths()
    if name not in paths:
        raise SqlMissing(name, project_folder("sql"))
    return SqlFile(name, paths[name].read_text(encoding="utf-8"))


def macros_of(names: Iterable[str]) -> str:
    """The macros that the SQL of some relations uses, by themselves or within others: a question needs few of them.

    To create all takes a tenth of a second.
    """
    there = {found[1]: found[0] for found in _MACRO.finditer(sql_file(MACROS).text)}
    used: set[str] = set()
    waiting = [sql_file(name).text for name in names]
    while waiting:
        words = set(_CALLED.findall(waiting.pop()))
        waiting += [there[name] for name in words & there.keys() - used]
        used |= words & there.keys()
    return "\n".join(statement for name, statement in there.items() if name in used)


def connect(database: str = "", *, read_only: bool = False) -> duckdb.DuckDBPyConnection:
    """A DuckDB connection with the settings that every number relies on (UTC) and the shared macros.

    Without a file its tables, views and types must be temporary: the database in memory is one for the process, as
    opening one takes twenty times as long as a connection to it; what is temporary goes when the connection is closed.
    """
    if not database:
        connection = interrupt.stoppable(_in_memory().cursor())
        _set_up(connection)
        return connection
    connection = interrupt.stoppable(duckdb.connect(database, read_only=read_only, config=spilling(database)))
    _set_up(connection)
    if not read_only:
        connection.execute(sql_file(MACROS).text)
    return connection


def limit(threads: int, memory: str, spill: Path) -> None:
    """Bound what queries of this process take: threads, memory ("40%" of the machine's), and where they spill it."""
    _limits.update(threads=threads, memory_limit=memory)
    _spill[:] = [spill]
    connection = _in_memory()
    for name, value in (*_limits.items(), ("temp_directory", spilling()["temp_directory"])):
        connection.execute(f"SET {name} = ?", [value])


def connect_alone() -> duckdb.DuckDBPyConnection:
    """A DuckDB connection that shares nothing, for one file that is read: rows stay in their order."""
    return interrupt.stoppable(duckdb.connect(config={**spilling(), **_limits}))


def spilling(database: str = "") -> Config:
    """A folder that no other database spills to: each names its files alike, and removes all in the end.

    It is below one of this process alone (`spill`). Whoever opens a file a second time shares it.
    """
    name = (
        sha256(str(Path(database).absolute()).encode()).hexdigest()[:16]
        if database
        else str(next(_in_memory_databases))
    )
    parent = _spill[0] if _spill else own_folder()
    parent.mkdir(parents=True, exist_ok=True)
    return {"temp_directory": str(parent / name)}


@cache
def _in_memory() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config=spilling())
    connection.execute(sql_file(MACROS).text.replace(" TEMP MACRO ", " MACRO "))
    connection.execute("SET preserve_insertion_order = false")
    return connection


def _set_up(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET preserve_insertion_order = false")
    connection.execute("SET enable_progress_bar = false")  # progress is the command's to show


def compute(connection: duckdb.DuckDBPyConnection, name: str) -> int | None:
    """Make relation `name` of the relations that its SQL reads: a temporary table, or the view that its header says.

    Gives the number of its rows, of a view None.
    """
    found = sql_file(name)
    if found.header.get("kind") == "view":
        define(connection, name)
        return None
    made = connection.execute(parsed(f'CREATE OR REPLACE TEMP TABLE "{name}" AS {found.text}')).fetchall()
    return int(made[0][0])


def define(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Make relation `name` a view, whatever its header says."""
    connection.execute(parsed(f'CREATE OR REPLACE TEMP VIEW "{name}" AS {sql_file(name).text}'))


@cache
def parsed(sql: str) -> duckdb.Statement:
    """One statement, parsed once for the process: over few rows that is a tenth of what it costs."""
    (statement,) = _in_memory().cursor().extract_statements(sql)
    return statement


def read_parts(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    files: Iterable[str],
    empty: "pa.Schema",
    *,
    alike: bool = False,
) -> None:
    """Make relation `name` a temporary view of Parquet files, or an empty table of schema `empty` without any.

    `alike`: all files have those columns, so that only those are opened whose rows are asked for. Else what some do not
    have, as an older version wrote them, is NULL. Raises LakeUnreadable.
    """
    named = list(files)
    if not named:
        connection.register(name, empty.empty_table())
        return
    rows = f"SELECT * FROM {parquet(named, alike=alike)}"  # noqa: S608
    if not alike:
        agreed = f"{name} of its contract"
        connection.register(agreed, empty.empty_table())
        rows += f' UNION ALL BY NAME SELECT * FROM "{agreed}"'  # noqa: S608
    connection.execute(f'CREATE OR REPLACE TEMP VIEW "{name}" AS {rows}')


def parquet(files: Iterable[str], *, named: bool = False, alike: bool = False) -> str:
    """The rows of Parquet files as an SQL table; what their folders are called is no column of theirs.

    `named`: the column `filename` says in which file a row lies. `alike`: all have the same columns. Raises
    LakeUnreadable where one is a part and not as it was written.
    """
    there = list(files)
    check_parts(there)
    listed = ", ".join(quoted(file) for file in there)
    more = ", filename = true" if named else ""
    return f"read_parquet([{listed}], union_by_name = {not alike}, hive_partitioning = false{more})"


def quoted(text: str) -> str:
    """Text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"
