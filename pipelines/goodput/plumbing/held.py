"""Cells of tables that a contract check keeps from being published, until what they are made from changes."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

from goodput.errors import HeldHour
from goodput.plumbing.lake import Lake, write_atomically


@dataclass(frozen=True)
class Held:
    """One cell held back: which inputs it was made from, and what failed."""

    table: str
    cell: str
    inputs: str
    failures: tuple[str, ...]


def read_held(lake: Lake) -> list[Held]:
    """Every cell held back now."""
    path = lake.root / "held.json"
    if not path.exists():
        return []
    return [Held(**{**item, "failures": tuple(item["failures"])}) for item in json.loads(path.read_text())]


def note_held(lake: Lake, tables: Iterable[str], checked: Mapping[str, str], failures: Iterable[HeldHour]) -> None:
    """Replace what is known of the checked cells (cell -> fingerprint of its inputs) of `tables`."""
    concerned = set(tables)
    kept = [held for held in read_held(lake) if held.table not in concerned or held.cell not in checked]
    fresh = [Held(f.table, f.hour, checked[f.hour], f.failures) for f in failures]
    text = json.dumps([asdict(held) for held in (*kept, *fresh)], indent=1)
    write_atomically(lake.root / "held.json", lambda path: path.write_text(text + "\n"))


def held_inputs(lake: Lake, table: str | None = None) -> set[tuple[str, str]]:
    """(cell, inputs) of what is held back, of one table or of all."""
    return {(held.cell, held.inputs) for held in read_held(lake) if table in (None, held.table)}
