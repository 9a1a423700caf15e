"""Turns OTLP attribute lists into one typed column per wanted key, without a Python object per attribute.

What a value means when its type is not the wanted one is `values`' work.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from goodput.collect.otlp.nested import child
from goodput.collect.otlp.values import ARROW_TYPES, MEMBERS, coalesce

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Wanted:
    """An attribute that becomes a column, and the type it is read as.

    A lenient one whose value is of another type is taken as absent; of any other its row is unreadable.
    """

    key: str
    type: Literal["string", "int", "float", "bool", "strings"]
    lenient: bool = False


@dataclass
class Pivoted:
    """Columns by attribute key, and for some keys the rows whose value cannot be read as the wanted type."""

    columns: dict[str, pa.Array] = field(default_factory=dict)
    unreadable: dict[str, Mask] = field(default_factory=dict)


def pivot(attributes: pa.ListArray, wanted: Sequence[Wanted]) -> Pivoted:
    """One column per wanted key, one row per attribute list; the last of several equal keys wins.

    An absent key and an empty AnyValue are null; one that is there but cannot be read is null and unreadable.
    """
    pivoted = Pivoted()
    entries = pc.list_flatten(attributes)
    values = child(entries, "value")
    members = {name: child(values, name) for name in MEMBERS if values.type.get_field_index(name) >= 0}
    which = member_of_each(members)
    places = _places(attributes, child(entries, "key"), [item.key for item in wanted])
    absent = {name: pa.nulls(len(attributes), ARROW_TYPES[name]) for name in {item.type for item in wanted}}
    for number, item in enumerate(wanted):
        column, bad = absent[item.type], None
        if number in places:
            column, bad = _column(places[number], which, members, item)
        pivoted.columns[item.key] = column
        if bad is not None and not item.lenient:
            pivoted.unreadable[item.key] = bad
    return pivoted


def _places(attributes: pa.ListArray, keys: pa.Array, wanted: Sequence[str]) -> dict[int, npt.NDArray[np.int64]]:
    """By number of a wanted key that is there: each row's index among all attributes, -1 where the row has none.

    Hundreds of keys may be wanted and a dozen be there, so that absent ones must cost nothing.
    """
    found = pc.index_in(keys, value_set=pa.array(wanted, pa.string()))
    key_index = found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int16)
    row = pc.list_parent_indices(attributes).to_numpy(zero_copy_only=False)
    by_key = np.argsort(key_index, kind="stable")  # attributes of one key stay in the order of their rows
    counts = np.bincount(key_index + 1, minlength=len(wanted) + 1)
    ends = np.cumsum(counts)
    places = {}
    for number in np.flatnonzero(counts[1:]).tolist():
        entry = by_key[ends[number] : ends[number + 1]]
        place = np.full(len(attributes), -1, dtype=np.int64)
        place[row[entry]] = entry  # numpy lets the last of equal indices win
        places[number] = place
    return places


def member_of_each(members: dict[str, pa.Array]) -> npt.NDArray[np.uint8]:
    """For each AnyValue the 1-based number of its member in MEMBERS; 0 for an empty value."""
    which = np.zeros(len(next(iter(members.values()))), dtype=np.uint8)
    for number, name in reversed(list(enumerate(MEMBERS, start=1))):
        values = members.get(name)
        if values is not None and values.null_count < len(values):
            which[values.is_valid().to_numpy(zero_copy_only=False)] = number
    return which


def _column(
    place: npt.NDArray[np.int64], which: npt.NDArray[np.uint8], members: dict[str, pa.Array], wanted: Wanted
) -> tuple[pa.Array, Mask | None]:
    there = place >= 0
    member = np.zeros(len(place), dtype=np.uint8)
    member[there] = which[place[there]]
    present = np.bincount(member, minlength=len(MEMBERS) + 1)
    taken = {}
    for number, name in enumerate(MEMBERS, start=1):
        if present[number]:
            indices = pa.array(place, mask=None if present[number] == len(place) else member != number)
            taken[name] = members[name].take(indices)
    column = coalesce(taken, wanted.type, len(place))
    if column.null_count == present[0]:
        return column, None
    return column, (member != 0) & column.is_null().to_numpy(zero_copy_only=False)
