"""What a connection that answers others may touch: parts of the lake, and no other file, network or extension.

A read-only connection could else read and write any file. How long it may take is in `time_limit`.
"""

from pathlib import Path

import duckdb


def confine(connection: duckdb.DuckDBPyConnection, lake: Path, *, is_final: bool = False) -> None:
    """Let a database read the folders of parts of a lake, which its views need, and nothing else from now on.

    Databases that are attached stay. What is allowed cannot be widened again; where it `is_final`, no other setting can
    be changed either, for SQL that somebody else writes.
    """
    folders = sorted(f"{folder}/" for folder in lake.absolute().iterdir() if folder.is_dir())
    connection.execute("SET allowed_directories = ?", [folders])
    connection.execute("SET enable_external_access = false")
    if is_final:
        connection.execute("SET lock_configuration = true")
