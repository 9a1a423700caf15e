"""Ctrl-C ends a command with one line and 130, whatever library it strikes in.

Databases and validators make other errors of it, or results, or miss it. What an interrupt left half done is no
finding: nothing is committed after one, and no partition is blocked for it.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from types import FrameType
from typing import NoReturn, Protocol, TypeVar
from weakref import WeakSet

EXIT_CODE = 130
_PATIENCE_S = 5.0  # for what does not hear of it; a process that is killed loses nothing either
_QUERY_INTERRUPTED = "Query interrupted"  # what DuckDB raises as RuntimeError in the place of KeyboardInterrupt


class Interruptible(Protocol):
    """What runs something long that another thread can end, such as a connection of DuckDB."""

    def interrupt(self) -> None:
        """End what it is running."""


Connection = TypeVar("Connection", bound=Interruptible)
_running: WeakSet[Interruptible] = WeakSet()


class _Process:
    """Whether Ctrl-C was pressed since the process watches for it, as Python and as the system report; the message."""

    pressed = False
    heard = False
    line = "Interrupted."


def watch() -> None:
    """Remember Ctrl-C from now on; where it is ignored, as by a process in the background, it stays so."""
    with suppress(ValueError):  # a thread that is not the first one cannot
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            reader, writer = os.pipe()
            os.set_blocking(writer, False)
            signal.set_wakeup_fd(writer, warn_on_full_buffer=False)  # heard at once, wherever the first thread is
            threading.Thread(target=_pass_on, args=(reader,), name="interrupt", daemon=True).start()
            signal.signal(signal.SIGINT, _remember)


def _remember(number: int, frame: FrameType | None) -> None:
    _Process.pressed = True
    signal.default_int_handler(number, frame)


def _pass_on(reader: int) -> None:
    while number := os.read(reader, 1):
        if number[0] == signal.SIGINT and signal.getsignal(signal.SIGINT) is _remember:
            _Process.heard = True
            # One may be closed just now, or opened: what is not ended here ends with patience.
            with suppress(Exception):
                for one in list(_running):
                    one.interrupt()
            last = threading.Timer(_PATIENCE_S, end)
            last.daemon = True
            last.start()


def end() -> NoReturn:
    """Say the line and end the process: at once where Ctrl-C was pressed, as a library might wait, or complain."""
    with suppress(OSError):  # whoever read it may have left
        sys.stdout.flush()
    sys.stderr.write(f"{_Process.line}\n")
    sys.stderr.flush()
    if _Process.heard:
        os._exit(EXIT_CODE)
    sys.exit(EXIT_CODE)


def stoppable(connection: Connection) -> Connection:
    """The connection, whose statements Ctrl-C ends at once: DuckDB polls for signals, and misses one now and then."""
    _running.add(connection)
    return connection


def say(line: str) -> None:
    """The message when the command ends by Ctrl-C, in the place of that alone."""
    _Process.line = line


def is_behind(error: BaseException) -> bool:
    """Whether Ctrl-C was pressed, or is what an error was made of."""
    return _Process.pressed or any(map(_is_interrupt, causes(error)))


def check(error: BaseException | None = None) -> None:
    """Raise KeyboardInterrupt where Ctrl-C was pressed, or is what an error was made of, and what ends a process."""
    if _Process.pressed or (error is not None and is_behind(error)):
        raise KeyboardInterrupt from error
    if isinstance(error, SystemExit | GeneratorExit):
        raise error


def _is_interrupt(error: BaseException) -> bool:
    return (
        isinstance(error, KeyboardInterrupt)
        or type(error).__name__ == "InterruptException"  # DuckDB's, which is not imported for this
        or (isinstance(error, RuntimeError) and str(error) == _QUERY_INTERRUPTED)
    )


def causes(given: BaseException) -> Iterator[BaseException]:
    """An error, and those that it was made of."""
    seen: set[int] = set()
    error: BaseException | None = given
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
