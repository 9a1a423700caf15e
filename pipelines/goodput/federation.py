"""One database over what several lakes have published: each lake's rows with its name, and windows of all together.

Lakes are of regions or clusters that landed and measured their telemetry apart. Nothing is measured here again.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pyarrow as pa

from goodput.contracts import arrow_schema, contract
from goodput.errors import (
    FederatedIntoLake,
    FederatedLakeUnreadable,
    LakeUnwritable,
    NotPublished,
    QueryFailed,
)
from goodput.federated_sums import add_up, check_gates, warn
from goodput.plumbing.database import BESIDE_CONTRACTS, DERIVED, PUBLIC_INSIDE
from goodput.plumbing.files import write_atomically
from goodput.plumbing.graph import relation
from goodput.plumbing.lake import Lake
from goodput.plumbing.parameters import PARAMETERS, as_rows, register
from goodput.plumbing.several_lakes import TOTALS, refuse_several
from goodput.plumbing.sql_files import connect, quoted
from goodput.plumbing.store import download_published
from goodput.settings.lake_address import url_of

_DATABASE = "goodput.duckdb"
_THERE = (
    "SELECT column_name FROM duckdb_columns() WHERE database_name = $1 AND schema_name = 'main' AND table_name = $2"
)
_WITHOUT_PARTS = [name for name in DERIVED if relation(name).reads <= {*PUBLIC_INSIDE, "gates"}]
_FEDERATED = (*PUBLIC_INSIDE, *_WITHOUT_PARTS, *BESIDE_CONTRACTS)


@dataclass(frozen=True)
class Federated:
    """What was put together: the database, rows of each relation in it, and what makes its sums wrong."""

    database: Path
    rows: Mapping[str, int]
    warnings: Sequence[str]


def federate(lakes: Mapping[str, str], folder: Path) -> Federated:
    """Write goodput.duckdb of the lakes (name -> folder, or address of a bucket) into a folder.

    Raises FederatedIntoLake, NotPublished, SeveralLakes, FederatedLakeUnreadable, FederationUnlike, FederationApart,
    QueryFailed, LakeUnwritable, ExtraMissing, StoreFailed, LakeTooNew.
    """
    if Lake(folder).is_made:
        raise FederatedIntoLake(folder)
    database = folder / _DATABASE
    found: dict[str, int] = {}
    warnings: list[str] = []

    def build(temporary: Path) -> None:
        temporary.unlink(missing_ok=True)
        with connect(str(temporary)) as connection:
            for name, path in members.items():
                with _reading(name, lakes):
                    connection.execute(f"ATTACH {quoted(str(path))} AS {_attached(name)} (READ_ONLY)")
            for each in _FEDERATED:
                found[each] = _put_together(connection, each, lakes)
            register(connection, "lakes", as_rows("lakes", *({"lake": name} for name in lakes)))
            _note_sources(connection, lakes)
            check_gates(connection)
            found[TOTALS] = add_up(connection)
            warnings[:] = warn(connection)
            for name in members:
                connection.execute(f"DETACH {_attached(name)}")
            connection.execute("CHECKPOINT")

    try:
        with _databases(lakes) as members, _made(folder):
            write_atomically(database, build)
    except OSError as error:
        raise LakeUnwritable(database, error) from error
    except duckdb.Error as error:
        raise QueryFailed(str(error)) from error
    return Federated(database, found, warnings)


@contextmanager
def _made(folder: Path) -> Iterator[None]:
    """A folder that is there; one that was not goes again where nothing comes of it."""
    was_there = folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        if not was_there:
            with suppress(OSError):  # what went wrong is to be told, not that the folder is not empty
                folder.rmdir()
        raise


@contextmanager
def _databases(lakes: Mapping[str, str]) -> Iterator[dict[str, Path]]:
    """The published database of each lake, on this machine.

    Raises NotPublished, SeveralLakes, ExtraMissing, StoreFailed, LakeTooNew.
    """
    with TemporaryDirectory(prefix="goodput-") as copies:
        found = {}
        for number, (name, lake) in enumerate(lakes.items()):
            url = url_of(lake)
            found[name] = Path(lake) / _DATABASE if url is None else Path(copies) / f"{number}.duckdb"
            if url is None:
                refuse_several(Path(lake))
            else:
                download_published(url, _DATABASE, found[name])
            if not found[name].is_file():
                raise NotPublished(found[name] if url is None else f"{url}/{_DATABASE}")
        yield found


@contextmanager
def _reading(name: str, lakes: Mapping[str, str]) -> Iterator[None]:
    """Say of which lake it is what DuckDB cannot read. Raises FederatedLakeUnreadable."""
    try:
        yield
    except duckdb.Error as error:
        raise FederatedLakeUnreadable(name, lakes[name], str(error)) from error


def _attached(name: str) -> str:
    return '"lake {}"'.format(name.replace('"', '""'))


def _put_together(connection: duckdb.DuckDBPyConnection, name: str, lakes: Mapping[str, str]) -> int:
    """A relation of all lakes; what an older version published may lack it, or a column that came since."""
    columns = _schema(name).names
    connection.register("no_rows", _schema(name).empty_table())
    connection.execute(f'CREATE TABLE "{name}" AS SELECT NULL::VARCHAR AS lake, * FROM no_rows')  # noqa: S608
    for lake in lakes:
        with _reading(lake, lakes):
            there = {one for (one,) in connection.execute(_THERE, [f"lake {lake}", name]).fetchall()}
            chosen = ", ".join([f"{quoted(lake)} AS lake", *(f'"{c}"' for c in columns if c in there)])
            if there:
                rows = f'SELECT {chosen} FROM {_attached(lake)}.main."{name}"'  # noqa: S608  (names that are quoted)
                connection.execute(f'INSERT INTO "{name}" BY NAME {rows}')
    _comment(connection, name)
    ((count,),) = connection.execute(f'SELECT count(*) FROM "{name}"').fetchall()  # noqa: S608
    return int(count)


def _schema(name: str) -> pa.Schema:
    return PARAMETERS[name].schema if name in BESIDE_CONTRACTS else arrow_schema(name)


def _comment(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    if name in BESIDE_CONTRACTS:
        description, columns = BESIDE_CONTRACTS[name]
    else:
        description = contract(name).description
        columns = {column.name: column.description for column in contract(name).columns}
    connection.execute(f'COMMENT ON TABLE "{name}" IS {quoted(description)}')
    for column, meaning in {"lake": "The lake", **columns}.items():
        connection.execute(f'COMMENT ON COLUMN "{name}"."{column}" IS {quoted(meaning)}')


def _note_sources(connection: duckdb.DuckDBPyConnection, lakes: Mapping[str, str]) -> None:
    """Have the files that each lake has read, while the database is made."""
    columns = "content_hash, path, status, rows_read"
    connection.execute(
        "CREATE TEMP TABLE source_ledger "
        "(lake VARCHAR, content_hash VARCHAR, path VARCHAR, status VARCHAR, rows_read BIGINT)"
    )
    for lake in lakes:
        with _reading(lake, lakes):
            rows = f"SELECT {quoted(lake)}, {columns} FROM {_attached(lake)}.stored.source_ledger"  # noqa: S608
            connection.execute(f"INSERT INTO source_ledger {rows}")
