"""Changes parts of conformed tables: rows of sources that are superseded leave them.

`inputs` of a part is the sum of the sources that it counts; each source counts in one part of a partition, so that the
sum over its parts is that of its sources however they are spread.
"""

from collections.abc import Collection, Iterable

import pyarrow as pa
import pyarrow.compute as pc

from goodput.conform.journal import PartChange
from goodput.plumbing.catalog import Part, digest_sum
from goodput.plumbing.lake import Lake

_MODULUS = 2**128


def without_sources(lake: Lake, table: str, parts: Iterable[Part], source_ids: Collection[str]) -> PartChange:
    """Take all rows of some sources out of the parts of one partition: what holds any becomes one part, or none.

    One, because which of several counts a source that stays cannot be seen. Raises LakeUnreadable, LakeUnwritable.
    """
    home, gone = lake.catalog[table], pa.array(sorted(source_ids), pa.string())
    holding, found = [], set()
    for part in parts:
        held = set(pc.unique(home.read(part, ["source_id"])["source_id"]).to_pylist()) & set(source_ids)
        if held:
            holding.append(part)
            found |= held
    rest = []
    for part in holding:
        rows = home.read(part)
        kept = rows.filter(pc.invert(pc.is_in(rows["source_id"], value_set=gone)))
        if kept.num_rows:
            rest.append(kept)
    inputs = digest_sum([*(part.inputs for part in holding), *map(_negative, found)])
    add = [lake.write_part(table, holding[0].partition, pa.concat_tables(rest), inputs)] if rest else []
    return PartChange(add, holding)


def _negative(source_id: str) -> str:
    return f"{_MODULUS - int(source_id, 16):x}"
