"""Divides what follows each other into portions of a bounded size."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def portions(items: Iterable[Item], most: int, size_of: Callable[[Item], int]) -> Iterator[list[Item]]:
    """Items that follow each other, up to a size in all; each larger one by itself."""
    portion: list[Item] = []
    held = 0
    for item in items:
        size = size_of(item)
        if portion and held + size > most:
            yield portion
            portion, held = [], 0
        portion.append(item)
        held += size
    if portion:
        yield portion
