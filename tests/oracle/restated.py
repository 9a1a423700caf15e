"""What a run says that it restated, beside what it changed: docs/semantics.md#time-and-restatement."""

from typing import Any

from goodput.plumbing.workspace import Workspace
from oracle.compare import Comparison, keyed, rows
from oracle.fleet import Row
from oracle.slices import DIMENSIONS
from published import RESTATED

CUT = ("window_at", "window_s", "slice", "slice_value", *DIMENSIONS)
AT = "epoch(window_start)::BIGINT AS window_at"
SHOWN = ("offered", "accepted", "goodput_rps", "cost_usd")
Published = tuple[dict[Any, Row], dict[Any, Row]]  # rows of goodput, and of restatements


def published(workspace: Workspace) -> Published:
    """What is published of windows, and what was restated of them."""
    told = rows(workspace, f"SELECT *, {AT} FROM restatements")
    return keyed(rows(workspace, f"SELECT *, {AT} FROM goodput"), *CUT), keyed(told, *CUT, "revision")


def compare(found: Comparison, before: Published, after: Published) -> None:
    """Rows that changed have the next revision and are told, and so are those that are gone; all others stay."""
    expected: dict[Any, Row] = {}
    for key in before[0].keys() | after[0].keys():
        old, new = before[0].get(key), after[0].get(key)
        if old is None:
            found.value("goodput", key, "revision", new and new["revision"], 0)
        elif new is None or _values(old) != _values(new):
            expected[*key, old["revision"] + 1] = _told(old, new)
            if new is not None:
                found.value("goodput", key, "revision", new["revision"], old["revision"] + 1)
                found.value("goodput", key, "computed_at", new["computed_at"] > old["computed_at"], True)
        else:
            for name in RESTATED:
                found.value("goodput", key, name, new[name], old[name])
    told = {key: row for key, row in after[1].items() if key not in before[1]}
    found.rows("restatements", told, expected)


def _values(row: Row) -> Row:
    return {name: value for name, value in row.items() if name not in RESTATED}


def _told(old: Row, new: Row | None) -> Row:
    was = {f"{name}_before": old[name] for name in SHOWN}
    return was | {f"{name}_after": None if new is None else new[name] for name in SHOWN}
