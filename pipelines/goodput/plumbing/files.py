"""Writing files so that a reader sees all of one or none; what is in them is for others to say."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from goodput.errors import LakeUnwritable
from goodput.plumbing.durable import sync
from goodput.plumbing.foreign_log import remove_logs

_DATABASE = ".duckdb"


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary name, then rename it to `path`: a reader, or a loss of power, finds old or new.

    The log that another program left beside a database goes before: whoever opens the database in between finds the
    old one without what that program wrote. Raises LakeUnwritable.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(temporary)
        sync([temporary])
        if path.suffix == _DATABASE:
            remove_logs(path)
        temporary.replace(path)
        if path.suffix == _DATABASE:
            remove_logs(path)  # of a program that opened the old one meanwhile
        sync([path])
    except OSError as error:
        raise LakeUnwritable(path, error) from error
    finally:
        with suppress(OSError):  # what went wrong is the better error
            temporary.unlink(missing_ok=True)
