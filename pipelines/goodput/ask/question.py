"""Whether SQL is a question: a database that is open for reading still writes other files."""

import re
from collections.abc import Sequence

import duckdb

_ANSWERED = {duckdb.StatementType.SELECT, duckdb.StatementType.MULTI, duckdb.StatementType.EXPLAIN}  # MULTI: PIVOT
_ANALYZE = re.compile(r"\banaly[sz]e\b", re.IGNORECASE)  # EXPLAIN ANALYZE runs what it explains


def no_question(statements: Sequence[duckdb.Statement]) -> str | None:
    """The kind of the first statement that could write: a database open for reading still writes other files."""
    for statement in statements:
        is_run = statement.type is duckdb.StatementType.EXPLAIN and _ANALYZE.search(statement.query)
        if statement.type not in _ANSWERED or is_run:
            return str(statement.type.name)
    return None
