"""Functions of goodput.duckdb: table macros, each with the rows that it answers from inside.

DuckDB looks up what a macro reads where the user stands, not in the database that holds the macro: one that read a
table would fail where the database is attached. Publishing tables and views is the work of `database`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

import duckdb

from goodput.plumbing.sql_files import quoted, sql_file


@dataclass(frozen=True)
class PublishedMacro:
    """A published function: its parameters, and the relation of sql/ whose rows it holds, made from one table."""

    parameters: str
    rows: str
    table: str


PUBLISHED_MACROS: Mapping[str, PublishedMacro] = {
    "replicas_for": PublishedMacro("peak_rps := NULL, headroom := 1.2, peaks := NULL", "known_knees", "frontier"),
}
SQL_FILES = (*PUBLISHED_MACROS, *(macro.rows for macro in PUBLISHED_MACROS.values()))


def create_macros(connection: duckdb.DuckDBPyConnection, tables: set[str]) -> None:
    """Create or replace the functions that answer from these tables, with the rows that schema `stored` has now."""
    for name, macro in PUBLISHED_MACROS.items():
        if macro.table in tables:
            _create(connection, name, macro)


def _create(connection: duckdb.DuckDBPyConnection, name: str, macro: PublishedMacro) -> None:
    stored = f'WITH "{macro.table}" AS (FROM stored."{macro.table}") FROM ({sql_file(macro.rows).text}) ORDER BY ALL'
    rows = connection.sql(stored)
    types = dict(zip(rows.columns, map(str, rows.types), strict=True))
    ((found,),) = connection.sql(f"SELECT coalesce(to_json(list(r)), '[]')::VARCHAR FROM ({stored}) AS r").fetchall()  # noqa: S608
    held = f"SELECT unnest(from_json({quoted(found)}, {quoted(json.dumps([types]))}), recursive := true)"
    connection.execute(
        f"CREATE OR REPLACE MACRO {name}({macro.parameters}) AS TABLE "
        f"FROM (WITH {macro.rows} AS ({held}) FROM ({sql_file(name).text}))"
    )
    connection.execute(f"COMMENT ON MACRO TABLE {name} IS {quoted(sql_file(name).header['description'])}")
