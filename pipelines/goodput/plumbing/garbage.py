"""Parts that newer ones have replaced: kept a while for readers of an older database, then deleted."""

import json
import time
from collections.abc import Iterable
from pathlib import Path

from goodput.plumbing.lake import Lake, delete, write_atomically

KEPT_S = 3600.0


def discard(lake: Lake, replaced: Iterable[Path]) -> None:
    """Note replaced parts, and delete those that were replaced more than KEPT_S ago. Raises LakeUnwritable."""
    noted = lake.root / "replaced.json"
    now = time.time()
    known: dict[str, float] = json.loads(noted.read_text()) if noted.exists() else {}
    after = known | {str(path.relative_to(lake.root)): now for path in replaced}
    old = {name for name, since in after.items() if now - since > KEPT_S}
    delete(lake.root / name for name in old if not _counts(lake, lake.root / name))
    kept = {name: since for name, since in after.items() if name not in old}
    if kept != known:
        text = json.dumps(kept)
        write_atomically(noted, lambda path: path.write_text(text))


def _counts(lake: Lake, path: Path) -> bool:
    """Whether a part that was replaced once is one of its table again, as when a change was taken back."""
    table = lake.catalog[path.parent.parent.name]
    partition = path.parent.name.partition("=")[2]
    return any(part.path == path for part in table.parts.get(partition, ()))
