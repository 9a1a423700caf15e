"""The slices in which windows are published: by which of workload, model, pool and route each is cut."""

from collections.abc import Sequence

import pyarrow as pa

from goodput.plumbing.node import Batch

DIMENSIONS = ("workload", "model", "pool", "route")
Cuts = tuple[bool, ...]  # of each of the dimensions, whether it cuts
Slice = tuple[str, bool, bool, bool, bool]
SLICES = (
    # slice, by_workload, by_model, by_pool, by_route
    ("overall", False, False, False, False),
    ("pool", False, False, True, False),
    ("workload", True, False, False, False),
    ("workload_model", True, True, False, False),
    ("workload_pool", True, False, True, False),
    ("workload_route", True, False, False, True),
    ("finest", True, True, True, True),
)


def slices(_batch: Batch) -> pa.Table:
    """Slices as rows: slice, by_workload, by_model, by_pool, by_route."""
    return slice_rows(SLICES)


def slice_rows(rows: Sequence[Slice]) -> pa.Table:
    """Slices as rows: slice, by_workload, by_model, by_pool, by_route."""
    return flags("by", [row[1:] for row in rows]).add_column(0, "slice", pa.array([row[0] for row in rows]))


def flags(kind: str, rows: Sequence[Cuts]) -> pa.Table:
    """Boolean columns `<kind>_<dimension>`, a row each."""
    names = [f"{kind}_{word}" for word in DIMENSIONS]
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
