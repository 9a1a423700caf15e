"""Steps through nested Arrow arrays: a struct's child, a list's elements and where each came from."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Index = npt.NDArray[np.int64]


def child(structs: pa.StructArray, name: str) -> pa.Array:
    """The struct's child, null where the struct itself is null."""
    return pc.struct_field(structs, name) if structs.null_count else structs.field(name)


def children(lists: pa.ListArray) -> tuple[pa.Array, Index]:
    """All elements of all lists, and for each the index of its list."""
    return pc.list_flatten(lists), pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)


def ordinals(parents: Index, parent_count: int) -> Index:
    """Number the children of each parent from 0; `parents` is ascending."""
    first = np.searchsorted(parents, np.arange(parent_count))
    return np.arange(len(parents)) - first[parents]
