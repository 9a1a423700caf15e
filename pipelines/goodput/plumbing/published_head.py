"""The head of the published database as a run left it: another program that writes into it changes that.

The database is derived, and no digest in it tells of rows that another program changed. DuckDB writes the head last,
once what was committed is in the file; what is in the log beside it is `goodput.plumbing.foreign_log`'s.
"""

import hashlib
import json
from pathlib import Path

from goodput.plumbing.cache_file import read_cache
from goodput.plumbing.files import write_atomically

_NOTED = "published_head.json"
_HEAD_BYTES = 3 * 4096  # of the file, and of its two states, of which the newer one counts


def note_head(database: Path, state: str) -> None:
    """Remember a database as it was published, with the digest of what it holds. Raises LakeUnwritable."""
    text = json.dumps([state, _head(database)])
    write_atomically(database.with_name(_NOTED), lambda path: path.write_text(text))


def is_written_to(database: Path, state: str) -> bool:
    """Whether a program changed a database after it was published with this digest of what it holds.

    Of one that this machine has not published nobody knows.
    """
    noted = read_cache(database.with_name(_NOTED), tuple[str, str])
    return noted is not None and noted[0] == state and noted[1] != _head(database)


def _head(database: Path) -> str:
    with database.open("rb") as file:
        return hashlib.sha256(file.read(_HEAD_BYTES)).hexdigest()
