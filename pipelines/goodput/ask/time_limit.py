"""How long a question to the published database may take, for whoever answers others: live pages, language models."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

import duckdb

from goodput.errors import TookTooLong

_AGAIN_S = 0.05  # between two interrupts: one strikes only what runs at that moment


@contextmanager
def ended_in_time(connection: duckdb.DuckDBPyConnection, seconds: float) -> Iterator[None]:
    """What a connection does inside is interrupted after so long. Raises TookTooLong."""
    is_over, is_late = Event(), Event()

    def watch() -> None:
        if not is_over.wait(seconds):
            is_late.set()
            while not is_over.wait(_AGAIN_S):
                with suppress(duckdb.Error):  # it may just be closed
                    connection.interrupt()

    watcher = Thread(target=watch, name="time limit", daemon=True)
    watcher.start()
    try:
        yield
    except (duckdb.Error, RuntimeError) as error:  # an interrupt may come as either
        if not is_late.is_set():
            raise
        raise TookTooLong(seconds) from error
    finally:
        is_over.set()
        watcher.join()
