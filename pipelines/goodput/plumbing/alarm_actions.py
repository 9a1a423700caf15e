"""What operators did about alarms, in one file of the lake: silences, which expire, and shifts accepted as normal.

Rows of that file and their reading and writing belong here; what they do to an alarm is monitor's work.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from goodput.errors import LakeUnreadable
from goodput.globs import matches_any
from goodput.plumbing.store import IN_FOLDER, Store

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
        return all(matches_any(named_word(named, name), [glob]) for name, glob in self.match.items())


def named_word(named: Mapping[str, str | None], name: str) -> str:
    """What an alarm has under a name, by its columns and what they have as `labels`; the empty word without it."""
    word: str = named.get(name) or json.loads(named.get("labels") or "{}").get(name, "")
    return word


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


def add_action(lake_root: Path, action: Action, store: Store = IN_FOLDER) -> None:
    """Add one line; it is kept once this returns. Raises LakeUnwritable, StoreFailed."""
    row = {**vars(action), **{name: _iso(getattr(action, name)) for name in _TIMES}}
    store.append(actions_file(lake_root), f"{json.dumps(row)}\n".encode())


def _action(row: dict[str, object]) -> Action:
    times = {name: None if row[name] is None else datetime.fromisoformat(str(row[name])) for name in _TIMES}
    return Action(**{**row, **times})  # type: ignore[arg-type]  # the columns of the file are those of an action


def _iso(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()
