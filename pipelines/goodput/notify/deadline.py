"""One deadline for all that an attempt waits for: names, connections, handshakes, and every byte either way.

A socket's own time limit is of one operation, so a peer that drips bytes is within it for ever.
"""

import io
import socket
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

Found = TypeVar("Found")


class Deadline:
    """An instant so many seconds after its making; what waits asks how long it still may."""

    def __init__(self, total_s: float) -> None:
        self.total_s = total_s
        self._until = time.monotonic() + total_s

    def left_s(self, at_most_s: float = float("inf")) -> float:
        """Seconds that are left, capped. Raises TimeoutError where none are."""
        left = min(self._until - time.monotonic(), at_most_s)
        if left <= 0:
            raise TimeoutError(self.message)
        return left

    @property
    def message(self) -> str:
        """What an attempt that it ended is reported as."""
        return f"no answer within {self.total_s:g} s"

    def within(self, ask: Callable[[], Found]) -> Found:
        """What `ask` returns or raises, if that is in time: for what has no time limit of its own.

        Raises TimeoutError, and leaves `ask` to a thread that keeps nobody waiting.
        """
        answers: list[Found] = []
        failed: list[BaseException] = []

        def run() -> None:
            try:
                answers.append(ask())
            except BaseException as error:
                failed.append(error)

        thread = threading.Thread(target=run, name="within", daemon=True)
        thread.start()
        thread.join(self.left_s())
        if failed:
            raise failed[0]
        if not answers:
            raise TimeoutError(self.message)
        return answers[0]


class TimedSocket:
    """What an HTTP client does with a socket, each operation within what is left of a deadline."""

    def __init__(self, connected: socket.socket, deadline: Deadline) -> None:
        self._socket = connected
        self.deadline = deadline

    def sendall(self, content: bytes) -> None:
        """Send all of it. Raises OSError, TimeoutError among them."""
        rest = memoryview(content)
        while rest:
            self._socket.settimeout(self.deadline.left_s())
            rest = rest[self._socket.send(rest) :]

    def makefile(self, *_: Any) -> io.BufferedReader:
        """What arrives; it holds the socket open for itself."""
        return io.BufferedReader(_Incoming(self._socket, self))

    def close(self) -> None:
        """Let go of the socket."""
        self._socket.close()


class _Incoming(io.RawIOBase):
    def __init__(self, connected: socket.socket, owner: TimedSocket) -> None:
        self._socket = connected
        self._owner = owner
        self._raw = connected.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._socket.settimeout(self._owner.deadline.left_s())
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()
