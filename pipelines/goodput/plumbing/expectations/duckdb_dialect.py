"""SQLAlchemy dialect `duckdb+checks`: what Great Expectations asks of DuckDB and duckdb_engine gets wrong.

Only the bridge belongs here, loaded by SQLAlchemy when an engine is made; what is checked is in suite.py.
"""

import duckdb
import duckdb_engine
from sqlalchemy import URL, Connection
from sqlalchemy.engine.interfaces import ReflectedColumn, ReflectedPrimaryKeyConstraint
from sqlalchemy.pool import NullPool, Pool
from sqlalchemy.types import NullType

from goodput.plumbing import interrupt
from goodput.plumbing.sql_files import spilling


class CheckConnection(duckdb_engine.ConnectionWrapper):
    """Connection to a DuckDB database in this process whose cursors keep their results when it is given back.

    Great Expectations fetches rows after it has given the connection back, when DuckDB has dropped the
    connection's result and closed its cursors. A cursor that is a connection of its own outlives that, and
    still streams: of a million broken rows only the few that are asked for are ever made.
    """

    def __init__(self, database: str) -> None:
        super().__init__(interrupt.stoppable(duckdb.connect(database, config=spilling(database))))
        self._database = database

    def cursor(self) -> duckdb_engine.CursorWrapper:
        """Open a cursor with its own result and transaction."""
        own = interrupt.stoppable(duckdb.connect(self._database, config=spilling(self._database)))
        return duckdb_engine.CursorWrapper(own, self)


class CheckDialect(duckdb_engine.Dialect):
    """duckdb_engine's dialect with columns read by DESCRIBE: its catalogue queries fail on SQLAlchemy 2.1."""

    supports_statement_cache = False  # SQLAlchemy warns of each dialect class that does not say

    @classmethod
    def get_pool_class(cls, url: URL) -> type[Pool]:
        """No pool: connecting within the process costs nothing, and nothing is left open."""
        return NullPool

    # duckdb_engine promises SQLAlchemy's Connection here and returns its ConnectionWrapper.
    def connect(self, database: str, **_options: object) -> CheckConnection:  # type: ignore[override]
        """Connect to `database`, the name of a database in memory that candidates.py holds open."""
        return CheckConnection(database)

    def get_columns(
        self, connection: Connection, table_name: str, schema: str | None = None, **_options: object
    ) -> list[ReflectedColumn]:
        """Columns of `table_name` in order; their types are compared in DuckDB's words, not SQLAlchemy's."""
        described = connection.exec_driver_sql(f"DESCRIBE {self.identifier_preparer.quote(table_name)}")
        return [{"name": row[0], "type": NullType(), "nullable": True, "default": None} for row in described]

    def get_pk_constraint(
        self, connection: Connection, table_name: str, schema: str | None = None, **_options: object
    ) -> ReflectedPrimaryKeyConstraint:
        """No key: views have none."""
        return {"constrained_columns": [], "name": None}
