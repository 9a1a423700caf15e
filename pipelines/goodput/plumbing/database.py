"""goodput.duckdb, what users open: measured tables inside, views over the larger Parquet, a comment on everything.

Only what changed since it was last published is written. It is updated beside and renamed over, so that readers and
the pipeline never wait for each other. Schema `main` holds the public relations, schema `stored` what they are made of.
"""

import json
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import duckdb
import pyarrow as pa

from goodput.contracts import Column, arrow_schema, contract, contract_names
from goodput.errors import LakeUnwritable
from goodput.plumbing.cache_file import read_cache
from goodput.plumbing.catalog import ALL, PARTITION
from goodput.plumbing.files import write_atomically
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.foreign_log import remove_logs
from goodput.plumbing.graph import relation
from goodput.plumbing.hours import instant_of
from goodput.plumbing.lake import Lake, write_parquet
from goodput.plumbing.parameters import PARAMETERS
from goodput.plumbing.pruned import read_pruned
from goodput.plumbing.published_head import is_written_to, note_head
from goodput.plumbing.published_macros import SQL_FILES, create_macros
from goodput.plumbing.sql_files import HOURS_VARIABLE, connect, parquet, quoted, spilling, sql_file
from goodput.settings.gates import GATES

LAKE_VARIABLE = "goodput_lake"  # set to its folder where a lake was moved: views look there
_STATE = "state"
_NOTED = "published.json"
_BETWEEN = "\n"  # paths of parts; none has one within
DERIVED = (
    "sources",
    "sessions",
    "binding_gate",
    "accepted_units",
    "unjoined_labels",
    "unknown_metrics",
)  # views whose arithmetic is sql/
_INSIDE = tuple(name for name in contract_names() if contract(name).published in ("table", "inside"))
PUBLIC_INSIDE = tuple(name for name in _INSIDE if contract(name).published == "table")
_ADDED = {contract(name).published: name for name in contract_names() if contract(name).published in contract_names()}
_VIEWS = tuple(name for name in contract_names() if contract(name).published == "view")
_OVER_PARTS = (*_VIEWS, "session_hours", "id_hours", "label_records")
_WORKLOADS = "The gates of each workload as the settings give them: one row per gate, or one without a gate"
_WORKLOAD_COLUMNS = {
    "workload": "Name of the workload",
    "gate": f"A gate that is set: {', '.join(GATES[1:-1])} or {GATES[-1]}",
    "bound": "Largest value that passes, seconds or retries; of quality the least score, NULL where none is set",
    "on_missing": "Of a gate on a time, what a request without the measurement does: fail (it is unevaluable) or pass",
    "unlabelled": "Of the gate quality, how requests without a label count: estimate, fail or pass",
    "sampling": "Of the gate quality, how labelled requests were drawn: random, session (whole sessions) or none",
    "unit": "What goodput counts of the workload: request or session",
    "unit_label": "What an accepted one is called",
}
_PRUNED = "How far back each relation has rows of which older ones were pruned; one without a row here has all"
_PRUNED_COLUMNS = {
    "relation": "Name of the relation",
    "holds": "windows: what was measured; rows: what it was measured from",
    "kept_from": "From when on its rows are kept: before it were rows too, and none there now says nothing of traffic",
}
_SETTINGS = "Settings beside gates that change what numbers mean, as the last run had them"
_SETTING_COLUMNS = {
    "setting": "Key of the setting in goodput.toml",
    "value": "Its value, the default where none is given: a number, a word, a list with commas, or JSON",
}
BESIDE_CONTRACTS = {
    "workloads": (_WORKLOADS, _WORKLOAD_COLUMNS),
    "settings": (_SETTINGS, _SETTING_COLUMNS),
    "pruned": (_PRUNED, _PRUNED_COLUMNS),
}
_NO_SETTINGS = PARAMETERS["settings"].schema.empty_table()


@dataclass(frozen=True)
class Published:
    """What was published, and whether anything changed."""

    lake: Lake
    changed: bool

    @cached_property
    def rows(self) -> Mapping[str, int]:
        """Rows of each public table inside the database; counting looks at every partition."""
        return row_counts(self.lake)


def publish(lake: Lake, workloads: pa.Table, settings: pa.Table = _NO_SETTINGS, *, anew: bool = False) -> Published:
    """Bring goodput.duckdb up to what the catalog lists; it is left alone where that is what it holds.

    `workloads` has a row per workload and gate, `settings` one per setting that users see. `anew`: no byte of the file
    as it was stays. What another program wrote beside it or into it is dropped. Raises LakeUnreadable, LakeUnwritable.
    """
    _drop_foreign_logs(lake)
    given = {"workloads": workloads, "settings": settings}
    versions, rest = _versions(lake), _rest(lake, given)
    state = fingerprint(versions, rest)  # equal ones need no look at any partition
    found = None if anew else _published_state(lake)
    if found is not None and is_written_to(lake.database, found):
        found, anew = None, True
    others = _tables_since_noted(lake, found, rest, versions)
    if found == state or others == set():
        return Published(lake, changed=False)
    held = {} if anew else published_digests(lake)
    wanted = _wanted(lake, given, held, others)
    if held == wanted:
        _note(lake, found, rest, versions)
        return Published(lake, changed=False)
    is_same_layout = held.get("layout") == wanted["layout"]
    changed = {key: digest for key, digest in wanted.items() if held.get(key) != digest or not is_same_layout}
    gone = held.keys() - wanted.keys() if is_same_layout else set()

    unreadable: dict[str, str] = {}

    def build(temporary: Path) -> None:
        log = temporary.with_name(f"{temporary.name}.wal")
        temporary.unlink(missing_ok=True)
        log.unlink(missing_ok=True)  # of a run that was killed; DuckDB would replay it
        if is_same_layout:
            shutil.copyfile(lake.database, temporary)
        try:
            with connect(str(temporary)) as connection:
                connection.begin()
                _know_lake(connection, lake)
                if not is_same_layout:
                    _lay_out(connection, lake, unreadable)
                _update(connection, lake, {*changed, *gone}, given, unreadable)
                good = {name: digest for name, digest in changed.items() if name not in unreadable}
                # what was unreadable is tried again
                _remember(connection, good if unreadable else good | {_STATE: state}, {*gone, *unreadable})
                _write_out(connection, lake.database)
        except duckdb.IOException as error:
            raise LakeUnwritable(lake.database, OSError(str(error))) from error
        finally:
            log.unlink(missing_ok=True)

    ensure_deliveries(lake)
    try:
        lake.keep(lake.database, build)
    except (duckdb.Error, LakeUnwritable):
        unreadable |= _unreadable(lake)
        if not unreadable:
            raise
        lake.keep(lake.database, build)
    made = _published_state(lake)
    note_head(lake.database, made or state)
    _note(lake, made, rest, versions)
    return Published(lake, changed=True)


def _drop_foreign_logs(lake: Lake) -> None:
    try:
        remove_logs(lake.database)
    except OSError as error:
        raise LakeUnwritable(lake.database, error) from error


def _unreadable(lake: Lake) -> dict[str, str]:
    """Tables that views lie over and of which a part cannot be opened, with the reason."""
    found = {}
    for name in _OVER_PARTS:
        try:
            with connect() as connection:
                _know_lake(connection, lake)
                connection.sql(_over_parts(lake, name))
        except duckdb.Error as error:
            found[name] = str(error).splitlines()[0]
    return found


def _versions(lake: Lake) -> dict[str, int]:
    """The version of each table of which the database has rows or views."""
    return {name: lake.catalog[name].version for name in (*_INSIDE, *_OVER_PARTS, *_ADDED.values())}


def _rest(lake: Lake, given: Mapping[str, pa.Table]) -> str:
    """A digest of all that is published beside the tables of the lake."""
    return fingerprint(*(rows.to_pylist() for rows in given.values()), _pruned(lake), _layout(lake))


def _pruned(lake: Lake) -> list[tuple[str, str, str]]:
    """Public relations of which rows were pruned, with what they hold and the first partition that is kept."""
    gone_before = read_pruned(lake.root).gone_before
    holds = {"table": "windows", "view": "rows"}
    found = ((name, holds.get(contract(name).published), first) for name, first in sorted(gone_before.items()))
    return [(name, what, first) for name, what, first in found if what]


def _published_state(lake: Lake) -> str | None:
    if not lake.database.exists():
        return None
    try:
        with duckdb.connect(str(lake.database), read_only=True, config=spilling(str(lake.database))) as connection:
            found = connection.execute("SELECT digest FROM stored.published WHERE name = $1", [_STATE]).fetchone()
    except duckdb.Error:  # made by another version, or damaged
        return None
    return None if found is None else str(found[0])


def _tables_since_noted(
    lake: Lake, published: str | None, rest: str, versions: Mapping[str, int]
) -> Collection[str] | None:
    """The tables that have changed since this very database was made, or found, to hold all rows of the lake.

    None where nobody knows, or anything beside tables has changed.
    """
    noted = read_cache(lake.root / _NOTED, tuple[str | None, str, dict[str, int]])
    if published is None or noted is None or noted[:2] != (published, rest):
        return None
    return {name for name, version in versions.items() if version != noted[2].get(name)}


def _note(lake: Lake, published: str | None, rest: str, versions: Mapping[str, int]) -> None:
    """Spare the next run the comparison of every partition; readers have the database open, which is left alone."""
    text = json.dumps([published, rest, versions])
    write_atomically(lake.root / _NOTED, lambda path: path.write_text(text))


def _layout(lake: Lake) -> str:
    return fingerprint(
        _address(lake),
        [str(contract(name)) for name in contract_names()],
        [sql_file(name).text for name in (*DERIVED, *SQL_FILES, "request_costs", "macros")],
        BESIDE_CONTRACTS,
    )


def _wanted(
    lake: Lake, given: Mapping[str, pa.Table], held: Mapping[str, str], others: Collection[str] | None
) -> dict[str, str]:
    """What the database must hold, as digests: `table/partition` of tables inside, `table` of views, and the layout.

    Where it `held` all but what changed in `others`, no part of another table is listed.
    """
    if held and others:
        shown = {*others, *(name for name in _OVER_PARTS if _ADDED.get(name) in others)}
        kept = {key: digest for key, digest in held.items() if key.partition("/")[0] not in shown}
        return kept | _of_tables(lake, others)
    beside = {name: fingerprint(rows.to_pylist()) for name, rows in given.items()}
    beside["pruned"] = fingerprint(_pruned(lake))
    return {**_of_tables(lake, {*_INSIDE, *_OVER_PARTS}), **beside, "layout": _layout(lake)}


def _of_tables(lake: Lake, names: Collection[str]) -> dict[str, str]:
    """The same of some tables; those whose parts lie under the view of another belong to it."""
    inside = {
        f"{name}/{p}": digest for name in _INSIDE if name in names for p, digest in lake.catalog[name].contents.items()
    }
    views = {name: fingerprint(_relative(lake, name)) for name in _OVER_PARTS if {name, _ADDED.get(name)} & {*names}}
    return {**inside, **views}


def published_digests(lake: Lake) -> dict[str, str]:
    """What the database holds, as digests by name of what was published; empty where there is none."""
    if not lake.database.exists():
        return {}
    try:
        with connect(str(lake.database), read_only=True) as connection:
            found = dict(connection.sql("SELECT name, digest FROM stored.published").fetchall())
    except duckdb.Error:  # made by another version, or damaged: it is built anew
        return {}
    found.pop(_STATE, None)
    return found


def _remember(connection: duckdb.DuckDBPyConnection, changed: Mapping[str, str], gone: Iterable[str]) -> None:
    rows = pa.table({"name": pa.array(changed.keys(), pa.string()), "digest": pa.array(changed.values(), pa.string())})
    names = pa.table({"name": pa.array([*changed, *gone, _STATE], pa.string())})
    connection.register("changed_names", names)
    connection.register("changed_digests", rows)
    connection.execute("DELETE FROM stored.published WHERE name IN (SELECT name FROM changed_names)")
    connection.execute("INSERT INTO stored.published SELECT name, digest FROM changed_digests")


def _lay_out(connection: duckdb.DuckDBPyConnection, lake: Lake, unreadable: Mapping[str, str]) -> None:
    """Create every relation, empty, with its comments."""
    connection.execute("CREATE SCHEMA stored")
    connection.execute("CREATE TABLE stored.published (name VARCHAR, digest VARCHAR)")
    for name in _INSIDE:
        columns = ", ".join(f'"{column.name}" {column.duckdb_type}' for column in contract(name).columns)
        connection.execute(f'CREATE TABLE stored."{name}" ({columns}, period VARCHAR)')
    for name in _OVER_PARTS:
        connection.execute(_view_over_parts(lake, name, unreadable))
    for name in (*PUBLIC_INSIDE, *_VIEWS):
        connection.execute(f'CREATE VIEW "{name}" AS SELECT {_columns(name)} FROM stored."{name}"')  # noqa: S608
    deliveries = f"{_lake_folder(lake)} || '/notified/deliveries.parquet'"
    connection.execute(f"CREATE VIEW deliveries AS SELECT {_columns('deliveries')} FROM read_parquet({deliveries})")  # noqa: S608
    _lay_out_beside(connection)
    for name in DERIVED:
        connection.execute(f'CREATE VIEW "{name}" AS {_derived(name)}')
    for name in (*PUBLIC_INSIDE, *_VIEWS, *DERIVED, "deliveries"):
        _comment(connection, name)
    create_macros(connection, {*_INSIDE})


def _lay_out_beside(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute(
        "CREATE TABLE workloads (workload VARCHAR, gate VARCHAR, bound DOUBLE, on_missing VARCHAR, "
        "unlabelled VARCHAR, sampling VARCHAR, unit VARCHAR, unit_label VARCHAR)"
    )
    connection.execute("CREATE TABLE settings (setting VARCHAR, value VARCHAR)")
    connection.execute("CREATE TABLE pruned (relation VARCHAR, holds VARCHAR, kept_from TIMESTAMPTZ)")
    for name, (meaning, columns) in BESIDE_CONTRACTS.items():
        connection.execute(f"COMMENT ON TABLE {name} IS {quoted(meaning)}")
        for column, comment in columns.items():
            connection.execute(f'COMMENT ON COLUMN {name}."{column}" IS {quoted(comment)}')


def _update(
    connection: duckdb.DuckDBPyConnection,
    lake: Lake,
    changed: Iterable[str],
    given: Mapping[str, pa.Table],
    unreadable: Mapping[str, str],
) -> None:
    """Write what changed: partitions of tables inside, views whose files are others, what is beside contracts."""
    partitions: dict[str, list[str]] = {}
    keys = sorted(changed)
    for key in keys:
        name, _, partition = key.partition("/")
        if partition:
            partitions.setdefault(name, []).append(partition)
        elif name in _OVER_PARTS and name != "requests":
            connection.execute(_view_over_parts(lake, name, unreadable))
        elif name in given:
            connection.execute(f"DELETE FROM {name}")  # noqa: S608  (a name of ours)
            connection.register("given_rows", given[name])
            connection.execute(f"INSERT INTO {name} BY NAME SELECT * FROM given_rows")  # noqa: S608
        elif name == "pruned":
            connection.execute("DELETE FROM pruned")
            for relation_name, holds, first in _pruned(lake):
                connection.execute("INSERT INTO pruned VALUES ($1, $2, $3)", [relation_name, holds, instant_of(first)])
    for name, periods in partitions.items():
        _replace_partitions(connection, lake, name, periods)
    create_macros(connection, {*partitions})
    if "requests" in keys or "waste" in partitions:
        connection.execute(_view_over_parts(lake, "requests", unreadable))
        if "requests" not in unreadable:
            _cost_requests(connection, lake)


def _replace_partitions(connection: duckdb.DuckDBPyConnection, lake: Lake, name: str, periods: list[str]) -> None:
    connection.register("changed_periods", pa.table({"period": pa.array(periods, pa.string())}))
    connection.execute(f'DELETE FROM stored."{name}" WHERE period IN (SELECT period FROM changed_periods)')  # noqa: S608
    files = lake.catalog[name].files(periods)
    if files:
        order = f"ORDER BY {contract(name).order}" if contract(name).order else ""
        known = [column.name for column in contract(name).columns]  # parts of closed hours may have an older version's
        connection.execute(
            f'INSERT INTO stored."{name}" BY NAME '  # noqa: S608
            f"SELECT COLUMNS(lambda found: list_contains({known}, found)), "
            f"regexp_extract(filename, 'period=([^/]+)/', 1) AS period "
            f"FROM {parquet(files, named=True)} {order}"
        )


def _relative(lake: Lake, name: str) -> list[str]:
    tables = [name, _ADDED[name]] if name in _ADDED else [name]
    of_tables = (lake.catalog[table].parts for table in tables)
    paths = (part.file for parts in of_tables for name in sorted(parts) for part in parts[name] if part.rows)
    below = len(str(lake.root)) + 1
    return [path[below:] for path in paths]


def _lake_folder(lake: Lake) -> str:
    return f"coalesce(getvariable('{LAKE_VARIABLE}'), {quoted(_address(lake))})"


def _address(lake: Lake) -> str:
    """Where views look that are given no other place."""
    return lake.store.url or str(lake.root.absolute())


def _know_lake(connection: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    """Let views be made where most of their parts are elsewhere: those of a table by the hour are made with the first
    of them, and their first questions ask for none."""
    if lake.store.url is None:
        return
    connection.execute(f"SET VARIABLE {LAKE_VARIABLE} = $1", [str(lake.root.absolute())])
    connection.execute(f"SET VARIABLE {HOURS_VARIABLE} = []::VARCHAR[]")
    for name in _OVER_PARTS:
        files = _relative(lake, name)
        of_hours = contract(name).partition == "hour" and _are_alike(lake, name)
        lake.store.fetch(lake.root / file for file in (files[:1] if of_hours else files))


@contextmanager
def published(lake: Lake) -> Iterator[duckdb.DuckDBPyConnection]:
    """A read-only connection to goodput.duckdb as it is in the folder, of which the views find their parts."""
    with connect(str(lake.database), read_only=True) as connection:
        connection.execute(f"SET VARIABLE {LAKE_VARIABLE} = $1", [str(lake.root.absolute())])
        yield lake.store.reading(connection)


def _view_over_parts(lake: Lake, name: str, unreadable: Mapping[str, str]) -> str:
    """A view of a table's parts; where one of them cannot be opened, asking it gives that as the error."""
    if name in unreadable:
        rows = f"SELECT {_typed_nulls(name)} WHERE error({quoted(unreadable[name])})"
    else:
        rows = _over_parts(lake, name)
    return f'CREATE OR REPLACE VIEW stored."{name}" AS {rows}'


def _over_parts(lake: Lake, name: str) -> str:
    """A query of the rows of a table's parts; of none without parts."""
    files = _relative(lake, name)
    if files:
        paths = f"list_transform({_asked(name, files)}, lambda file: {_lake_folder(lake)} || '/' || file)"
        alike = _are_alike(lake, name)
        rows = f"FROM read_parquet({paths}, union_by_name = {not alike}, hive_partitioning = false)"
        if not alike:  # of an older version's parts none may have a column that came since
            rows = f"FROM (SELECT * {rows} UNION ALL BY NAME SELECT {_typed_nulls(name)} WHERE false)"
    else:
        rows = f"FROM (SELECT {_typed_nulls(name)} WHERE false)"
    return f"SELECT {_columns(name)} {rows}"


def _asked(name: str, files: Sequence[str]) -> str:
    """A list of the files, or, by HOURS_VARIABLE, of the first of them and those of the hours asked for."""
    listed = f"string_split({quoted(_BETWEEN.join(files))}, chr({ord(_BETWEEN)}))"  # a list of texts is slow to parse
    if contract(name).partition != "hour":
        return listed
    hours = f"getvariable('{HOURS_VARIABLE}')"
    period = f"regexp_extract(file, '{PARTITION}=([^/]+)/', 1)"
    is_asked = f"{hours} IS NULL OR {period} = '{ALL}' OR list_contains({hours}::VARCHAR[], {period})"
    return f"list_filter({listed}, lambda file, place: place = 1 OR {is_asked})"


def _are_alike(lake: Lake, name: str) -> bool:
    """Whether all parts of a view have the same columns: only the first is then opened to know them."""
    tables = [name, *([_ADDED[name]] if name in _ADDED else [])]
    columns = {tuple(column.name for column in contract(table).columns) for table in tables}
    return len(columns) == 1 and all(lake.catalog[table].is_uniform for table in tables)


def _typed_nulls(name: str) -> str:
    return ", ".join(f'NULL::{column.duckdb_type} AS "{column.name}"' for column in contract(name).columns)


def _columns(name: str) -> str:
    return ", ".join(f'"{column.name}"' for column in contract(name).columns)


def _cost_requests(connection: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    """Give requests what they cost, once any of it is known: their parts are made before the ledger."""
    if not connection.sql("SELECT 1 FROM stored.waste WHERE usd IS NOT NULL LIMIT 1").fetchall():
        return
    columns = ", ".join(
        "costs.cost_usd" if column.name == "cost_usd" else f'uncosted."{column.name}"'
        for column in contract("requests").columns
    )
    connection.execute(
        f"CREATE OR REPLACE VIEW stored.requests AS SELECT {columns} "  # noqa: S608  (columns of the contract)
        f"FROM ({_over_parts(lake, 'requests')}) AS uncosted "
        f"LEFT JOIN ({sql_file('request_costs').text}) AS costs ON costs.request_key = uncosted.request_key"
    )


def _derived(name: str) -> str:
    inner = sorted(relation(name).reads & {*_INSIDE, *_OVER_PARTS} - {*PUBLIC_INSIDE, *_VIEWS})
    reads = ", ".join(f'"{table}" AS (SELECT * FROM stored."{table}")' for table in inner)  # noqa: S608
    return f"{f'WITH {reads} ' if reads else ''}SELECT {_columns(name)} FROM ({sql_file(name).text})"  # noqa: S608


def _comment(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    agreed = contract(name)
    connection.execute(f'COMMENT ON VIEW "{name}" IS {quoted(agreed.description)}')
    for column in agreed.columns:
        connection.execute(f'COMMENT ON COLUMN "{name}"."{column.name}" IS {quoted(_described(column))}')


def _described(column: Column) -> str:
    return column.description if column.unit is None else f"{column.description} [{column.unit}]"


def deliveries_file(lake: Lake) -> Path:
    """Where the outbox of alarms is written for users to ask; between runs, too, so the view reads what is there."""
    return lake.root / "notified" / "deliveries.parquet"


def ensure_deliveries(lake: Lake) -> None:
    """Have that file, for the view over it: without a row where nothing was ever to be sent."""
    path = deliveries_file(lake)
    if not path.exists():
        with suppress(LakeUnwritable):  # whoever else is writing it at this moment does as well
            write_parquet(path, arrow_schema("deliveries").empty_table())


def row_counts(lake: Lake) -> dict[str, int]:
    """Rows of the public tables inside, from the catalog."""
    return {
        name: sum(part.rows for parts in lake.catalog[name].parts.values() for part in parts) for name in PUBLIC_INSIDE
    }


def _write_out(connection: duckdb.DuckDBPyConnection, database: Path) -> None:
    try:
        connection.commit()
        connection.execute("CHECKPOINT")  # closing would do it too, but not say that the disk is full
    except duckdb.Error as error:
        raise LakeUnwritable(database, OSError(str(error))) from error
