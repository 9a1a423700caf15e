"""Whether the published database is of an older version, which a question then needs more of than it has."""

import duckdb

from goodput.ask.database import rows
from goodput.contracts import contract, contract_names

_PUBLISHED = ("table", "view")


def is_published_by_older(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether a relation that is published now, or a column of one, is not in the database."""
    held = {(row["table_name"], row["column_name"]) for row in rows(connection, "FROM duckdb_columns()")}
    agreed = (contract(name) for name in contract_names())
    return any(
        (one.name, column.name) not in held for one in agreed if one.published in _PUBLISHED for column in one.columns
    )
