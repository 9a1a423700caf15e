"""Columns of relations as their SQL was last planned: one that has no rows is made of them, without planning again.

Over few rows, planning is most of what a run costs.
"""

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

import duckdb
import msgspec

from goodput.contracts import contract, contract_names
from goodput.plumbing.cache_file import read_cache
from goodput.plumbing.files import write_atomically
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.parameters import PARAMETERS
from goodput.plumbing.sql_files import MACROS, parsed, sql_file, sql_names

_Columns = Mapping[str, str]  # their types in DuckDB's words, by name
Shapes = Mapping[str, _Columns]  # by version, node and relation

_FILE = "shapes.json"
_OF_DATA = "ENUM("  # a type whose values are those of the data
_known: dict[str, _Columns] = {}  # of this process and those before it
_noted: dict[str, _Columns] = {}  # of this process alone, until it is asked


def recall(folder: Path) -> None:
    """Take what their file in a folder holds of earlier runs."""
    learn(read_cache(folder / _FILE, dict[str, dict[str, str]]) or {})


def remember(folder: Path) -> None:
    """Write what is known of this version to their file in a folder. Raises LakeUnwritable."""
    path = folder / _FILE
    known = sorted(_known.items())
    if len({key.split(" ", 1)[0] for key in _known}) > 1:  # a run with nothing new need not know its version
        known = [(key, columns) for key, columns in known if key.startswith(version())]
    text = msgspec.json.encode(dict(known))
    if not path.exists() or path.read_bytes() != text:
        write_atomically(path, lambda temporary: temporary.write_bytes(text))


def learn(shapes: Shapes) -> None:
    """Take what is known elsewhere."""
    _known.update(shapes)


def noted() -> Shapes:
    """What was noted in this process since this was last asked."""
    found = dict(_noted)
    _noted.clear()
    return found


def note(connection: duckdb.DuckDBPyConnection, node: str, name: str) -> None:
    """Note the columns of a relation that a node has computed on a connection."""
    key = _key(node, name)
    if key not in _known:
        found = connection.sql(f'FROM "{name}"')
        columns = {column: str(kind) for column, kind in zip(found.columns, found.types, strict=True)}
        _known[key] = _noted[key] = columns


def create(connection: duckdb.DuckDBPyConnection, node: str, name: str) -> bool:
    """Make a relation without rows, if its columns are known and the same for any data."""
    columns = _known.get(_key(node, name), {})
    if not columns or any(_OF_DATA in kind for kind in columns.values()):
        return False
    with suppress(duckdb.Error):  # a type that none is: what a file holds, anyone may have written
        listed = ", ".join(f"{_quoted(column)} {duckdb.sqltype(kind)}" for column, kind in columns.items())
        connection.execute(parsed(f'CREATE OR REPLACE TEMP TABLE "{name}" ({listed})'))
        return True
    return False


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _key(node: str, name: str) -> str:
    """Python of a node may register its inputs with columns of its own."""
    return f"{version()} {node} {name}"


@cache
def version() -> str:
    """A digest of all that decides which columns relations have."""
    texts = {name: sql_file(name).text for name in (*sorted(sql_names()), MACROS)}
    tables = {name: contract(name).meaning for name in contract_names()}
    return fingerprint(texts, tables, {name: str(parameter.schema) for name, parameter in PARAMETERS.items()})
