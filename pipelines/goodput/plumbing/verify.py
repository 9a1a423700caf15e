"""Verifies the parts of a lake: that each lies where the catalog says, with the bytes that were written.

What is damaged is made again by `conform.remake`.
"""

import hashlib
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from goodput.plumbing.catalog import Part
from goodput.plumbing.contracts import stored_tables
from goodput.plumbing.lake import Lake

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


def damages(parts: Iterable[tuple[str, Part]]) -> Iterator[Damage]:
    """The parts that are missing, of another size, or whose bytes have another digest."""
    for table, part in parts:
        reason = _wrong_size(part) or _wrong_content(part)
        if reason:
            yield Damage(table, part, reason)


def _wrong_size(part: Part) -> str | None:
    try:
        size_bytes = part.path.stat().st_size
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return None if size_bytes == part.size_bytes else f"has {size_bytes} bytes of {part.size_bytes}"


def _wrong_content(part: Part) -> str | None:
    try:
        found = _digest(part.path)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return None if found == part.content else "holds other bytes than were written"


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:32]
