"""What each relation of sql/ reads, calls and means, from its parsed SQL: inputs and order of computing follow.

DuckDB's own parser does the reading. Running the SQL does not belong here.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import duckdb

from goodput.errors import RelationCycle, SqlUnreadable
from goodput.plumbing.cache_file import read_cache
from goodput.plumbing.emptiness import Emptied, QueryReader
from goodput.plumbing.files import write_atomically
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.sql_files import MACROS, sql_file, sql_names

_FILE = "graph.json"
_SERIALIZE = "SELECT json_serialize_sql(?::VARCHAR, skip_null := true, skip_empty := true, skip_default := true)"
# Where a node stands in the text: the only members that comments and whitespace change.
_LOCATION = re.compile(r',"query_location(?:_length)?":\d+')
_COMMENTS = r"(?:--[^\n]*\n|\s)*"  # in front of a statement
_MACRO = re.compile(_COMMENTS + r"CREATE OR REPLACE TEMP MACRO (\w+)(\(.*?\)) AS\s(.*)", re.DOTALL)


@dataclass(frozen=True)
class Relation:
    """One SQL file as it was parsed.

    `reads`: relations that it names, its CTEs left out. `macros`: those of macros.sql that it calls, directly or
    through another. `meaning`: a digest of the statement and its macros that comments and layout do not change.
    """

    name: str
    reads: frozenset[str]
    macros: frozenset[str]
    meaning: str
    emptied: Emptied


_Parses = dict[str, tuple[str, list[str], list[str], str, list[list[str]]]]  # as a file holds them
_remembered: dict[str, Relation] = {}  # by a digest of the text, of this process and of those before it


@cache
def relation(name: str) -> Relation:
    """Parse sql/.../<name>.sql. Raises SqlUnreadable, SqlMissing and SqlNotUnique."""
    key = fingerprint(name, sql_file(name).text, sql_file(MACROS).text)
    if key not in _remembered:
        _remembered[key] = _read(name)
    return _remembered[key]


def recall(folder: Path) -> None:
    """Take what was parsed before from its file in a folder; of a text that has changed since, nothing is taken."""
    for key, (name, reads, macros, meaning, emptied) in (read_cache(folder / _FILE, _Parses) or {}).items():
        sets = frozenset(map(frozenset, emptied))
        _remembered[key] = Relation(name, frozenset(reads), frozenset(macros), meaning, sets)


def remember(folder: Path) -> None:
    """Write what was parsed to its file in a folder. Raises LakeUnwritable."""
    path = folder / _FILE
    text = json.dumps({key: _as_written(found) for key, found in sorted(_remembered.items())})
    if not path.exists() or path.read_bytes() != text.encode():
        write_atomically(path, lambda temporary: temporary.write_text(text))


def _as_written(found: Relation) -> tuple[str, list[str], list[str], str, list[list[str]]]:
    emptied = sorted(sorted(one) for one in found.emptied)
    return found.name, sorted(found.reads), sorted(found.macros), found.meaning, emptied


def _read(name: str) -> Relation:
    serialized, statements = _tree(name, sql_file(name).text)
    parsed = _parsed(serialized, statements)
    called = _with_all_that_they_call(parsed.calls)
    meaning = fingerprint(parsed.digest, {macro: _macros()[macro].digest for macro in sorted(called)})
    emptied = QueryReader(_is_scalar).emptied(statements[0]["node"])
    return Relation(name, frozenset(parsed.reads), frozenset(called), meaning, emptied)


def statement(name: str) -> Mapping[str, Any]:
    """The query of sql/.../<name>.sql as it was parsed. Raises SqlUnreadable, SqlMissing and SqlNotUnique."""
    _, (found,) = _tree(name, sql_file(name).text)
    query: Mapping[str, Any] = found["node"]
    return query


def closure(names: Iterable[str], tables: Collection[str]) -> tuple[str, ...]:
    """`names` and the inner relations that they are computed from, each after what it reads.

    An inner relation has an SQL file and is none of `tables`, the relations that the lake stores. Raises RelationCycle.
    """
    wanted = tuple(names)
    computed = (sql_names() - set(tables)) | set(wanted)
    ordered: dict[str, None] = {}

    def visit(name: str, readers: Sequence[str]) -> None:
        if name in readers:
            raise RelationCycle((*readers[readers.index(name) :], name))
        if name not in ordered:
            for read in sorted(relation(name).reads & computed):
                visit(read, (*readers, name))
            ordered[name] = None

    for name in wanted:
        visit(name, ())
    return tuple(ordered)


def inputs_of(names: Iterable[str], tables: Collection[str]) -> frozenset[str]:
    """What the closure of `names` reads from outside: tables of the lake and relations that Python registers."""
    computed = closure(names, tables)
    return frozenset().union(*(relation(name).reads for name in computed)) - set(computed)


@dataclass(frozen=True)
class _Parsed:
    """One statement: a digest of what it does, the relations that it reads and every function that it calls."""

    digest: str
    reads: set[str] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)


@cache
def _parser() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def _parsed(serialized: str, statements: Any) -> _Parsed:
    parsed = _Parsed(fingerprint(serialized))
    _collect(statements, frozenset(), parsed)
    return parsed


def _tree(name: str, text: str) -> tuple[str, Any]:
    found = _parser().cursor().execute(_SERIALIZE, [text]).fetchone()
    serialized = _LOCATION.sub("", found[0] if found else "")
    tree = json.loads(serialized)
    if tree["error"]:
        raise SqlUnreadable(name, tree["error_message"])
    return serialized, tree["statements"]


def _collect(node: Any, ctes: frozenset[str], into: _Parsed) -> None:
    """Note what a part of a parsed statement uses; where the name of one of `ctes` stands, no relation is read."""
    if isinstance(node, list):
        for item in node:
            _collect(item, ctes, into)
    elif isinstance(node, dict):
        _collect_of(node, ctes, into)


def _collect_of(node: Mapping[str, Any], ctes: frozenset[str], into: _Parsed) -> None:
    if function := node.get("function_name"):
        into.calls.add(function.lower())
    if node.get("type") == "BASE_TABLE":
        name = node["table_name"].lower()
        if name not in ctes or "schema_name" in node:
            into.reads.add(name)
    for common in node.get("cte_map", {}).get("map", ()):
        _collect(common["value"], ctes, into)  # sees those before it, and not itself
        ctes |= {common["key"].lower()}
    for key, value in node.items():
        if isinstance(value, (dict, list)) and key != "cte_map":  # most members are words and numbers
            _collect(value, ctes | {node["cte_name"].lower()} if _is_recursion(node, key) else ctes, into)


def _is_recursion(node: Mapping[str, Any], key: str) -> bool:
    return key == "right" and node.get("type") == "RECURSIVE_CTE_NODE"


@cache
def _macros() -> dict[str, _Parsed]:
    """The macros of macros.sql by name."""
    found: dict[str, _Parsed] = {}
    for statement in _parser().cursor().extract_statements(sql_file(MACROS).text):
        matched = _MACRO.fullmatch(statement.query)
        if not matched:
            raise SqlUnreadable(MACROS, f"not CREATE OR REPLACE TEMP MACRO name(...) AS ...: {statement.query.strip()}")
        name, parameters, body = matched.groups()
        found[name.lower()] = _parsed(*_tree(MACROS, f"SELECT {name}{parameters}, {body}"))  # its head parses as a call
    return found


def _with_all_that_they_call(functions: Iterable[str]) -> set[str]:
    """Those of `functions` that are macros, and every macro that these call."""
    found: set[str] = set()
    left = set(functions) & _macros().keys()
    while left:
        found |= left
        left = set().union(*(_macros()[name].calls for name in left)) & _macros().keys() - found
    return found


@cache
def _is_scalar(function: str) -> bool:
    """Whether a function or macro gives a value, or with unnest values, for each row, and never one for many rows."""
    if function in _macros():
        called = _with_all_that_they_call({function})
        return all(map(_is_scalar, set().union(*(_macros()[macro].calls for macro in called)) - called))
    kinds = _functions_of_duckdb().get(function, {})
    if "macro" in kinds:
        trees = [_tree(function, f"SELECT {definition}") for definition in kinds["macro"]]
        return all(_is_scalar(called) for tree in trees for called in _parsed(*tree).calls - {function})
    return function == "unnest" or ("scalar" in kinds and "aggregate" not in kinds)


@cache
def _functions_of_duckdb() -> Mapping[str, Mapping[str, list[str | None]]]:
    """Of each function the kinds that it has, and as which macros it is defined."""
    found: dict[str, dict[str, list[str | None]]] = {}
    asked = "SELECT function_name, function_type, macro_definition FROM duckdb_functions() ORDER BY ALL"
    for name, kind, definition in _parser().cursor().execute(asked).fetchall():
        found.setdefault(name, {}).setdefault(kind, []).append(definition)
    return found
