"""Strands of work that take turns: one runs at a time, until it waits or ends.

What they share needs no lock, and who waits for a worker lets others give work to the next one.
"""

import threading
from collections.abc import Callable, Collection, Mapping
from contextvars import copy_context
from functools import partial


class Abandoned(BaseException):
    """Raised in a strand that is not to go on."""


class _Strand(threading.Thread):
    """One strand. It runs in turn with whoever resumes it: both never run at once."""

    def __init__(self, do: Callable[[], None]) -> None:
        super().__init__(name="strand", daemon=True)
        self._do = do
        self._within = copy_context()  # Thread has a _context of its own
        self._turn, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self._is_closed = False
        self._error: BaseException | None = None
        self.has_ended = False

    def resume(self) -> None:
        """Let it run until it pauses or ends. Raises what it ended with."""
        if not self.is_alive():
            self.start()
        self._turn.release()
        try:
            self._back.acquire()
        except BaseException:  # an interrupt: it ends before any other goes on
            self.close()
            raise
        if self._error is not None:
            raise self._error

    def pause(self) -> None:
        """Let the others run; called by the strand itself. Raises Abandoned."""
        self._check()
        self._back.release()
        self._take_turn()

    def close(self) -> None:
        """Have it end where it paused, or soon, and wait for its end."""
        self._is_closed = True
        self._turn.release()
        if self.is_alive():
            self.join()

    def run(self) -> None:
        """Do it all; `Thread` calls this."""
        try:
            self._take_turn()
            self._within.run(self._do)
        except BaseException as error:  # raised where it is resumed, an interrupt too
            self._error = error
        finally:
            self.has_ended = True
            self._back.release()

    def _take_turn(self) -> None:
        self._turn.acquire()
        self._check()

    def _check(self) -> None:
        if self._is_closed:
            raise Abandoned


def pause() -> bool:
    """Let other strands go on, if the caller is in one; else nothing, as whoever waits must do so itself."""
    strand = threading.current_thread()
    if not isinstance(strand, _Strand):
        return False
    strand.pause()
    return True


def take_turns(
    needs: Mapping[str, Collection[str]],
    do: Callable[[str], None],
    wait: Callable[[], None],
    moves: Callable[[], int],
) -> None:
    """Do each step in a strand of its own, once those that it needs are done; of those that can go on, the first does.

    `wait` blocks until something that strands wait for has happened, and `moves` counts what they have done about it:
    where it stays the same, all of them wait. Raises what a strand raises, when the others have ended.
    """
    left, done = list(needs), set[str]()
    strands: dict[str, _Strand] = {}
    try:
        while left or strands:
            for step in [one for one in left if done.issuperset(needs[one])]:
                left.remove(step)
                strands[step] = _Strand(partial(do, step))
            before = moves()
            for strand in strands.values():
                strand.resume()
            ended = [step for step, strand in strands.items() if strand.has_ended]
            for step in ended:
                del strands[step]
            done.update(ended)
            if not ended and moves() == before:
                wait()
    finally:
        for strand in strands.values():
            strand.close()
