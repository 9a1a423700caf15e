"""The event loop of the simulation: actions at simulated times, in time order."""

import heapq
import math
from collections.abc import Callable
from typing import Final

Action = Callable[[], None]
NEVER: Final = math.inf


class EventLoop:
    """Runs actions in order of their time; actions of the same time run in the order they were asked for."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self._pending: list[tuple[float, int, Action]] = []
        self._asked = 0

    def at(self, when_s: float, action: Action) -> None:
        """Run `action` when the simulated time reaches `when_s`."""
        heapq.heappush(self._pending, (when_s, self._asked, action))
        self._asked += 1

    def after(self, delay_s: float, action: Action) -> None:
        """Run `action` once `delay_s` of simulated time has passed."""
        self.at(self.now_s + delay_s, action)

    def run(self) -> None:
        """Run until nothing is left to do."""
        while self._pending:
            self.now_s, _, action = heapq.heappop(self._pending)
            action()
