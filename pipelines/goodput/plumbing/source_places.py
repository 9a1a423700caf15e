"""Where the content of a source lies or lay: places other than where it was read, and those that it was moved from.

Written by the scan, never forgotten.
"""

from pathlib import Path

import polars as pl

from goodput.contracts import polars_schema
from goodput.plumbing.lake import Lake
from goodput.plumbing.row_table import change_rows, read_rows

TABLE = "source_places"
KEY = ["source_id", "landing", "path"]
SCHEMA = polars_schema(TABLE)


def read(lake: Lake) -> pl.DataFrame:
    """Sources and places, in the columns of contract `source_places`. Raises LakeUnreadable."""
    return read_rows(lake, TABLE).with_columns(pl.col("is_past").fill_null(value=False))


def remember(lake: Lake, places: pl.DataFrame) -> list[Path]:
    """Bring places up to date, each once; paths of the parts replaced. Raises LakeUnwritable."""
    known = read(lake)
    changed = places.select(SCHEMA.names()).join(known, on=SCHEMA.names(), how="anti")
    return change_rows(lake, TABLE, changed, known.join(changed, on=KEY, how="semi"))
