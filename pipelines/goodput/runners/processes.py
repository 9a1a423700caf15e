"""Workers that are processes of this machine: begun when they are first needed, ended with the run however it ends.

A worker that dies is another's to follow. What it writes to its standard error is kept out of the run's output.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Pipe, wait
from pathlib import Path
from tempfile import TemporaryFile

from goodput.errors import WorkersUnusable
from goodput.plumbing import interrupt
from goodput.plumbing.runner import Died
from goodput.plumbing.spill import spill_folder
from goodput.runners.worker import READY

_MEMORY_PERCENT = 80  # of the machine's, for all workers; DuckDB's own bound of one
_KILLED_AT_START = 3  # one after another: whatever kills them will not let any come so far that it can work


@contextmanager
def processes(count: int, on_death: Callable[[], None]) -> Iterator["Processes"]:
    """So many workers; `on_death` is called where one dies at work, as it leaves unfinished files."""
    with spill_folder() as spill:
        pool = interrupt.stoppable(Processes(count, spill, on_death))
        try:
            yield pool
        finally:
            pool.close()


class Processes:
    """A pool of processes; docs/scale.md."""

    def __init__(self, count: int, spill: Path, on_death: Callable[[], None]) -> None:
        self.width = count
        self._spill = spill
        self._on_death = on_death
        self._workers: list[_Worker] = []
        self._killed_at_start = 0

    @property
    def has_begun(self) -> bool:
        """Whether a process has been started."""
        return bool(self._workers)

    def start(self, number: int, payload: bytes) -> None:
        """Give it to a worker that has nothing to do, a new one where there is none."""
        idle = next((worker for worker in self._workers if worker.number is None), None)
        if idle is None:
            idle = _Worker(self.width, self._spill)
            self._workers.append(idle)
        idle.give(number, payload)

    def wait(self) -> tuple[int, bytes | Died]:
        """The next thing that is done. Raises WorkersUnusable where workers end before they can work."""
        while True:
            by: dict[object, _Worker] = {worker.connection: worker for worker in self._workers}
            for ready in wait([worker.connection for worker in self._workers]):
                heard = self._hear(by[ready])
                if heard is not None:
                    return heard

    def _hear(self, worker: "_Worker") -> tuple[int, bytes | Died] | None:
        """What a worker has done, or died of; None where it says that it can work."""
        try:
            answer = worker.connection.recv_bytes()
        except (EOFError, OSError):
            return self._died(worker)
        if answer == READY:
            worker.is_ready = True
            self._killed_at_start = 0
            return None
        number, worker.number = worker.number, None
        assert number is not None  # noqa: S101  (it was given something)
        return number, answer

    def _died(self, worker: "_Worker") -> tuple[int, Died] | None:
        interrupt.check()  # which ends them too
        self._workers.remove(worker)
        why = worker.end()
        if not worker.is_ready:
            self._killed_at_start += 1
            if not worker.was_killed or self._killed_at_start == _KILLED_AT_START:
                raise WorkersUnusable(why)
        if worker.number is None:
            return None  # it had nothing to do
        self._on_death()
        return worker.number, Died(why)

    def abandon(self) -> None:
        """End the workers that are at work."""
        busy = [worker for worker in self._workers if worker.number is not None]
        for worker in busy:
            self._workers.remove(worker)
            worker.end()
        if busy:
            self._on_death()

    def interrupt(self) -> None:
        """End all workers, from another thread: who waits for them hears of it."""
        for worker in list(self._workers):
            worker.kill()

    def close(self) -> None:
        """End all workers."""
        for worker in self._workers:
            worker.end()
        self._workers.clear()


class _Worker:
    """One process, what it does (None: nothing), and whether it has come so far that it can."""

    def __init__(self, of: int, spill: Path) -> None:
        self.number: int | None = None
        self.is_ready = False
        self.connection, theirs = Pipe()
        self._stderr = TemporaryFile()  # noqa: SIM115  (open as long as the process)
        threads = max(1, len(os.sched_getaffinity(0)) // of)
        bounds = (str(threads), f"{max(1, _MEMORY_PERCENT // of)}%", str(spill))
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603  (words of this module)
                [sys.executable, "-P", "-m", "goodput.runners.worker", str(theirs.fileno()), *bounds],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._stderr,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C is the run's to hear
                env={**os.environ, "POLARS_MAX_THREADS": str(threads)},
            )

    def give(self, number: int, payload: bytes) -> None:
        """Have it do something; one that is dead shows as such where it is waited for."""
        self.number = number
        try:
            self.connection.send_bytes(payload)
        except OSError:
            self.kill()

    def kill(self) -> None:
        """End the process at once: nothing that it has not given back counts."""
        self._process.kill()

    @property
    def was_killed(self) -> bool:
        """Whether a signal ended the process, once it has ended: it did not give up by itself."""
        return (self._process.returncode or 0) < 0

    def end(self) -> str:
        """End the process and wait for its end; how it ended."""
        self.connection.close()
        self.kill()
        code = self._process.wait()
        self._stderr.seek(0)
        stderr = self._stderr.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
        self._stderr.close()
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return f"the worker process ended by {how}{f': {stderr}' if stderr else ''}"
