"""Verifies the parts of a lake: that each lies where the catalog says, with the bytes that were written.

What is damaged is made again by `goodput.remake`.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from goodput.contracts import stored_tables
from goodput.plumbing.catalog import Part
from goodput.plumbing.lake import Lake
from goodput.plumbing.store import IN_FOLDER, Store

Item = TypeVar("Item")


@dataclass(frozen=True)
class Damage:
    """A part that is not what was written, and what is wrong with it."""

    table: str
    part: Part
    reason: str


def parts_of(lake: Lake) -> list[tuple[str, Part]]:
    """Every part with its table. Raises LakeUnreadable where the catalog is damaged."""
    found = ((name, lake.catalog[name].parts) for name in stored_tables())
    return [(name, part) for name, parts in found for of_partition in parts.values() for part in of_partition]


def sampled(items: Sequence[Item], share: float) -> list[Item]:
    """A random share of items, others each time and one at least."""
    count = min(len(items), max(1, round(share * len(items))))
    return [items[at] for at in sorted(random.SystemRandom().sample(range(len(items)), k=count))]


def damages(parts: Iterable[tuple[str, Part]], store: Store = IN_FOLDER) -> Iterator[Damage]:
    """The parts that are missing where the lake is kept, of another size, or whose bytes have another digest."""
    for table, part in parts:
        reason = store.damage(part)
        if reason:
            yield Damage(table, part, reason)
