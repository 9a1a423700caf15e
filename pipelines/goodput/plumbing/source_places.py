"""Where else the content of a source lies or lay than where it was read: written by the scan, never forgotten."""

from pathlib import Path

import polars as pl

from goodput.contracts import polars_schema
from goodput.plumbing.lake import Lake
from goodput.plumbing.row_table import change_rows, read_rows

TABLE = "source_places"
SCHEMA = polars_schema(TABLE)
KEY = SCHEMA.names()


def read(lake: Lake) -> pl.DataFrame:
    """Source and place of every copy, in the columns of contract `source_places`. Raises LakeUnreadable."""
    return read_rows(lake, TABLE)


def add(lake: Lake, places: pl.DataFrame) -> list[Path]:
    """Remember places that are not known yet; paths of the parts replaced. Raises LakeUnwritable."""
    new = places.join(read(lake), on=KEY, how="anti").unique()
    return change_rows(lake, TABLE, new, new.clear())
