"""What operators did about alarms, in one file of the lake: silences, which expire, and shifts accepted as normal.

Rows of that file and their reading and writing belong here; what they do to an alarm is monitor's work.
"""

import fcntl
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path

from goodput.errors import LakeUnreadable, LakeUnwritable

MATCHED = (
    "alarm_id",
    "rule",
    "severity",
    "metric",
    "workload",
    "pool",
    "replica",
    "evaluator",
    "label",
    "bucket",
    "gate",
)
_TIMES = ("said_at", "begins", "ends")


@dataclass(frozen=True)
class Action:
    """One action: `silence` suppresses what matches from `begins` to `ends`; `accept` makes normal since `begins`.

    `match` holds a glob for each of MATCHED that is named; `said_at` is when it was recorded. What is
    recorded again under an id takes the place of what was there: so a silence ends early.
    """

    action_id: str
    kind: str
    match: Mapping[str, str]
    said_at: datetime
    begins: datetime
    ends: datetime | None = None
    reason: str = ""

    def matches(self, named: Mapping[str, str | None]) -> bool:
        """Whether an alarm is meant, by its columns and what they have as `labels`."""
        values = json.loads(named.get("labels") or "{}") | {name: word for name, word in named.items() if word}
        return all(fnmatchcase(values.get(name, ""), glob) for name, glob in self.match.items())


def of_kind(actions: Iterable[Action], kind: str) -> list[Action]:
    """The actions of one kind, each once, in the order in which they were recorded."""
    once = (action for action in newest(actions) if action.kind == kind)
    return sorted(once, key=lambda action: (action.said_at, action.action_id))


def newest(actions: Iterable[Action]) -> list[Action]:
    """Each action as it was recorded last."""
    return list({action.action_id: action for action in actions}.values())


def actions_file(lake_root: Path) -> Path:
    """Where they are kept: one JSON object a line, only ever added to."""
    return lake_root / "alarm_actions.jsonl"


def read_actions(lake_root: Path) -> list[Action]:
    """Everything that was recorded; an unfinished last line never was. Raises LakeUnreadable."""
    path = actions_file(lake_root)
    try:
        lines = path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []
        return [_action(json.loads(line)) for line in lines]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LakeUnreadable(path, str(error)) from error


def add_action(lake_root: Path, action: Action) -> None:
    """Add one line, in the place of one that was never finished; it is on disk once this returns.

    Raises LakeUnwritable.
    """
    row = {**vars(action), **{name: _iso(getattr(action, name)) for name in _TIMES}}
    path = actions_file(lake_root)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)
            file.write(f"{json.dumps(row)}\n".encode())
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise LakeUnwritable(path, error) from error


def _action(row: dict[str, object]) -> Action:
    times = {name: None if row[name] is None else datetime.fromisoformat(str(row[name])) for name in _TIMES}
    return Action(**{**row, **times})  # type: ignore[arg-type]  # the columns of the file are those of an action


def _iso(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()
