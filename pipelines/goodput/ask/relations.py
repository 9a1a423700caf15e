"""The relations that can be asked and their columns, as the database describes them."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

import duckdb

from goodput.ask.database import Row, rows
from goodput.errors import UnknownRelation
from goodput.plumbing.published_macros import PUBLISHED_MACROS
from goodput.plumbing.sql_files import quoted, sql_file

# A view of a table of the same name in schema `stored` is a table to its users.
_RELATIONS = """
    WITH stored AS (SELECT table_name FROM duckdb_tables() WHERE schema_name = 'stored')
    SELECT table_name AS relation, 'table' AS kind, comment
    FROM duckdb_tables() WHERE NOT internal AND schema_name = 'main'
    UNION ALL
    SELECT view_name, if(view_name IN (FROM stored), 'table', 'view'), comment
    FROM duckdb_views() WHERE NOT internal AND schema_name = 'main'
"""
_COLUMNS = """
    SELECT column_name, data_type, comment FROM duckdb_columns()
    WHERE NOT internal AND schema_name = 'main' AND table_name = $relation
    ORDER BY column_index
"""
_UNIT = re.compile(r"(?P<text>.*) \[(?P<unit>[^\[\]]+)\]", re.DOTALL)


def relations(connection: duckdb.DuckDBPyConnection) -> list[Row]:
    """What can be asked: `relation`, `kind` (table, view, function), `rows` (of tables alone), `comment`."""
    found = _published(connection)
    counts = _counts(connection, [row["relation"] for row in found if row["kind"] == "table"])
    return [{**row, "rows": counts.get(row["relation"])} for row in found]


def described(connection: duckdb.DuckDBPyConnection, name: str) -> tuple[str | None, list[Row]]:
    """What a relation holds, and its columns: `column`, `type`, `unit`, `meaning`. Raises UnknownRelation."""
    known = {row["relation"].lower(): row for row in _published(connection)}
    relation = known.get(name.lower())
    if relation is None:
        raise UnknownRelation(name, get_close_matches(name.lower(), known, 3))
    columns = [
        {"column": row["column_name"], "type": _short(row["data_type"]), "unit": unit, "meaning": meaning}
        for row in _columns(connection, relation)
        for unit, meaning in [unit_and_meaning(row["comment"])]
    ]
    return relation["comment"], columns


def _published(connection: duckdb.DuckDBPyConnection) -> list[Row]:
    """Every relation by its name, with its kind and comment."""
    functions = [
        {"relation": name, "kind": "function", "comment": sql_file(name).header["description"]}
        for name in PUBLISHED_MACROS
        if _is_function(connection, name)
    ]
    return sorted([*rows(connection, _RELATIONS), *functions], key=lambda row: str(row["relation"]))


def _is_function(connection: duckdb.DuckDBPyConnection, name: str) -> bool:
    """Asked by its name: DuckDB's list of all functions, its own among them, takes longer than all else here."""
    try:
        connection.table_function(name)
    except duckdb.CatalogException:
        return False
    return True


def _columns(connection: duckdb.DuckDBPyConnection, relation: Row) -> list[Row]:
    if relation["kind"] != "function":
        return rows(connection, _COLUMNS, {"relation": relation["relation"]})
    shape = connection.table_function(relation["relation"])
    return [
        {"column_name": name, "data_type": str(kind), "comment": None}
        for name, kind in zip(shape.columns, shape.types, strict=True)
    ]


def _counts(connection: duckdb.DuckDBPyConnection, tables: Iterable[str]) -> dict[str, int]:
    """Rows of each table; counted in one question, as planning one for each takes longer than counting."""
    each = [f'SELECT {quoted(name)} AS relation, count(*) AS rows FROM "{name}"' for name in tables]  # noqa: S608
    return {row["relation"]: row["rows"] for row in rows(connection, " UNION ALL ".join(each))} if each else {}


def _short(data_type: str) -> str:
    return data_type.replace("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ")


def unit_and_meaning(comment: str | None) -> tuple[str | None, str | None]:
    """A column's comment, `meaning [unit]`, taken apart; None for what is not in it."""
    found = _UNIT.fullmatch(comment or "")
    return (found["unit"], found["text"]) if found else (None, comment)
