"""Whether a file is a part as it was written: the name of a part has the digest of its bytes."""

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from goodput.plumbing.catalog import Part


def wrong_with(path: Path, part: "Part") -> str | None:
    """What is wrong with the file that is to be a part: it is missing, of another size, or has other bytes."""
    try:
        size_bytes = path.stat().st_size
        if size_bytes != part.size_bytes:
            return f"has {size_bytes} bytes of {part.size_bytes}"
        return None if content_of(path) == part.content else "holds other bytes than were written"
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def content_of(path: Path) -> str:
    """Digest of the bytes of a file, as in the name of a part. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:32]
