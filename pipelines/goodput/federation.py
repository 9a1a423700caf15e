"""One database over what several lakes have published: each lake's rows with its name, and windows of all together.

Lakes are of regions or clusters that landed and measured their telemetry apart. Nothing is measured here again.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from goodput.contracts import contract
from goodput.errors import FederatedIntoLake, FederationUnlike, LakeUnwritable, NotPublished, QueryFailed
from goodput.plumbing.database import BESIDE_CONTRACTS, DERIVED, PUBLIC_INSIDE
from goodput.plumbing.files import write_atomically
from goodput.plumbing.graph import relation
from goodput.plumbing.lake import Lake
from goodput.plumbing.parameters import as_rows, register
from goodput.plumbing.sql_files import compute, connect, quoted, sql_file
from goodput.plumbing.store import download_published
from goodput.settings.lake_address import url_of

TOTALS = "federated_goodput"
_DATABASE = "goodput.duckdb"
_ALL_PERIODS = """CREATE TEMP TABLE shown_periods AS
SELECT DISTINCT
    format('{} {}', window_s, epoch_us(window_start)) AS period, window_start AS from_at,
    window_start + to_seconds(window_s) AS until_at, window_s AS whole_s, window_s AS drawn_s
FROM goodput"""
_ALL_SLICES = """CREATE TEMP TABLE shown_slices AS
SELECT row_number() OVER () AS choice, *
FROM (SELECT DISTINCT slice, slice_value, workload, model, pool, route FROM goodput WHERE slice <> 'finest')"""
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

    Raises FederatedIntoLake, NotPublished, FederationUnlike, QueryFailed, LakeUnwritable, ExtraMissing, StoreFailed.
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
                connection.execute(f"ATTACH {quoted(str(path))} AS {_attached(name)} (READ_ONLY)")
            for each in _FEDERATED:
                found[each] = _put_together(connection, each, [*members])
            _check_gates(connection)
            register(connection, "lakes", as_rows("lakes", *({"lake": name} for name in members)))
            found[TOTALS] = _add_up(connection)
            warnings[:] = _warn(connection, [*members])
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
    """The published database of each lake, on this machine. Raises NotPublished, ExtraMissing, StoreFailed."""
    with TemporaryDirectory(prefix="goodput-") as copies:
        found = {}
        for number, (name, lake) in enumerate(lakes.items()):
            url = url_of(lake)
            found[name] = Path(lake) / _DATABASE if url is None else Path(copies) / f"{number}.duckdb"
            if url is not None:
                download_published(url, _DATABASE, found[name])
            if not found[name].is_file():
                raise NotPublished(found[name] if url is None else f"{url}/{_DATABASE}")
        yield found


def _attached(name: str) -> str:
    return '"lake {}"'.format(name.replace('"', '""'))


def _put_together(connection: duckdb.DuckDBPyConnection, name: str, lakes: Sequence[str]) -> int:
    """A relation of all lakes; what an older version published may lack it, or a column that came since."""
    columns = _columns_of(name)
    rows = []
    for lake in lakes:
        there = {one for (one,) in connection.execute(_THERE, [f"lake {lake}", name]).fetchall()}
        if there:
            chosen = (f'"{c}"' if c in there else f'{kind} AS "{c}"' for c, (kind, _) in columns.items())
            rows.append(f'SELECT {quoted(lake)} AS lake, {", ".join(chosen)} FROM {_attached(lake)}.main."{name}"')  # noqa: S608
    connection.execute(f'CREATE TABLE "{name}" AS {" UNION ALL ".join(rows)}')
    _comment(
        connection,
        name,
        _description(name),
        {"lake": "The lake", **{c: description for c, (_, description) in columns.items()}},
    )
    return _count(connection, name)


def _columns_of(name: str) -> dict[str, tuple[str, str]]:
    """Of each column what stands for a value that is not there, and its meaning."""
    if name in BESIDE_CONTRACTS:
        return {column: ("NULL", description) for column, description in BESIDE_CONTRACTS[name][1].items()}
    return {column.name: (f"NULL::{column.duckdb_type}", column.description) for column in contract(name).columns}


def _description(name: str) -> str:
    return BESIDE_CONTRACTS[name][0] if name in BESIDE_CONTRACTS else contract(name).description


def _comment(connection: duckdb.DuckDBPyConnection, name: str, description: str, columns: Mapping[str, str]) -> None:
    connection.execute(f'COMMENT ON TABLE "{name}" IS {quoted(description)}')
    for column, meaning in columns.items():
        connection.execute(f'COMMENT ON COLUMN "{name}"."{column}" IS {quoted(meaning)}')


def _check_gates(connection: duckdb.DuckDBPyConnection) -> None:
    """Accepted by one lake's gates and by another's are not to be added up. Raises FederationUnlike."""
    unlike = connection.execute(sql_file("unlike_gates").text).fetchall()
    if unlike:
        raise FederationUnlike([(workload, term, values) for workload, term, values in unlike])


def _add_up(connection: duckdb.DuckDBPyConnection) -> int:
    connection.execute(_ALL_PERIODS)
    connection.execute(_ALL_SLICES)
    for name in ("period_accepted", "published_until"):
        compute(connection, name)
    connection.execute(f'CREATE TABLE "{TOTALS}" AS {sql_file(TOTALS).text}')
    connection.execute(f'COMMENT ON TABLE "{TOTALS}" IS {quoted(sql_file(TOTALS).header["description"])}')
    return _count(connection, TOTALS)


def _warn(connection: duckdb.DuckDBPyConnection, lakes: Sequence[str]) -> list[str]:
    """Note files that several lakes have read, and replicas that several know."""
    ledgers = (
        f"SELECT {quoted(lake)} AS lake, content_hash, path, status, rows_read "  # noqa: S608  (names that are quoted)
        f"FROM {_attached(lake)}.stored.source_ledger"
        for lake in lakes
    )
    connection.execute(f"CREATE TEMP TABLE source_ledger AS {' UNION ALL '.join(ledgers)}")
    messages: list[str] = []
    for name in ("shared_sources", "shared_replicas"):
        compute(connection, name)
        connection.execute(f'INSERT INTO warnings BY NAME SELECT * FROM "{name}"')  # noqa: S608
        messages += (message for (message,) in connection.execute(f'SELECT message FROM "{name}"').fetchall())  # noqa: S608
    return messages


def _count(connection: duckdb.DuckDBPyConnection, name: str) -> int:
    ((rows,),) = connection.execute(f'SELECT count(*) FROM "{name}"').fetchall()  # noqa: S608
    return int(rows)
