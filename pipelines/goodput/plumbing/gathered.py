"""All rows of a table in one file beside its parts: who asks all of a long history opens only the parts that are new.

The file only saves time: rows are known by the part that they are of, and what it holds of other parts is left out.
"""

from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from goodput.contracts import arrow_schema
from goodput.errors import LakeUnwritable
from goodput.plumbing.catalog import Part
from goodput.plumbing.lake import Lake, write_parquet

_PART = "part_of_row"


def gathered(lake: Lake, table: str) -> pa.Table:
    """Every row of a table in the columns of its contract, in no order. Raises LakeUnreadable."""
    home, schema = lake.catalog[table], arrow_schema(table)
    path = lake.root / f"{table}.parquet"
    parts = {_key(part): part for of_partition in home.parts.values() for part in of_partition if part.rows}
    known = _known(path, schema.append(pa.field(_PART, pa.string())))
    kept = known.filter(pc.is_in(known[_PART], value_set=pa.array(parts, pa.string())))
    new = sorted(parts.keys() - set(kept[_PART].unique().to_pylist()))
    read = (home.read(parts[key]).append_column(_PART, pa.array([key] * parts[key].rows, pa.string())) for key in new)
    rows = pa.concat_tables([kept, *read])
    if new or kept.num_rows < known.num_rows:
        with suppress(LakeUnwritable):  # whoever reads a lake that nobody can write to goes on without
            write_parquet(path, rows)
    return rows.drop_columns([_PART])


def _key(part: Part) -> str:
    return f"{part.partition}/{part.content}"


def _known(path: Path, schema: pa.Schema) -> pa.Table:
    """What the file holds; nothing where it is not as `gathered` writes it."""
    try:
        found = pq.ParquetFile(path).read()
    except (OSError, pa.ArrowException):
        return schema.empty_table()
    return found if found.schema == schema else schema.empty_table()
