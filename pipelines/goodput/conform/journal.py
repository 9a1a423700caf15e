"""The journal of a batch: which parts its commits add and remove, so that a run that dies among them is undone.

The tables of the lake are committed one after another and the source ledger last. Where the ledger's commit is
missing, the next run takes back what the others did and reads those sources again.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from goodput.errors import LakeUnreadable
from goodput.plumbing import source_ledger
from goodput.plumbing.catalog import ALL, Part, Table
from goodput.plumbing.lake import Lake
from goodput.plumbing.source_ledger import SourceEntry
from goodput.plumbing.torn_commits import JOURNAL

_Noted = tuple[str, str, str, str, int, int]  # a part, with its path below the lake


class PartChange(NamedTuple):
    """Parts that one commit of a table adds and removes."""

    add: list[Part]
    remove: list[Part]


@contextmanager
def journaled(lake: Lake, changes: Mapping[str, PartChange] | None = None) -> Iterator[None]:
    """Note what is about to be committed, and forget it once all is. Raises LakeUnwritable."""
    noted = {
        "ledger": _content(lake.catalog[source_ledger.TABLE]),
        "tables": {table: [_noted(lake, parts) for parts in change] for table, change in (changes or {}).items()},
    }
    lake.keep(_path(lake), lambda path: path.write_text(json.dumps(noted)))
    yield
    lake.drop(_path(lake))


def commit_sources(
    lake: Lake, changes: Mapping[str, PartChange], entries: Iterable[SourceEntry], gone: Iterable[str]
) -> list[Path]:
    """Commit what sources that come or are gone change, and the source ledger last; paths of the parts replaced.

    Raises LakeUnwritable.
    """
    with journaled(lake, changes):
        removed = [path for table, change in changes.items() for path in lake.catalog[table].change(*change)]
        return [*removed, *source_ledger.change(lake, entries, gone)]


def undo_unfinished(lake: Lake) -> list[Path]:
    """Take back the commits of a batch that has no commit of the source ledger; paths of the parts that it had added.

    Raises LakeUnreadable, LakeUnwritable.
    """
    path = _path(lake)
    if not path.exists():
        return []
    try:
        noted = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise LakeUnreadable(path, str(error)) from error
    removed: list[Path] = []
    if _is_unfinished(lake.catalog[source_ledger.TABLE], noted):
        for table, (added, replaced) in noted["tables"].items():
            home = lake.catalog[table]
            if home.version >= 0:
                home.change(_parts(lake, replaced), _parts(lake, added))
            removed += [part.path for part in _parts(lake, added)]
    lake.drop(path)
    return removed


def _is_unfinished(ledger: Table, noted: Mapping[str, Any]) -> bool:
    """Whether the ledger holds what it held: its version says less, as an empty commit has one too."""
    if "ledger" not in noted:  # an older version of Goodput died in it
        return bool(ledger.version <= noted["ledger_version"])
    return bool(_content(ledger) == noted["ledger"])


def _content(ledger: Table) -> str | None:
    return ledger.contents.get(ALL)


def _path(lake: Lake) -> Path:
    return lake.root / JOURNAL


def _noted(lake: Lake, parts: Sequence[Part]) -> list[_Noted]:
    return [
        (p.partition, p.path.relative_to(lake.root).as_posix(), p.inputs, p.content, p.rows, p.size_bytes)
        for p in parts
    ]


def _parts(lake: Lake, noted: Sequence[_Noted]) -> list[Part]:
    return [
        Part(partition, str(lake.root / path), inputs, content, rows, size_bytes)
        for partition, path, inputs, content, rows, size_bytes in noted
    ]
