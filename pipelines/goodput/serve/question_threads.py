"""Work that takes a while, done beside the answers that do not: a few questions at once, the others wait."""

from collections.abc import Callable
from typing import TypeVar

import anyio
from anyio import to_thread

_AT_ONCE = 4  # each uses all cores
Result = TypeVar("Result")


class QuestionThreads:
    """Threads for questions."""

    def __init__(self) -> None:
        self._limiter = anyio.CapacityLimiter(_AT_ONCE)

    async def done(self, work: Callable[[], Result]) -> Result:
        """What a piece of work gives, or the error that it raises."""
        return await to_thread.run_sync(work, limiter=self._limiter)
