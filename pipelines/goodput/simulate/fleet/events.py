"""The event loop of the simulation: actions at simulated times, in time order."""

import heapq
import math
from collections.abc import Callable
from typing import Any, Final

NEVER: Final = math.inf


class EventLoop:
    """Runs actions in order of their time; actions of the same time run in the order they were asked for."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self._pending: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._asked = 0

    def at(self, when_s: float, action: Callable[..., None], *args: Any) -> None:
        """Run `action(*args)` when the simulated time reaches `when_s`."""
        heapq.heappush(self._pending, (when_s, self._asked, action, args))
        self._asked += 1

    def after(self, delay_s: float, action: Callable[..., None], *args: Any) -> None:
        """Run `action(*args)` once `delay_s` of simulated time has passed."""
        self.at(self.now_s + delay_s, action, *args)

    def run(self) -> None:
        """Run until nothing is left to do."""
        while self._pending:
            self.now_s, _, action, args = heapq.heappop(self._pending)
            action(*args)
