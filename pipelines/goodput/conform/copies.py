"""Rows of sources that others delivered too: they count once, and still do where one of these is taken back."""

from collections import Counter
from collections.abc import Collection, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from goodput.contracts import contract
from goodput.plumbing import source_ledger
from goodput.plumbing.lake import Lake


def copies_of(lake: Lake, source_ids: Collection[str]) -> Mapping[str, int]:
    """How many rows of some sources each other source has too. Raises LakeUnreadable."""
    found: Counter[str] = Counter()
    gone = pa.array(sorted(source_ids), pa.string())
    for table, partitions in source_ledger.partitions_of(lake, source_ids).items():
        home, (key, *by_source) = lake.catalog[table], contract(table).primary_key
        if by_source:  # rows that are their source's alone, such as what it has in quarantine
            continue
        for partition in partitions:
            parts = [home.read(part, ["source_id", key]) for part in home.parts.get(partition, ())]
            if parts:
                found.update(_copies(pa.concat_tables(parts), key, gone))
    return found


def _copies(rows: pa.Table, key: str, gone: pa.Array) -> Counter[str]:
    is_gone = pc.is_in(rows["source_id"], value_set=gone)
    others = rows.filter(pc.invert(is_gone))
    copies = others.filter(pc.is_in(others[key], value_set=pc.unique(rows.filter(is_gone)[key])))
    return Counter(copies["source_id"].to_pylist())
