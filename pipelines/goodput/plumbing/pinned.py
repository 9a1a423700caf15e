"""Which commit of a table was published: its log may not end before it, nor list other parts as of it.

A log that lost its newest commit, or has it empty, is a log like any other. Tables that are made from others are then
made anew; of the rest, rows would be missing, or be there twice, without a word. Their commits are pinned.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from goodput.contracts import contract, stored_tables
from goodput.plumbing.cache_file import read_cache

if TYPE_CHECKING:
    from goodput.plumbing.lake import Lake

REMEMBERED = frozenset({"alarm_events", "goodput", "restatements"})  # what no computation gives again
_FILE = "pinned.json"
_Pins = dict[str, tuple[int, str]]  # by table its version, and a digest of the parts that it lists


def pins(lake_root: Path) -> Mapping[str, tuple[int, str]]:
    """The version of each pinned table that was published last, and a digest of its parts."""
    return read_cache(lake_root / _FILE, _Pins) or {}


def pin(lake: "Lake") -> None:
    """Pin what is published now. Raises LakeUnreadable, LakeUnwritable."""
    known = pins(lake.root)
    now = {name: _pin(lake, name, known.get(name)) for name in stored_tables() if _is_pinned(name)}
    there = {name: one for name, one in now.items() if one is not None}
    if there != known:
        text = json.dumps(there)
        lake.keep(lake.root / _FILE, lambda path: path.write_text(text))


def _pin(lake: "Lake", name: str, known: tuple[int, str] | None) -> tuple[int, str] | None:
    table = lake.catalog[name]
    if table.version < 0:
        return None
    if known is not None and table.version == known[0]:
        return known
    return table.version, table.listed


def _is_pinned(name: str) -> bool:
    return name in REMEMBERED or contract(name).layer == "conformed"
