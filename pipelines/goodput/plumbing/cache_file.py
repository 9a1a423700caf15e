"""Files that only save time: what cannot be read in one, or has another shape, is as if it was not there."""

from pathlib import Path
from typing import TypeVar

import msgspec

Shape = TypeVar("Shape")


def read_cache(path: Path, shape: type[Shape]) -> Shape | None:
    """The JSON of a file in the shape that it was written in; None where nothing of that shape is there."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=shape)
    except (OSError, ValueError, RecursionError, msgspec.MsgspecError):
        return None
