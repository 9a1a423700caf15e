"""Commits that a loss of power tore: the newest one of a table, of which only the beginning is on disk.

Nothing refers to such a commit, as what does is written after it is synced. What was torn by something else, such as a
copy that ended early, may be referred to: of tables that are made from others that costs a computation, and of those
that are made from sources it is told by the journal of ingestion, which is there from before a commit to after it.
"""

import json
from pathlib import Path

from goodput.contracts import contract

JOURNAL = "ingesting.json"  # in the lake, while sources are committed
_BY_JOURNAL = "source_ledger"  # beside the conformed tables


def forget_if_torn(lake_root: Path, table: str, commit: Path) -> bool:
    """Remove a table's newest commit where a loss of power tore it. Raises OSError."""
    may_be_torn = (table != _BY_JOURNAL and contract(table).layer != "conformed") or (lake_root / JOURNAL).exists()
    if not may_be_torn or not _is_torn(commit.read_bytes()):
        return False
    commit.unlink()
    return True


def _is_torn(content: bytes) -> bool:
    """Whether the last line is not whole: empty, cut, or never written."""
    last = content.rstrip(b"\0").rpartition(b"\n")[2]
    try:
        json.loads(last)
    except ValueError:
        return not last or last.startswith(b"{")
    return False
