"""Parts that newer ones have replaced: kept a while for readers of an older database, then deleted."""

import json
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from goodput.plumbing.files import write_atomically
from goodput.plumbing.lake import Lake, delete

KEPT_S = 3600.0
_NOTED = "replaced.json"


def note_replaced(lake: Lake, replaced: Iterable[Path]) -> None:
    """Note parts that newer ones have replaced. Raises LakeUnwritable."""
    names = [str(path.relative_to(lake.root)) for path in replaced]
    if names:
        _write(lake, _noted(lake) | dict.fromkeys(names, time.time()))


def delete_replaced(lake: Lake) -> None:
    """Delete what was replaced more than KEPT_S ago; only the database before the published one reads it.

    Raises LakeUnwritable.
    """
    noted = _noted(lake)
    old = {name for name, since in noted.items() if time.time() - since > KEPT_S}
    delete(lake.root / name for name in old if not _counts(lake, lake.root / name))
    if old:
        _write(lake, {name: since for name, since in noted.items() if name not in old})


def _noted(lake: Lake) -> dict[str, float]:
    """When each part was replaced, in Unix seconds, by its path below the lake."""
    path = lake.root / _NOTED
    return dict(json.loads(path.read_text())) if path.exists() else {}


def _write(lake: Lake, noted: Mapping[str, float]) -> None:
    text = json.dumps(noted)
    write_atomically(lake.root / _NOTED, lambda path: path.write_text(text))


def _counts(lake: Lake, path: Path) -> bool:
    """Whether a part that was replaced once is one of its table again, as when a change was taken back."""
    table = lake.catalog[path.parent.parent.name]
    partition = path.parent.name.partition("=")[2]
    return any(part.path == path for part in table.parts.get(partition, ()))
