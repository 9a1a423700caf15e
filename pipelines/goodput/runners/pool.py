"""Maps work over a pool of workers: as many items at once as it takes, and each tried again where a worker dies of it.

Work is a function of what it is given and writes parts under the names of their contents: doing it twice, or at once in
two places, gives the same.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol

from goodput.plumbing.runner import Died, Item, Result
from goodput.runners.shipping import packed, unpacked
from goodput.runners.strands import pause, take_turns

_TRIES = 3  # a machine may go while another try of it is under way


class Pool(Protocol):
    """Workers, wherever they are."""

    @property
    def width(self) -> int:
        """How many there are."""
        ...

    @property
    def has_begun(self) -> bool:
        """Whether any has been started, on the machine of the run."""
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


@dataclass
class _Held:
    """An item that is worked on, and how often one has died of it."""

    item: object
    payload: bytes
    tries: int = 0


class Pooled:
    """A runner that has a pool of workers."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._numbers = count()
        self._under_way: dict[int, _Held] = {}
        self._answers: dict[int, tuple[_Held, bytes | Died]] = {}
        self._moves = 0  # items that were started, and answers that were taken

    @property
    def width(self) -> int:
        """As many as the pool has."""
        return self._pool.width

    @property
    def has_begun(self) -> bool:
        """Whether the pool has."""
        return self._pool.has_begun

    def each(self, needs: Mapping[str, Collection[str]], do: Callable[[str], None]) -> None:
        """Do steps side by side, as far as they do not need each other: workers have something to do while one ends."""
        try:
            take_turns(needs, do, self._receive, lambda: self._moves)
        except BaseException:
            self._abandon()
            raise

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[tuple[Item, Result | Died]]:
        """Have workers work on the items; the next is asked for where one of them is free."""
        mine: set[int] = set()
        try:
            for item in items:
                while len(self._under_way) >= self.width:
                    yield from self._taken(mine)
                number = next(self._numbers)
                mine.add(number)
                self._start(number, _Held(item, packed(work, item)))
            while mine:
                yield from self._taken(mine)
        finally:
            if mine:  # nobody asks for more
                self._abandon()

    def _start(self, number: int, held: _Held) -> None:
        self._moves += 1
        self._under_way[number] = held
        self._pool.start(number, held.payload)

    def _taken(self, mine: set[int]) -> Iterator[tuple[Any, Any]]:
        """Those of some items that are done; waits for whatever comes next where none of them is."""
        if not mine & self._answers.keys() and not pause():
            self._receive()
        for number in sorted(mine & self._answers.keys()):
            self._moves += 1
            mine.remove(number)
            held, answer = self._answers.pop(number)
            yield held.item, answer if isinstance(answer, Died) else unpacked(answer)

    def _receive(self) -> None:
        """Wait for the next item that is done, or of which a worker died; it is tried again then."""
        number, answer = self._pool.wait()
        held = self._under_way.pop(number)
        held.tries += 1
        if isinstance(answer, Died) and held.tries < _TRIES:
            self._start(number, held)
        else:
            self._answers[number] = held, answer

    def _abandon(self) -> None:
        self._pool.abandon()
        self._under_way.clear()
        self._answers.clear()
