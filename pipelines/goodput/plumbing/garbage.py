"""Parts that newer ones have replaced: kept a while for readers of an older database, then deleted."""

import json
import shutil
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from goodput.contracts import stored_tables
from goodput.plumbing.cache_file import read_cache
from goodput.plumbing.catalog import PARTITION
from goodput.plumbing.lake import SHARDS, Lake, delete

KEPT_S = 3600.0
_NOTED = "replaced.json"
_TABLES = frozenset(stored_tables())
_NO_NAMES = ("", ".", "..")  # of a file or folder


def note_replaced(lake: Lake, replaced: Iterable[Path]) -> None:
    """Note parts that newer ones have replaced; the published database still reads them. Raises LakeUnwritable."""
    names = [str(path.relative_to(lake.root)) for path in replaced]
    if names:
        _write(lake, _noted(lake) | dict.fromkeys(names))


def delete_replaced(lake: Lake, *, at_once: bool = False) -> None:
    """Delete what the published database has not read for more than KEPT_S; call it once the database is published.

    `at_once`: also what readers of an older database may hold. Raises LakeUnwritable.
    """
    noted, now = _noted(lake), time.time()
    unread = {name: now if since is None else since for name, since in noted.items()}
    old = {name for name, since in unread.items() if at_once or now - since > KEPT_S}
    unused = [path for path in (lake.root / name for name in sorted(old)) if not _counts(lake, path)]
    lake.store.delete(unused)
    delete(unused)
    kept = {name: since for name, since in unread.items() if name not in old}
    if kept != noted:
        _write(lake, kept)


def sweep(lake: Lake, *, anyway: bool = False) -> None:
    """Note what a writer that was broken off left uncommitted, and delete its unfinished files; else do nothing.

    `anyway`: also where none is known to have been. The caller holds the lake's lock. Raises LakeUnwritable.
    """
    if not (anyway or lake.write_lock.is_broken_off):
        return
    parts = [path for path in lake.root.glob(f"*/*/{PARTITION}=*/*") if not path.name.startswith(".")]
    note_replaced(lake, (path for path in [*parts, *lake.store.strays()] if not _counts(lake, path)))
    shutil.rmtree(lake.root / SHARDS, ignore_errors=True)
    delete([*lake.root.glob(".*.tmp"), *lake.root.glob(f"*/*/{PARTITION}=*/.*.tmp")])
    lake.write_lock.is_broken_off = False


def _noted(lake: Lake) -> dict[str, float | None]:
    """Since when no published database reads each part, in Unix seconds, by its path below the lake; None: one does."""
    path = lake.root / _NOTED
    if not path.exists():
        return {}
    noted = read_cache(path, dict[str, float | None])
    if noted is None:
        lake.write_lock.is_broken_off = True  # the next writer sweeps up the parts that it named
        return {}
    return {name: since for name, since in noted.items() if _is_part(name)}


def _is_part(name: str) -> bool:
    layer, table, partition, file, *more = (*name.split("/"), "", "", "")
    is_below = layer not in _NO_NAMES and file not in _NO_NAMES and not any(more)
    return is_below and table in _TABLES and partition.startswith(f"{PARTITION}=")


def _write(lake: Lake, noted: Mapping[str, float | None]) -> None:
    text = json.dumps(noted)
    lake.keep(lake.root / _NOTED, lambda path: path.write_text(text))


def _counts(lake: Lake, path: Path) -> bool:
    """Whether a part that was replaced once is one of its table again, as when a change was taken back."""
    table = lake.catalog[path.parent.parent.name]
    partition = path.parent.name.partition("=")[2]
    return any(part.file == str(path) for part in table.parts.get(partition, ()))
