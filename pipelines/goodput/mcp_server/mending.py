"""What a model that wrote SQL which the database refuses needs to know to write it right."""

import re
from collections.abc import Sequence
from difflib import get_close_matches

import duckdb

from goodput.ask.database import rows
from goodput.ask.question import no_question
from goodput.errors import SqlRefused

_ALLOWED = (
    "One SELECT (or WITH, FROM, DESCRIBE, SUMMARIZE, PIVOT, EXPLAIN) is answered at a time, over published relations. "
    "Nothing can be changed, and no file, network, extension or setting be used."
)
_COLUMNS = """
    SELECT table_name AS relation, list(column_name ORDER BY column_index) AS columns
    FROM duckdb_columns()
    WHERE NOT internal AND schema_name = 'main' AND database_name = current_database()
    GROUP BY table_name
"""
_WORD = re.compile(r"\w+")
_MISSING_COLUMN = re.compile(r'column "(?P<name>[^"]*)" not found|not have a column named "(?P<of_table>[^"]*)"')
_MISSING_RELATION = re.compile(r"(?:Table|View|Table Function) with name \"?(?P<name>[^\s\"]+)\"? (?:does not|is not)")
_NEAR = 4
_MESSAGE_LINES = 8


def check(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Raise SqlRefused where it is not exactly one question."""
    try:
        statements = connection.extract_statements(sql)
    except duckdb.Error as error:
        raise refused(connection, sql, error) from error
    if len(statements) != 1:
        found = f"These are {len(statements)} statements" if statements else "There is no SQL in this question"
        raise SqlRefused(f"{found}. {_ALLOWED}")
    kind = no_question(statements)
    if kind is not None:
        raise SqlRefused(f"{kind} is refused. {_ALLOWED}")


def refused(connection: duckdb.DuckDBPyConnection, sql: str, error: duckdb.Error) -> SqlRefused:
    """The database's error with names near to the wrong one, and the columns of each relation that the SQL names."""
    message = "\n".join(str(error).splitlines()[:_MESSAGE_LINES]).rstrip()
    if isinstance(error, duckdb.PermissionException | duckdb.InvalidInputException) and "configuration" in message:
        return SqlRefused(f"{message.splitlines()[0]}\n{_ALLOWED}")
    known: dict[str, list[str]] = {row["relation"]: row["columns"] for row in rows(connection, _COLUMNS)}
    if missing := _MISSING_RELATION.search(message):
        return SqlRefused(message, _near(missing["name"], list(known)))
    found = _MISSING_COLUMN.search(message)
    if found is None:
        return SqlRefused(message)
    words = {word.lower() for word in _WORD.findall(sql)}
    read = {name: columns for name, columns in sorted(known.items()) if name.lower() in words}
    wrong = found["name"] or found["of_table"] or ""
    return SqlRefused(message, _near(wrong, [name for names in read.values() for name in names]), read)


def _near(wrong: str, known: Sequence[str]) -> list[str]:
    return get_close_matches(wrong.lower(), dict.fromkeys(known), _NEAR)
