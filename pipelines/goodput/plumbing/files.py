"""Writing files so that a reader sees all of one or none; what is in them is for others to say."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from goodput.errors import LakeUnwritable
from goodput.plumbing.durable import sync


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary name, then rename it to `path`: a reader, or a loss of power, finds old or new.

    Raises LakeUnwritable.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(temporary)
        sync([temporary])
        temporary.replace(path)
        sync([path])
    except OSError as error:
        raise LakeUnwritable(path, error) from error
    finally:
        with suppress(OSError):  # what went wrong is the better error
            temporary.unlink(missing_ok=True)
