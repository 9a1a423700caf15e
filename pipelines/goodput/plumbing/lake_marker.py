"""lake.json: the format of a lake, and the columns of its tables that are computed from no other table.

An older version reads a lake with columns that it does not know, but would drop them from what it writes anew.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from goodput.errors import LakeTooNew, LakeTooOld, LakeUnreadable

if TYPE_CHECKING:
    from goodput.plumbing.lake import Lake

FORMAT = 4
_MARKER = "lake.json"
_NOT_COMPUTED = frozenset({"collected", "conformed", "monitored"})


def marker(lake_root: Path) -> Path:
    """Where it lies."""
    return lake_root / _MARKER


def format_in(path: Path) -> int:
    """The format that the marker of a lake says. Raises LakeUnreadable."""
    try:
        return int(json.loads(path.read_text())["format"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LakeUnreadable(path, f"no format of a lake ({error!r})") from error


def check(lake_root: Path) -> None:
    """Check that this version may write to a lake. Raises LakeTooNew, LakeTooOld, LakeUnreadable."""
    found = format_in(marker(lake_root))
    if found > FORMAT:
        raise LakeTooNew(lake_root, f"format {found}; this version of Goodput knows formats up to {FORMAT}")
    if found < FORMAT:
        raise LakeTooOld(lake_root, found, FORMAT)
    noted, known = _noted(lake_root), _columns()
    unknown = [f"{table}.{name}" for table in noted for name in noted[table] if name not in known.get(table, ())]
    if unknown:
        raise LakeTooNew(lake_root, f"columns that this version of Goodput does not know, such as {min(unknown)}")


def begin(lake: "Lake") -> None:
    """Mark a new lake. Raises LakeUnwritable; LakeUnreadable of one whose marker is lost: nobody knows its format."""
    if any(lake.root.glob("*/*/_delta_log")):
        raise LakeUnreadable(marker(lake.root), "it is not there, though the lake has tables")
    _write(lake, {})


def note_columns(lake: "Lake") -> None:
    """Note the columns that this version writes; call it before anything is written. Raises LakeUnwritable."""
    if _noted(lake.root) != _columns():
        _write(lake, _columns())


@cache
def _columns() -> dict[str, list[str]]:
    from goodput.contracts import contract, stored_tables  # noqa: PLC0415  (YAML, which questions need not wait for)

    tables = (contract(name) for name in stored_tables())
    return {table.name: [column.name for column in table.columns] for table in tables if table.layer in _NOT_COMPUTED}


def _noted(lake_root: Path) -> Mapping[str, list[str]]:
    return dict(json.loads(marker(lake_root).read_text()).get("columns", {}))


def _write(lake: "Lake", columns: Mapping[str, list[str]]) -> None:
    text = json.dumps({"format": FORMAT, **({"columns": columns} if columns else {})}) + "\n"
    lake.keep(marker(lake.root), lambda path: path.write_text(text))
