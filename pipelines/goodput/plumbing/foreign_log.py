"""Logs that another program leaves beside the published database: one that opened it to write, and lives or was killed.

The database is derived, and Goodput's own changes are never in such a log. DuckDB refuses a database beside which lies
the log of another one, so a log that is here when the next database takes its place would shut out every reader.
"""

from pathlib import Path

_ENDINGS = (".wal", ".wal.checkpoint", ".wal.recovery")  # while a checkpoint goes on there are two


def logs_beside(database: Path) -> list[Path]:
    """The logs that lie beside a database."""
    logs = (database.with_name(f"{database.name}{ending}") for ending in _ENDINGS)
    return [log for log in logs if log.exists()]


def remove_logs(database: Path) -> None:
    """Remove them; a program that has one open goes on writing to what nobody reads. Raises OSError."""
    for log in logs_beside(database):
        log.unlink(missing_ok=True)
