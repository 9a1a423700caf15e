"""Maps work over a pool of workers: as many items at once as it takes, and each tried again where a worker dies of it.

Work is a function of what it is given and writes parts under the names of their contents: doing it twice, or at once in
two places, gives the same.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from goodput.plumbing.runner import Died, Item, Result
from goodput.runners.shipping import packed, unpacked

_TRIES = 3  # a machine may go while another try of it is under way


class Pool(Protocol):
    """Workers, wherever they are."""

    @property
    def width(self) -> int:
        """How many there are."""
        ...

    def start(self, number: int, payload: bytes) -> None:
        """Have one do something; at most `width` things are under way."""
        ...

    def wait(self) -> tuple[int, bytes | Died]:
        """The next of them that is done."""
        ...

    def abandon(self) -> None:
        """End all that is under way."""
        ...


class Pooled:
    """A runner that has a pool of workers."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    @property
    def width(self) -> int:
        """As many as the pool has."""
        return self._pool.width

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[tuple[Item, Result | Died]]:
        """Have workers work on the items; the next is asked for where one of them is free."""
        held: dict[int, _Held] = {}
        try:
            for number, item in enumerate(items):
                while len(held) >= self.width:
                    yield from self._next(held)
                held[number] = _Held(item, packed(work, item))
                self._pool.start(number, held[number].payload)
            while held:
                yield from self._next(held)
        finally:
            self._pool.abandon()  # what is under way where nobody asks for more

    def _next(self, held: dict[int, "_Held"]) -> Iterator[tuple[Any, Any]]:
        """The next item that is done; none where a worker died of it and it is tried again."""
        number, answer = self._pool.wait()
        one = held[number]
        one.tries += 1
        if isinstance(answer, Died) and one.tries < _TRIES:
            self._pool.start(number, one.payload)
            return
        del held[number]
        yield one.item, answer if isinstance(answer, Died) else unpacked(answer)


@dataclass
class _Held:
    """An item that is worked on, and how often one has died of it."""

    item: object
    payload: bytes
    tries: int = 0
