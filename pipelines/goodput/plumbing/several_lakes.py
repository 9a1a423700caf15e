"""The database of several lakes, as `goodput federate` writes it: no lake, though it lies where that of one does."""

from pathlib import Path

import duckdb

from goodput.errors import SeveralLakes
from goodput.plumbing.lake_marker import marker
from goodput.plumbing.sql_files import connect

TOTALS = "federated_goodput"  # which tells it from the database of a lake
_IS_THERE = "SELECT count(*) FROM duckdb_tables() WHERE schema_name = 'main' AND table_name = $1"
_LAKES = "SELECT DISTINCT lake FROM goodput ORDER BY lake"


def refuse_several(folder: Path) -> None:
    """Check that what a folder has published, if anything, is that of one lake. Raises SeveralLakes."""
    database = folder / "goodput.duckdb"
    if marker(folder).exists() or not database.is_file():
        return
    try:
        with connect(str(database), read_only=True) as connection:
            ((there,),) = connection.execute(_IS_THERE, [TOTALS]).fetchall()
            lakes = [lake for (lake,) in connection.execute(_LAKES).fetchall()] if there else []
    except duckdb.Error:  # whoever asks it says what is wrong
        return
    if there:
        raise SeveralLakes(folder, lakes)
