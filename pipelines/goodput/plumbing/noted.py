"""Facts that a lake keeps in small files beside its parts: each a dataclass, whose default stands for no file."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from goodput.errors import LakeUnreadable
from goodput.plumbing.lake import Lake

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Note = TypeVar("Note", bound="DataclassInstance")


def read_noted(path: Path, kind: type[Note]) -> Note:
    """What a file says; the default where there is none. Raises LakeUnreadable."""
    try:
        return kind(**json.loads(path.read_text()))
    except FileNotFoundError:
        return kind()
    except (OSError, ValueError, TypeError) as error:
        raise LakeUnreadable(path, str(error)) from error


def write_noted(lake: Lake, name: str, note: "DataclassInstance") -> None:
    """Note it. Raises LakeUnwritable."""
    text = json.dumps(asdict(note), indent=1, sort_keys=True)
    lake.keep(lake.root / name, lambda path: path.write_text(text))
