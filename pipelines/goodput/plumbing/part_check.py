"""Whether a file is a part as it was written: the name of a part has the digest of its bytes.

No number is made of a part before its bytes are compared, once in a run: Parquet that was damaged may still be read,
and give other values.
"""

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from goodput.errors import LakeUnreadable

if TYPE_CHECKING:
    from goodput.plumbing.catalog import Part

_OTHER_BYTES = "holds other bytes than were written"
_CONTENT = re.compile(r"-([0-9a-f]{32})\.parquet$")
_intact: set[str] = set()  # what this run wrote, and what it has compared


def note_written(path: str) -> None:
    """Take a part for whole that has just been written."""
    _intact.add(path)


def forget_compared() -> None:
    """Compare every part again that is read from now on."""
    _intact.clear()


def check_parts(files: Iterable[str]) -> None:
    """Compare the bytes of the parts among some files with what was written. Raises LakeUnreadable."""
    for file in files:
        named = None if file in _intact else _CONTENT.search(file)
        if named:
            try:
                is_whole = content_of(Path(file)) == named[1]
            except OSError as error:
                raise LakeUnreadable(Path(file), str(error.strerror)) from error
            if not is_whole:
                raise LakeUnreadable(Path(file), _OTHER_BYTES)
            _intact.add(file)


def wrong_with(path: Path, part: "Part") -> str | None:
    """What is wrong with the file that is to be a part: it is missing, of another size, or has other bytes."""
    try:
        size_bytes = path.stat().st_size
        if size_bytes != part.size_bytes:
            return f"has {size_bytes} bytes of {part.size_bytes}"
        return None if content_of(path) == part.content else _OTHER_BYTES
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def content_of(path: Path) -> str:
    """Digest of the bytes of a file, as in the name of a part. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:32]
