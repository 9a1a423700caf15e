"""A worker: a process that does what it is given, one thing after another, until whoever began it is gone."""

import os
import signal
import sys
import threading
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue

READY = b""  # sent once; no answer is empty


def main(descriptor: int, threads: int, memory: str, spill: Path) -> None:
    """Work for the other end of a pipe, within bounds of threads and memory, spilling into a folder."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    given: SimpleQueue[bytes] = SimpleQueue()
    connection = Connection(descriptor)
    threading.Thread(target=_receive, args=(connection, given), daemon=True).start()
    bound(threads, memory, spill / str(os.getpid()))
    from goodput.runners.shipping import done  # noqa: PLC0415  (imports take a second, in which the other end may go)

    connection.send_bytes(READY)
    while True:
        connection.send_bytes(done(given.get()))


def bound(threads: int, memory: str, spill: Path) -> None:
    """Bound what this process takes, whatever it is given."""
    import pyarrow as pa  # noqa: PLC0415  (as above)

    from goodput.plumbing import sql_files  # noqa: PLC0415
    from goodput.plumbing.pandas_apart import leave_pandas_out  # noqa: PLC0415

    leave_pandas_out()
    pa.set_cpu_count(threads)
    sql_files.limit(threads, memory, spill)


def _receive(connection: Connection, given: "SimpleQueue[bytes]") -> None:
    """Take what is given; where nobody is there to give any more, end at once, in the middle of whatever is done."""
    try:
        while True:
            given.put(connection.recv_bytes())
    finally:
        os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], Path(sys.argv[4]))
