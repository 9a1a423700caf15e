"""Where the plan's work is done: each item by itself, in this process or where `goodput.runners` have workers.

What is done is a function of what it is given; what comes of it counts only once the plan has committed it.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Died:
    """Who worked on an item died of it, as often as it was tried; why, in a sentence."""

    reason: str


class Runner(Protocol):
    """Who works on items."""

    @property
    def width(self) -> int:
        """On how many at once."""
        ...

    @property
    def has_begun(self) -> bool:
        """Whether those that work are there, and near: even little work is theirs then, within their bounds."""
        ...

    def each(self, needs: Mapping[str, Collection[str]], do: Callable[[str], None]) -> None:
        """Do each of some steps, by name, once those that it needs are done; each is listed after those.

        Where a step waits for items of `map`, others may go on, but one at a time. Raises what a step raises.
        """
        ...

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[tuple[Item, Result | Died]]:
        """Each item and what `work` makes of it, in the order in which that is done.

        `work` is a function of a module. Raises what it raises of GoodputError, and KeyboardInterrupt.
        """
        ...


class InProcess:
    """This process, one item after another, each as it is asked for."""

    width = 1
    has_begun = True

    def each(self, needs: Mapping[str, Collection[str]], do: Callable[[str], None]) -> None:
        """Do one after another."""
        for step in needs:
            do(step)

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[tuple[Item, Result | Died]]:
        """Work on one after another."""
        for item in items:
            yield item, work(item)
